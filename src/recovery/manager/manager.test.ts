/** The fault manager without a network: three nodes whose messages arrive at once, and hosts that do what the test says. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import {
  type Assignment,
  codeFor,
  compareAssignments,
  compareCheckpoints,
  type GroupView,
  jobsOf,
  MANAGER_RULES,
  type ManagerCommand,
  type ManagerInput,
  type ManagerMessage,
  type ManagerOutput,
  type ManagerSettings,
  type ManagerState,
  startManager,
  stepManager,
} from './index.ts'

const NODES = [1, 2, 3] as const

class Cluster {
  states = new Map<NodeId, ManagerState>(NODES.map((id) => [id, startManager(null, 1)]))
  outputs: { readonly node: NodeId; readonly event: ManagerOutput }[] = []
  up: readonly NodeId[] = NODES
  waitMs = 0
  /** Timers that are set, as "NODE NAME". */
  readonly #timers = new Set<string>()
  /** Nodes whose messages are lost. */
  unheard: readonly NodeId[] = []
  #queue: { readonly from: NodeId; readonly to: NodeId; readonly body: ManagerMessage }[] = []

  /** All nodes of the view learn it, the leader last. */
  install(token: number, leader: NodeId, members: readonly NodeId[], inQuorum = true): void {
    this.up = members
    const view: GroupView = { token, leader, members: members.map((id) => [id, 1]), inQuorum }
    for (const id of [...members.filter((member) => member !== leader), leader])
      this.#step(id, { type: 'view', view, life: 1 })
    this.deliver()
  }

  command(node: NodeId, command: ManagerCommand): void {
    this.#step(node, { type: 'command', command })
    this.deliver()
  }

  input(node: NodeId, input: ManagerInput): void {
    this.#step(node, input)
    this.deliver()
  }

  /** Does nothing if the timer is not set. */
  fire(node: NodeId, name: string): void {
    if (this.#timers.delete(`${node} ${name}`)) this.input(node, { type: 'timer', name })
  }

  deliver(): void {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const { from, to, body } = next
      const isHeard = this.up.includes(from) && !this.unheard.includes(from)
      if (this.up.includes(to) && isHeard) this.#step(to, { type: 'message', from, body })
    }
  }

  restart(node: NodeId): void {
    this.states.set(node, startManager(this.state(node).stable, 2))
  }

  state(node: NodeId): ManagerState {
    return this.states.get(node) as ManagerState
  }

  of<T extends ManagerOutput['type']>(
    type: T,
  ): readonly (Extract<ManagerOutput, { type: T }> & { node: NodeId })[] {
    return this.outputs.flatMap(({ node, event }) =>
      event.type === type ? [{ ...(event as Extract<ManagerOutput, { type: T }>), node }] : [],
    )
  }

  #step(node: NodeId, input: ManagerInput): void {
    const settings: ManagerSettings = {
      self: node,
      nodes: NODES,
      waitMs: this.waitMs,
      stopMs: 100,
      rules: MANAGER_RULES,
    }
    const links = this.up.filter((id) => id !== node)
    const { state, effects } = stepManager(settings, this.state(node), input, links, 0)
    this.states.set(node, state)
    for (const effect of effects) {
      if (effect.type === 'send') this.#queue.push({ from: node, to: effect.to, body: effect.body })
      if (effect.type === 'setTimer') this.#timers.add(`${node} ${effect.name}`)
      if (effect.type === 'stopTimer') this.#timers.delete(`${node} ${effect.name}`)
      if (effect.type === 'output')
        this.outputs.push({ node, event: effect.event as unknown as ManagerOutput })
    }
  }

  /** Carries out the last upload: these holders store their columns. */
  store(owner: NodeId, holders: readonly NodeId[] = this.up): void {
    const upload = this.of('upload').at(-1)
    if (upload === undefined) throw new Error('no upload')
    const { id, code, bytes, digest } = upload
    const columns = upload.holders.flatMap((holder, column) => (holders.includes(holder) ? [column] : []))
    for (const column of columns)
      this.command(upload.holders[column] as NodeId, { do: 'held', id, column, code, bytes, digest })
    this.command(owner, { do: 'uploaded', id, columns, problems: [] })
  }

  checkpoint(node: NodeId, assignment: Assignment, epoch: number, digest = `d${epoch}`): void {
    this.command(node, { do: 'checkpoint', job: 'sum', assignment, epoch, bytes: 1, digest })
  }
}

let group = new Cluster()
let owner: NodeId = 0
let assignment: Assignment = [0, 0]

beforeEach(() => {
  group = new Cluster()
  group.install(10, 1, NODES)
  for (const node of NODES) group.command(node, { do: 'slots', slots: 1 })
  group.command(2, { do: 'submit', job: 'sum' })
  group.checkpoint(2, group.of('submitted')[0]?.assignment ?? [0, 0], 0)
  group.store(2)
  const [first] = group.of('start')
  if (first === undefined) throw new Error('no start')
  owner = first.node
  assignment = first.assignment
})

describe('a submission', () => {
  it('is stored by its submitter and started by the least loaded node, once a majority has recorded it', () => {
    expect(group.of('start')).toMatchObject([{ node: 1, job: 'sum', commit: { id: { epoch: 0 } } }])
    for (const node of NODES)
      expect(jobsOf(group.state(node))).toMatchObject([
        { name: 'sum', status: 'running', owner: [1, 1], epoch: 0 },
      ])
  })

  it('of a name that is in use fails', () => {
    group.command(3, { do: 'submit', job: 'sum' })
    expect(group.of('submissionFailed')).toMatchObject([
      { node: 3, reason: 'the name is in use: that job is running' },
    ])
  })

  it('of a name whose job has failed is larger than the earlier one, and stays the same through its runs', () => {
    group.command(owner, { do: 'threw', job: 'sum', assignment, reason: 'boom' })
    const before = jobsOf(group.state(1))[0]?.submission
    group.command(3, { do: 'submit', job: 'sum' })
    const submitted = group.of('submitted').at(-1)?.assignment
    if (before === undefined || submitted === undefined) throw new Error('no submission')
    expect(compareAssignments(submitted, before)).toBeGreaterThan(0)
    group.checkpoint(3, submitted, 0)
    group.store(3)
    group.install(20, 2, [2, 3])
    for (const node of [2, 3])
      expect(jobsOf(group.state(node))).toMatchObject([{ status: 'running', submission: submitted }])
    expect(group.of('start').at(-1)?.assignment).toEqual([20, expect.any(Number)])
  })

  it('of an invalid name is refused', () => {
    group.command(3, { do: 'submit', job: '../sum' })
    expect(group.of('refused')).toMatchObject([{ node: 3, command: 'submit' }])
  })

  it('whose submitter is gone before the definition is stored never happened', () => {
    group.command(3, { do: 'submit', job: 'product' })
    group.install(20, 1, [1, 2])
    expect(jobsOf(group.state(1)).find(({ name }) => name === 'product')).toMatchObject({
      status: 'cancelled',
    })
    group.install(30, 1, NODES)
    expect(jobsOf(group.state(1)).map(({ name }) => name)).toEqual(['sum'])
  })
})

describe('a checkpoint', () => {
  it('is committed, and only then older columns are dropped', () => {
    group.checkpoint(owner, assignment, 1)
    expect(group.of('drop')).toEqual([])
    group.store(owner)
    expect(group.of('committed').at(-1)).toMatchObject({ node: owner, commit: { id: { epoch: 1 } } })
    expect(group.of('drop').map(({ node, keep }) => [node, keep.map(({ epoch }) => epoch)])).toEqual(
      expect.arrayContaining([
        [1, [1]],
        [2, [1]],
        [3, [1]],
      ]),
    )
    for (const node of NODES) expect(group.state(node).stable.columns.map(({ id }) => id.epoch)).toEqual([1])
  })

  it('with one column missing is committed, and the column is repaired', () => {
    group.checkpoint(owner, assignment, 1)
    group.store(owner, [1, 2])
    expect(group.of('committed').at(-1)).toMatchObject({ commit: { holders: [1, 2, null] } })
    expect(jobsOf(group.state(1))).toMatchObject([{ tolerated: 1 }])
    expect(group.of('repair')).toMatchObject([{ node: 3, column: 2, sources: [{ node: 1 }, { node: 2 }] }])
  })

  it('with too few columns fails, and the last one stays', () => {
    group.checkpoint(owner, assignment, 1)
    group.store(owner, [1])
    expect(group.of('checkpointFailed')).toMatchObject([
      { epoch: 1, reason: '1 columns are stored; a checkpoint needs 2' },
    ])
    expect(jobsOf(group.state(1))).toMatchObject([{ epoch: 0, tolerated: 2 }])
  })

  it('that failed and is tried again with another content does not count the columns of the first try', () => {
    group.checkpoint(owner, assignment, 1, 'first')
    group.store(owner, [3])
    group.checkpoint(owner, assignment, 1, 'second')
    group.store(owner, [1, 2])
    expect(group.of('committed').at(-1)).toMatchObject({ commit: { digest: 'second' } })
    expect(jobsOf(group.state(1))).toMatchObject([{ epoch: 1, tolerated: 1 }])
    expect(group.of('repair')).toMatchObject([{ node: 3, column: 2, commit: { digest: 'second' } }])
    expect(group.state(3).stable.columns).toEqual([])
  })

  it('counts the columns that holders have acknowledged, although the leader does not hear these holders', () => {
    group.checkpoint(owner, assignment, 1)
    group.unheard = [2]
    group.store(owner)
    expect(jobsOf(group.state(1))).toMatchObject([{ epoch: 1, tolerated: 2 }])
  })

  it('does not count a column that its holder has reported as lost meanwhile', () => {
    group.checkpoint(owner, assignment, 1)
    const upload = group.of('upload').at(-1)
    if (upload === undefined) throw new Error('no upload')
    const { id, code, bytes, digest } = upload
    for (const [column, holder] of upload.holders.entries())
      group.command(holder, { do: 'held', id, column, code, bytes, digest })
    group.command(3, { do: 'lost', id, column: 2, problem: 'checksum' })
    group.command(owner, { do: 'uploaded', id, columns: [0, 1, 2], problems: [] })
    expect(jobsOf(group.state(1))).toMatchObject([{ epoch: 1, tolerated: 1 }])
    expect(group.of('repair')).toMatchObject([{ node: 3, column: 2 }])
  })

  it.each([
    [2, 1, 'the job is not assigned to this node'],
    [1, 2, 'checkpoint 1 is due'],
  ])('of node %i with epoch %i fails', (node, epoch, reason) => {
    group.checkpoint(node, assignment, epoch)
    expect(group.of('checkpointFailed')).toMatchObject([{ node, reason }])
  })

  it('that was in progress when the view changed fails, and its columns are refused from then on', () => {
    group.checkpoint(owner, assignment, 1)
    const upload = group.of('upload').at(-1)
    group.install(20, 1, NODES)
    expect(group.of('checkpointFailed')).toMatchObject([{ epoch: 1, reason: 'the view has changed' }])
    if (upload === undefined) throw new Error('no upload')
    const { id, code, bytes, digest } = upload
    group.command(2, { do: 'held', id, column: 1, code, bytes, digest })
    expect(group.of('refused')).toMatchObject([
      { node: 2, command: 'held', why: 'token 10 is fenced off; this node has promised 20' },
    ])
  })
})

describe('a lost owner', () => {
  it('is replaced from the last committed checkpoint, under a larger assignment', () => {
    group.checkpoint(owner, assignment, 1)
    group.store(owner)
    group.install(20, 2, [2, 3])
    const resumed = group.of('start').at(-1)
    expect(resumed).toMatchObject({
      node: 2,
      commit: { id: { epoch: 1 } },
      sources: [{ node: 2 }, { node: 3 }],
    })
    expect(resumed?.assignment[0]).toBe(20)
  })

  it('is not replaced before `waitMs` after the view, although the wait of an earlier view ends', () => {
    group.waitMs = 100
    group.install(20, 2, [2, 3])
    expect(group.of('start')).toHaveLength(1)
    // The wait of view 20 would end now, while the leader of view 30 does not hear node 3.
    group.unheard = [3]
    group.install(30, 2, [2, 3])
    group.fire(2, 'manager/wait')
    group.unheard = []
    group.input(2, { type: 'linkUp', peer: 3 })
    expect(jobsOf(group.state(3))).toMatchObject([{ status: 'running', owner: [1, 1] }])
    expect(group.of('start')).toHaveLength(1)
    group.fire(2, 'manager/wait')
    expect(group.of('start').at(-1)).toMatchObject({ node: 2, assignment: [30, expect.any(Number)] })
  })

  it('that returns with its old life gone is not started again under the old assignment', () => {
    group.install(20, 2, [2, 3])
    group.restart(1)
    expect(group.state(1).running).toEqual([])
    expect(group.state(1).stable.columns).toHaveLength(1)
  })

  it('does not replace owners that go on: a new view leaves their jobs alone', () => {
    group.install(20, 1, [1, 2])
    expect(group.of('start')).toHaveLength(1)
    expect(group.of('stop')).toEqual([])
    expect(group.of('reencode')).toMatchObject([{ node: 1, id: { epoch: 0, token: 20 }, code: codeFor(2) }])
  })

  it('loses the job if its columns are gone, too, until they return', () => {
    for (const node of [2, 3]) {
      const [held] = group.state(node).stable.columns
      if (held === undefined) throw new Error('no column')
      group.command(node, { do: 'lost', id: held.id, column: held.column, problem: 'checksum' })
    }
    group.install(20, 2, [2, 3])
    expect(jobsOf(group.state(3))).toMatchObject([
      { status: 'lost', reason: '0 of 1 columns of checkpoint 0; missing: 1, 2, 3' },
    ])
    group.install(30, 2, NODES)
    expect(jobsOf(group.state(3))).toMatchObject([{ status: 'running' }])
  })
})

describe('the end of a run', () => {
  it.each([
    [{ do: 'finished' }, { status: 'done', reason: '' }],
    [
      { do: 'threw', reason: 'no "memory"' },
      { status: 'failed', reason: "no 'memory'" },
    ],
    [
      { do: 'declined', reason: 'unknown kind' },
      { status: 'running', owner: [2, 1], declined: [1] },
    ],
    [
      { do: 'interrupted', reason: 'the disks are full' },
      { status: 'running', owner: [1, 1], declined: [], epoch: 0 },
    ],
  ])('%j', (command, expected) => {
    group.command(owner, { ...command, job: 'sum', assignment } as ManagerCommand)
    expect(jobsOf(group.state(3))).toMatchObject([expected])
  })

  it('of an unreadable checkpoint leads to another start without the bad columns', () => {
    const [start] = group.of('start')
    if (start === undefined) throw new Error('no start')
    const bad = [{ node: 1, column: 0 }]
    group.command(owner, { do: 'unrestorable', job: 'sum', assignment, id: start.commit.id, bad })
    expect(group.of('start').at(-1)?.sources).toEqual([
      { node: 2, column: 1 },
      { node: 3, column: 2 },
    ])
  })

  it('with a report about columns of an older checkpoint does not concern the newest one', () => {
    const [start] = group.of('start')
    if (start === undefined) throw new Error('no start')
    group.checkpoint(owner, assignment, 1)
    group.store(owner)
    const bad = [{ node: 2, column: 1 }]
    group.command(owner, { do: 'unrestorable', job: 'sum', assignment, id: start.commit.id, bad })
    expect(group.of('start').at(-1)).toMatchObject({
      commit: { id: { epoch: 1 } },
      sources: [{ node: 1 }, { node: 2 }, { node: 3 }],
    })
  })

  it('of an unreadable checkpoint does not make the leader forget a column that its holder has', () => {
    const [start] = group.of('start')
    if (start === undefined) throw new Error('no start')
    const bad = [{ node: 2, column: 1 }]
    group.command(owner, { do: 'unrestorable', job: 'sum', assignment, id: start.commit.id, bad })
    expect(group.of('repair')).toEqual([])
    expect(jobsOf(group.state(1))).toMatchObject([{ status: 'running', tolerated: 2 }])
  })

  it('drops the columns of a checkpoint that it could not commit, once the job is assigned again', () => {
    let current = assignment
    for (const attempt of [1, 2, 3]) {
      group.checkpoint(owner, current, 1, `d${attempt}`)
      group.store(owner, [1])
      expect(group.state(1).stable.columns.map(({ id }) => id.epoch)).toEqual([0, 1])
      group.command(owner, {
        do: 'interrupted',
        job: 'sum',
        assignment: current,
        reason: 'the disks are full',
      })
      current = group.of('start').at(-1)?.assignment ?? current
      expect(group.state(1).stable.columns.map(({ id }) => id.epoch)).toEqual([0])
      expect(group.state(1).leader?.columns.map(({ held }) => held.id.epoch)).toEqual([0, 0, 0])
    }
  })

  it('comes by itself when the node has been outside the quorum for too long', () => {
    group.install(10, 1, NODES, false)
    group.input(owner, { type: 'timer', name: 'manager/quorum' })
    expect(group.of('stop')).toMatchObject([{ node: owner, assignment, reason: 'not in quorum' }])
  })

  it('comes with a cancellation, which also drops the columns', () => {
    group.command(3, { do: 'cancel', job: 'sum' })
    expect(group.of('stop')).toMatchObject([{ node: owner, reason: 'cancelled' }])
    for (const node of NODES) expect(group.state(node).stable).toMatchObject({ table: [], columns: [] })
  })
})

it('orders checkpoints by assignment, then epoch, then token', () => {
  const id = (n: number, epoch: number, token: number) => ({
    job: 'j',
    assignment: [1, n] as const,
    epoch,
    token,
  })
  const sorted = [id(1, 1, 1), id(1, 1, 2), id(1, 2, 1), id(2, 0, 1)]
  expect([...sorted].reverse().sort(compareCheckpoints)).toEqual(sorted)
})
