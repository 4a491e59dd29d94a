/** The protocol `recovery` in this thread: its commands, its outputs, and the group as it sees it. */
import type { Output } from '../../../core/index.ts'
import type { GroupSpec } from '../../../protocols/index.ts'
import type { JobView, ManagerOutput } from '../../../recovery/manager/types.ts'
import type { NetworkElectionSettings } from '../../config/election-settings.ts'
import { openSharedEndpoint } from '../../node/election/shared-endpoint.ts'
import { InvalidOptionsError } from '../../node/index.ts'
import { InvalidGroupError, openHostClock, openStorage } from '../../runtime/index.ts'
import type { ManagerPort, Outlook } from './ports.ts'

export type ManagerLinkEvents = {
  /** Reported within a step: effects must be deferred. */
  output(output: ManagerOutput): void
  /** A step was taken, so the view may have changed. */
  stepped(): void
  warn(what: string, detail: string): void
  /** The protocol cannot continue. */
  failed(error: Error): void
}

export type ManagerLink = ManagerPort & {
  /** The black box, in pieces of text. */
  trace(): AsyncIterable<string>
  close(): Promise<void>
}

export async function openManagerLink(
  settings: NetworkElectionSettings & { readonly data: string },
  events: ManagerLinkEvents,
): Promise<ManagerLink> {
  const { group, protocol, nodes, options, data } = settings
  const spec: GroupSpec = { protocol, nodes, options }
  let refusal: string | null = null
  const { shared, stable } = await openSharedEndpoint(settings, await openStorage(data), openHostClock, {
    output() {},
    changed() {},
    warn: events.warn,
    failed: events.failed,
    stepped: events.stepped,
  })
  const handleOutput = (output: Output): void => {
    if (output.type === 'refused') refusal = output['why'] as string
    events.output(output as unknown as ManagerOutput)
  }
  const { endpoint } = shared
  try {
    endpoint.join(group, spec, { output: handleOutput, warn: events.warn }, stable)
  } catch (error) {
    await shared.leave(group)
    throw error instanceof InvalidGroupError ? new InvalidOptionsError(error.field, error.problem) : error
  }
  let isClosed = false
  let last: Outlook = NO_OUTLOOK
  const link: ManagerLink = {
    async command(command) {
      if (isClosed) return 'this node is closed'
      refusal = null
      endpoint.command(group, command)
      return refusal
    },
    look() {
      if (isClosed) return last
      const { token, leader, members, detail } = endpoint.view(group)
      const { jobs, fence, step } = detail as unknown as Pick<Outlook, 'fence' | 'step'> & {
        readonly jobs: readonly JobView[]
      }
      return { token, leader, members: members ?? [], jobs, fence, step }
    },
    trace: () => shared.trace(group, spec),
    async close() {
      if (isClosed) return
      last = { ...link.look(), token: null, leader: null, members: [] }
      isClosed = true
      await shared.leave(group)
    },
  }
  return link
}

const NO_OUTLOOK: Outlook = { token: null, leader: null, members: [], jobs: [], fence: 0, step: 0 }
