/** Runs a command while a node in this process leads. */
import { DEFAULT_PROTOCOL, hostingOf } from '../../protocols/index.ts'
import {
  type ConclaveNode,
  type JoinOptions,
  join,
  LeadershipLostError,
  type StoreJoinOptions,
  type Term,
} from '../../service/node/index.ts'
import type { GuardianProcess } from '../../service/supervise/guardian-process.ts'
import { EXIT } from '../errors.ts'
import type { Supervisor } from './supervisor-link.ts'
import { type HeldTerm, type KillBefore, type RunSettings, runInTerm } from './term.ts'

export type OwnNode = {
  readonly options: JoinOptions | StoreJoinOptions
  readonly killBefore: KillBefore
  readonly supervisor: Supervisor | null
}

export async function runWithNode(
  { options, killBefore, supervisor }: OwnNode,
  guardian: GuardianProcess,
  settings: RunSettings,
): Promise<number> {
  // A worker thread would cost 20 MB, and this thread has no other work that takes long.
  const node = await join({ isolation: 'thread', ...options })
  supervisor?.injectInto([node])
  settings.report(`${String(node.id)} joined ${node.group}`)
  const warning = hostingOf(options.protocol ?? DEFAULT_PROTOCOL)?.withoutLease ?? null
  if (warning !== null) settings.report(warning)
  node.on('warning', ({ what, detail }) => settings.report(`${what}: ${detail}`, 'warning'))
  node.on('revoked', ({ token, cause }) =>
    settings.report(`${String(node.id)} no longer leads with token ${token}: ${cause.text}`),
  )
  try {
    return await runInTerms(node, killBefore, guardian, settings)
  } finally {
    await node.close()
  }
}

/** Runs the command in one term after the other, until it ends by itself or this process is stopped. */
async function runInTerms(
  node: ConclaveNode,
  killBefore: KillBefore,
  guardian: GuardianProcess,
  settings: RunSettings,
): Promise<number> {
  const { stopSignal, once } = settings
  let code: number | null = null
  const ended = new AbortController()
  // Aborting `ended` ends the term at once, so a running command gets its grace period first.
  let isRunning = false
  const onStop = (): void => {
    if (!isRunning) ended.abort()
  }
  stopSignal.addEventListener('abort', onStop)
  if (stopSignal.aborted) onStop()

  async function runDuring(term: Term): Promise<void> {
    const held: HeldTerm = {
      group: node.group,
      id: String(node.id),
      token: term.token,
      signal: term.signal,
      ending: null,
      remaining: () => term.remaining(),
    }
    isRunning = true
    try {
      code = await runInTerm(held, killBefore, guardian, settings)
    } finally {
      isRunning = false
      if (code !== null || once || stopSignal.aborted) ended.abort()
    }
  }

  try {
    await node.lead(runDuring, { signal: ended.signal })
  } catch (error) {
    if (!(error instanceof LeadershipLostError)) throw error
  }
  if (stopSignal.aborted) return EXIT.ok
  return code ?? EXIT.lost
}
