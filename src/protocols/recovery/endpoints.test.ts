/** Three real endpoints in one process, each with a host that keeps columns in memory: a job outlives its node. */
import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { until } from '../../../test/support/wait.ts'
import { type NodeId, type Output, present } from '../../core/index.ts'
import {
  type Assignment,
  type CheckpointId,
  type Commit,
  isSameCheckpoint,
  type JobView,
  type ManagerCommand,
  type ManagerOutput,
} from '../../recovery/manager/index.ts'
import { Endpoint } from '../../service/runtime/endpoint.ts'
import { sealer } from '../../service/runtime/seal.ts'
import { memoryStorage } from '../../service/runtime/storage.ts'
import { checkedOptions } from '../../workbench/sim/index.ts'
import { type GroupSpec, peerHosting, protocolNamed } from '../index.ts'

const IDS = ['a', 'b', 'c'] as const
const GROUP = 'jobs'
// A busy machine must not make healthy nodes look dead.
const PATIENT = { pingMs: 300, alphaMs: 900, timeoutMs: 1500 }

let hosts: FakeHost[] = []

afterEach(async () => {
  await Promise.all(hosts.map((host) => host.close()))
  hosts = []
})

/** Stores every column that it is asked to store, and commits checkpoints on request. */
class FakeHost {
  readonly id: NodeId
  readonly endpoint: Endpoint
  readonly outputs: ManagerOutput[] = []
  readonly started: { readonly job: string; readonly assignment: Assignment; readonly commit: Commit }[] = []
  isOpen = true

  constructor(id: NodeId, endpoint: Endpoint) {
    this.id = id
    this.endpoint = endpoint
  }

  async close(): Promise<void> {
    if (!this.isOpen) return
    this.isOpen = false
    await this.endpoint.close()
  }

  command(command: ManagerCommand): void {
    if (this.isOpen) this.endpoint.command(GROUP, command)
  }

  jobs(): readonly JobView[] {
    return (this.endpoint.view(GROUP).detail?.['jobs'] ?? []) as unknown as readonly JobView[]
  }

  hasOutput(type: ManagerOutput['type']): boolean {
    return this.outputs.some((event) => event.type === type)
  }

  /** Outputs come within a step; commands must wait until it is over. */
  async handle(event: ManagerOutput): Promise<void> {
    this.outputs.push(event)
    await setImmediate()
    if (event.type === 'submitted') this.checkpoint(event.job, event.assignment, 0)
    else if (event.type === 'upload') await this.#upload(event)
    else if (event.type === 'reencode')
      await this.#upload({
        ...event,
        ...event.commit,
        id: event.id,
        code: event.code,
        holders: event.holders,
      })
    else if (event.type === 'start') this.started.push(event)
  }

  checkpoint(job: string, assignment: Assignment, epoch: number): void {
    this.command({ do: 'checkpoint', job, assignment, epoch, bytes: 10, digest: `content ${epoch}` })
  }

  async #upload({
    id,
    code,
    holders,
    bytes,
    digest,
  }: Pick<
    Extract<ManagerOutput, { type: 'upload' }>,
    'id' | 'code' | 'holders' | 'bytes' | 'digest'
  >): Promise<void> {
    const stored = await Promise.all(
      holders.map(async (holder, column) => {
        const host = present(
          hosts.find((each) => each.id === holder),
          'host',
        )
        host.command({ do: 'held', id, column, code, bytes, digest })
        await setImmediate()
        return host.hasColumn(id, column) ? [column] : []
      }),
    )
    this.command({ do: 'uploaded', id, columns: stored.flat(), problems: [] })
  }

  hasColumn(id: CheckpointId, column: number): boolean {
    return this.outputs.some(
      (event) => event.type === 'holds' && event.column === column && isSameCheckpoint(event.id, id),
    )
  }
}

async function openHosts(): Promise<void> {
  const definition = present(protocolNamed('recovery'), 'recovery')
  const chosen = peerHosting('recovery').optionsFor({ id: 'a', data: '/unused', options: PATIENT }, IDS)
  const options = checkedOptions(definition, IDS, 'options' in chosen ? chosen.options : {})
  const spec: GroupSpec = { protocol: 'recovery', nodes: IDS, options }
  hosts = await Promise.all(
    IDS.map(async (id) => {
      const endpoint = await Endpoint.open(
        {
          self: id,
          listen: { host: '127.0.0.1', port: 0 },
          peers: [],
          sealer: sealer([new Uint8Array(32).fill(9)], false),
          storage: memoryStorage(),
        },
        {
          dropped: () => undefined,
          warning: () => undefined,
          failed: (error) => expect.unreachable(error.message),
        },
      )
      return new FakeHost(id, endpoint)
    }),
  )
  for (const one of hosts)
    for (const { id, endpoint } of hosts)
      if (id !== one.id)
        void one.endpoint.addPeer({ id, address: { host: '127.0.0.1', port: endpoint.port } })
  for (const host of hosts) {
    host.endpoint.join(GROUP, spec, {
      output: (event: Output) => void host.handle(event as unknown as ManagerOutput),
      warn: () => undefined,
    })
    host.command({ do: 'slots', slots: 1 })
  }
}

it('resumes the job of a closed node at another node, from its last checkpoint', async () => {
  await openHosts()
  const [a, b, c] = hosts as [FakeHost, FakeHost, FakeHost]
  await until(() => hosts.every(({ endpoint }) => endpoint.view(GROUP).members?.length === 3))
  b.command({ do: 'submit', job: 'render' })
  await until(() => hosts.some(({ started }) => started.length === 1))
  const owner = present(
    hosts.find(({ started }) => started.length === 1),
    'owner',
  )
  const first = present(owner.started[0], 'run')
  expect(first).toMatchObject({ job: 'render', commit: { id: { epoch: 0 }, holders: ['a', 'b', 'c'] } })
  owner.checkpoint('render', first.assignment, 1)
  await until(() => owner.outputs.some((event) => event.type === 'committed' && event.commit.id.epoch === 1))
  await owner.close()
  const others = [a, b, c].filter((host) => host !== owner)
  await until(() => others.some(({ started }) => started.length === 1))
  const next = present(
    others.find(({ started }) => started.length === 1),
    'next owner',
  )
  const second = present(next.started[0], 'run')
  expect(second).toMatchObject({ job: 'render', commit: { id: { epoch: 1 }, digest: 'content 1' } })
  expect(second.assignment[0]).toBeGreaterThan(first.assignment[0])
  // Encoded again for the two nodes that are left: two copies.
  await until(() => next.jobs()[0]?.commit?.holders.length === 2)
  expect(next.jobs()).toMatchObject([
    {
      name: 'render',
      status: 'running',
      owner: [next.id, 1],
      epoch: 1,
      commit: { code: { columns: 2, data: 1 } },
    },
  ])
  next.command({ do: 'finished', job: 'render', assignment: second.assignment })
  await until(() => others.every((host) => host.jobs()[0]?.status === 'done'))
  expect(others.every((host) => !host.hasOutput('refused'))).toBe(true)
}, 60_000)

it('refuses a name that is in use, and a command that does not fit', async () => {
  await openHosts()
  const [a, b] = hosts as [FakeHost, FakeHost, FakeHost]
  await until(() => hosts.every(({ endpoint }) => endpoint.view(GROUP).members?.length === 3))
  a.command({ do: 'submit', job: 'render' })
  await until(() => hosts.some(({ started }) => started.length === 1))
  b.command({ do: 'submit', job: 'render' })
  await until(() => b.hasOutput('submissionFailed'))
  expect(b.outputs.find(({ type }) => type === 'submissionFailed')).toEqual({
    type: 'submissionFailed',
    job: 'render',
    reason: 'the name is in use: that job is running',
  })
  b.command({ do: 'finished', job: 'render', assignment: [1, 1] })
  await until(() => b.hasOutput('refused'))
  expect(b.outputs.find(({ type }) => type === 'refused')).toEqual({
    type: 'refused',
    command: 'finished',
    why: 'this node does not run the job under that assignment',
  })
}, 60_000)
