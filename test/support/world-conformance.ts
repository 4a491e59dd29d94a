/**
 * What src/core/contract.ts promises on behalf of worlds: one check per promise, for every world.
 *
 * A check drives node `a` of a world through an adapter. The node runs a puppet: a protocol that answers a command with
 * the effects that the command lists, and writes every input into a journal. To show that a check can fail, each promise
 * has a mutation: a layer between puppet and world that breaks this promise.
 */
import { expect } from 'vitest'
import {
  callRegister,
  type Effect,
  type Input,
  type Micros,
  type NodeId,
  output,
  type Plain,
  type Protocol,
  persist,
  present,
  type RegisterCall,
  send,
  setTimer,
  stopTimer,
} from '../../src/core/index.ts'

export type Journal = {
  /** The stable data of each start of `a`. */
  readonly starts: Plain[]
  /** Every input of `a` but the suite's own commands, with the time on its clock. */
  readonly inputs: { readonly input: Input; readonly now: Micros }[]
}

/** A world with the nodes `a` and `b`; `a` runs the given protocol. */
export type ConformingWorld = {
  readonly name: string
  /** Promises that mean nothing in this world, and why. */
  readonly lacks: { readonly [promise: string]: string }
  open(protocol: Protocol): Promise<OpenWorld>
}

export type OpenWorld = {
  /** `a` takes one step: a command that lists these effects, or one that makes it throw. */
  act(effects: readonly Effect[] | 'throw'): void
  /** A message with this text from `b` reaches `a`. */
  receive(text: string): void
  /** The texts of the messages of `a`, in the order in which they left. */
  sent(): readonly string[]
  /** The texts of the outputs of `a`, in order. */
  outputs(): readonly string[]
  /** Lets everything happen that is due, until the condition holds. */
  until(condition: () => boolean): Promise<void>
  /** The next step of `a` crashes after this many effects. */
  crashAfter(effects: number): void
  restart(): void
  /** The host of `a` is suspended for a while. */
  suspend(): void
  setWritable(isWritable: boolean): void
  /** The message of the error that a step threw. */
  failure(): string | null
  close(): Promise<void>
}

// ---- The puppet ----

/** Its state is the number of its steps. Deadlines of timers are given as durations from now. */
export function puppet(journal: Journal): Protocol {
  return {
    start(stable) {
      journal.starts.push(stable)
      return { state: 0, effects: [] }
    },
    step(state, input, now) {
      const steps = (state as number) + 1
      if (input.type !== 'command') {
        journal.inputs.push({ input, now })
        const isStored = input.type === 'timer' && input.name === 'store'
        return { state: steps, effects: isStored ? [persist('by timer'), say('stored')] : [] }
      }
      if (input.command.do === 'throw') throw new Error('the puppet fails')
      const asked = input.command['effects'] as unknown as readonly Effect[]
      return { state: steps, effects: asked.map((effect) => completed(effect, state as number, now)) }
    },
    view: () => ({ role: 'follower', leader: null, token: null, until: null, members: null, detail: null }),
    shift: (state) => state,
  }
}

function completed(effect: Effect, steps: number, now: Micros): Effect {
  if (effect.type === 'output' && effect.event['text'] === 'steps') return say(`steps ${steps}`)
  if (effect.type !== 'setTimer') return effect
  const { name, at } = effect
  return setTimer(name, typeof at === 'number' ? now + at : [now + at[0], now + at[1]])
}

const say = (text: string): Effect => output({ type: 'said', text })
const note = (text: string): Effect => send('b', { kind: 'note', text })

// ---- The checks ----

type Subject = OpenWorld & { readonly journal: Journal }

const MS = 1000

async function opened(world: ConformingWorld, mutate: Mutation): Promise<Subject> {
  const journal: Journal = { starts: [], inputs: [] }
  const open = await world.open(mutate(puppet(journal)))
  return { ...open, journal }
}

const timersIn = ({ journal }: Subject): readonly string[] =>
  journal.inputs.flatMap(({ input }) => (input.type === 'timer' ? [input.name] : []))

/** Waits until every timer with an earlier deadline must have fired. */
async function passTime(subject: Subject, by: Micros): Promise<void> {
  const before = timersIn(subject).filter((name) => name === 'end').length
  subject.act([setTimer('end', by)])
  await subject.until(() => timersIn(subject).filter((name) => name === 'end').length > before)
}

type Check = (open: () => Promise<Subject>) => Promise<void>

const order: Check = async (open) => {
  const subject = await open()
  subject.act([note('1'), say('1'), note('2'), say('2'), note('3')])
  expect(subject.outputs()).toEqual(['1', '2'])
  await subject.until(() => subject.sent().length >= 3)
  expect(subject.sent()).toEqual(['1', '2', '3'])
}

/** All that a crash may leave behind, for a step with a message before and one after `persist`. */
async function crashes(open: () => Promise<Subject>): Promise<readonly (readonly [Plain, Subject])[]> {
  const left: (readonly [Plain, Subject])[] = []
  for (const after of [0, 1, 2]) {
    // oxlint-disable-next-line no-await-in-loop -- one crash after the other
    const subject = await open()
    subject.act([setTimer('before', 5 * MS)])
    subject.crashAfter(after)
    subject.act([note('early'), persist('vote'), note('late'), setTimer('lost', MS)])
    subject.restart()
    left.push([subject.journal.starts.at(-1) ?? null, subject])
  }
  return left
}

const barrier: Check = async (open) => {
  const left = await crashes(open)
  for (const [, subject] of left) {
    // oxlint-disable-next-line no-await-in-loop -- one crash after the other
    await passTime(subject, 20 * MS)
  }
  for (const [stable, subject] of left) if (subject.sent().includes('late')) expect(stable).toBe('vote')
  // Whole, the step stores its data and sends both messages.
  const subject = await open()
  subject.act([note('early'), persist('vote'), note('late')])
  await subject.until(() => subject.sent().length === 2)
  subject.crashAfter(0)
  subject.act([say('never')])
  subject.restart()
  expect(subject.journal.starts.at(-1)).toBe('vote')
}

const rollback: Check = async (open) => {
  const subject = await open()
  subject.setWritable(false)
  subject.act([note('early'), persist('vote'), note('late'), say('voted')])
  subject.act([say('steps')])
  expect(subject.outputs()).toEqual(['steps 0'])
  subject.act([setTimer('store', MS)])
  await subject.until(() => timersIn(subject).includes('store'))
  expect(subject.outputs()).toEqual(['steps 0'])
  subject.setWritable(true)
  await subject.until(() => subject.outputs().includes('stored'))
  expect(subject.sent()).toEqual([])
}

const crash: Check = async (open) => {
  const left = await crashes(open)
  // The crash fell before and after the data was stored.
  expect([...new Set(left.map(([stable]) => stable))].toSorted()).toEqual([null, 'vote'].toSorted())
  for (const [, subject] of left) {
    expect(subject.journal.starts).toHaveLength(2)
    subject.act([say('steps')])
    expect(subject.outputs().at(-1)).toBe('steps 0')
    // oxlint-disable-next-line no-await-in-loop -- one crash after the other
    await passTime(subject, 20 * MS)
    expect(timersIn(subject)).toEqual(['end'])
  }
}

const replacement: Check = async (open) => {
  const subject = await open()
  subject.act([setTimer('t', 2 * MS)])
  subject.act([setTimer('t', 6 * MS)])
  await passTime(subject, 20 * MS)
  await passTime(subject, 20 * MS)
  expect(timersIn(subject)).toEqual(['t', 'end', 'end'])
}

const cancellation: Check = async (open) => {
  const subject = await open()
  subject.act([setTimer('t', 2 * MS), setTimer('u', 2 * MS)])
  subject.act([stopTimer('t')])
  await passTime(subject, 20 * MS)
  expect(timersIn(subject)).toEqual(['u', 'end'])
}

const deadline: Check = async (open) => {
  const subject = await open()
  subject.act([setTimer('now', 0)])
  await subject.until(() => timersIn(subject).length === 1)
  const from = subject.journal.inputs.at(-1)?.now ?? Number.NaN
  subject.act([setTimer('t', 10 * MS), setTimer('range', [20 * MS, 30 * MS])])
  await subject.until(() => timersIn(subject).length === 3)
  const firedAt = (name: string): Micros =>
    present(
      subject.journal.inputs.find(({ input }) => input.type === 'timer' && input.name === name),
      name,
    ).now
  expect(firedAt('t')).toBeGreaterThanOrEqual(from + 10 * MS)
  expect(firedAt('range')).toBeGreaterThanOrEqual(from + 20 * MS)
}

const ownStep: Check = async (open) => {
  const subject = await open()
  subject.act([setTimer('now', 0), say('after')])
  expect(timersIn(subject)).toEqual([])
  expect(subject.outputs()).toEqual(['after'])
  await subject.until(() => timersIn(subject).includes('now'))
}

const delivery: Check = async (open) => {
  const subject = await open()
  subject.receive('hello')
  await subject.until(() => subject.journal.inputs.length > 0)
  expect(subject.journal.inputs[0]?.input).toMatchObject({
    type: 'message',
    from: 'b',
    body: { kind: 'note', text: 'hello' },
  })
}

const registers: Check = async (open) => {
  const subject = await open()
  const replies = () =>
    subject.journal.inputs.flatMap(({ input }) =>
      input.type === 'register' ? [[input.call, input.outcome, input.value]] : [],
    )
  // A write is compared with what was read before.
  const first: RegisterCall = { id: 1, op: 'read', of: 'a' }
  const write: RegisterCall = { id: 2, op: 'write', value: { vote: 7 } }
  const reads: readonly RegisterCall[] = ['a', 'b'].map((of, index) => ({ id: 3 + index, op: 'read', of }))
  for (const [calls, total] of [[[first], 1] as const, [[write], 2] as const, [reads, 4] as const]) {
    subject.act(calls.map(callRegister))
    // oxlint-disable-next-line no-await-in-loop -- one step after the other
    await subject.until(() => replies().length === total)
  }
  expect(replies()).toEqual(
    expect.arrayContaining([
      [first, 'ok', null],
      [write, 'ok', null],
      [reads[0], 'ok', { vote: 7 }],
      [reads[1], 'ok', null],
    ]),
  )
}

const suspension: Check = async (open) => {
  const subject = await open()
  subject.suspend()
  subject.receive('after')
  await subject.until(() => subject.journal.inputs.some(({ input }) => input.type === 'message'))
  const [first, ...rest] = subject.journal.inputs.map(({ input }) => input)
  expect(first).toMatchObject({ type: 'suspended', by: expect.any(Number) })
  expect(rest.map(({ type }) => type)).toEqual(['message'])
}

const failure: Check = async (open) => {
  const subject = await open()
  subject.act([note('before')])
  subject.act('throw')
  expect(subject.failure()).toBe('the puppet fails')
  expect(subject.outputs()).toEqual([])
}

// ---- The mutations ----

/** A protocol as it seems to a puppet in a world that breaks a promise. */
export type Mutation = (protocol: Protocol) => Protocol
export const HONEST: Mutation = (protocol) => protocol

type Effects = readonly Effect[]

/** Changes what the world is asked, what the node gets, or both. */
const between =
  (change: { effects?: (effects: Effects) => Effects; input?: (input: Input) => Input }): Mutation =>
  (protocol) => ({
    ...protocol,
    step(state, input, now) {
      const step = protocol.step(state, change.input?.(input) ?? input, now)
      return { state: step.state, effects: change.effects?.(step.effects) ?? step.effects }
    },
  })

const isPersist = ({ type }: Effect): boolean => type === 'persist'

function storesLate(): Mutation {
  let late: Effects = []
  return between({
    effects(effects) {
      const all = [...late, ...effects.filter((effect) => !isPersist(effect))]
      late = effects.filter(isPersist)
      return all
    },
  })
}

/** The state survives a crash. */
const remembers: Mutation = (protocol) => {
  let last: Plain = null
  return {
    ...protocol,
    start: (stable, now) => {
      const step = protocol.start(stable, now)
      return { ...step, state: last ?? step.state }
    },
    step(state, input, now) {
      const step = protocol.step(state, input, now)
      last = step.state
      return step
    },
  }
}

/** Each setting of a timer is a timer of its own. */
function keepsOldTimers(): Mutation {
  let count = 0
  return between({
    effects: (effects) =>
      effects.map((effect) => {
        count += 1
        return effect.type === 'setTimer' ? setTimer(`${effect.name}#${count}`, effect.at) : effect
      }),
    input: (input) =>
      input.type === 'timer' ? { type: 'timer', name: input.name.split('#')[0] ?? '' } : input,
  })
}

const firesEarly = between({
  effects: (effects) =>
    effects.map((effect) => {
      if (effect.type !== 'setTimer') return effect
      const { name, at } = effect
      return setTimer(name, typeof at === 'number' ? at - 8 * MS : [at[0] - 18 * MS, at[0] - 18 * MS])
    }),
})

const firesWithin: Mutation = (protocol) => ({
  ...protocol,
  step(state, input, now) {
    const step = protocol.step(state, input, now)
    const due = step.effects.find((effect) => effect.type === 'setTimer' && effect.name === 'now')
    return due === undefined ? step : protocol.step(step.state, { type: 'timer', name: 'now' }, now)
  },
})

/** `suspended` comes after the input that it should precede. */
const tellsLate: Mutation = (protocol) => {
  let late: Input | null = null
  return {
    ...protocol,
    step(state, input, now) {
      if (input.type === 'suspended') {
        late = input
        return { state, effects: [] }
      }
      const step = protocol.step(state, input, now)
      if (late === null) return step
      const more = protocol.step(step.state, late, now)
      late = null
      return { state: more.state, effects: [...step.effects, ...more.effects] }
    },
  }
}

const swallowsErrors: Mutation = (protocol) => ({
  ...protocol,
  step(state, input, now) {
    try {
      return protocol.step(state, input, now)
    } catch {
      return { state, effects: [say('half a step')] }
    }
  },
})

const forgedSender: NodeId = 'a'

/** In the order of the contract. A mutation is made anew for every world. */
export const PROMISES: readonly {
  readonly promise: string
  readonly check: Check
  readonly broken: string
  mutation(): Mutation
}[] = [
  {
    promise: '1 order',
    check: order,
    broken: 'carries effects out in reverse',
    mutation: () => between({ effects: (effects) => effects.toReversed() }),
  },
  { promise: '2 barrier', check: barrier, broken: 'stores data one step late', mutation: storesLate },
  {
    promise: '3 rollback',
    check: rollback,
    broken: 'carries out a step whose data is not stored',
    mutation: () => between({ effects: (effects) => effects.filter((effect) => !isPersist(effect)) }),
  },
  { promise: '4 crash', check: crash, broken: 'keeps the state over a crash', mutation: () => remembers },
  {
    promise: '5 replacement',
    check: replacement,
    broken: 'keeps a timer that was replaced',
    mutation: keepsOldTimers,
  },
  {
    promise: '6 cancellation',
    check: cancellation,
    broken: 'fires a timer that was stopped',
    mutation: () => between({ effects: (effects) => effects.filter(({ type }) => type !== 'stopTimer') }),
  },
  { promise: '7 deadline', check: deadline, broken: 'fires timers early', mutation: () => firesEarly },
  {
    promise: '8 own step',
    check: ownStep,
    broken: 'fires a timer within a step',
    mutation: () => firesWithin,
  },
  {
    promise: '9 delivery',
    check: delivery,
    broken: 'names another sender',
    mutation: () =>
      between({
        input: (input) => (input.type === 'message' ? { ...input, from: forgedSender } : input),
      }),
  },
  {
    promise: '10 registers',
    check: registers,
    broken: 'answers another call',
    mutation: () =>
      between({
        input: (input) =>
          input.type === 'register' ? { ...input, call: { ...input.call, id: input.call.id + 1 } } : input,
      }),
  },
  {
    promise: '11 suspension',
    check: suspension,
    broken: 'tells of a suspension late',
    mutation: () => tellsLate,
  },
  {
    promise: '12 failure',
    check: failure,
    broken: 'carries out half a step that throws',
    mutation: () => swallowsErrors,
  },
]

/** Runs a check against a world, honest or broken, and closes all that it opened. */
export async function runCheck(world: ConformingWorld, check: Check, mutate: () => Mutation): Promise<void> {
  const subjects: Subject[] = []
  try {
    await check(async () => {
      const subject = await opened(world, mutate())
      subjects.push(subject)
      return subject
    })
  } finally {
    await Promise.all(subjects.map((subject) => subject.close()))
  }
}
