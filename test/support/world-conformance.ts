/**
 * What src/core/contract.ts promises on behalf of worlds: one check per promise, for every world.
 *
 * A check drives node `a` of a world through an adapter. The node runs a puppet: a protocol that answers a command with
 * the effects that the command lists, and writes every input into a journal. To show that a check can fail, each promise
 * has a mutation (world-mutations.ts): a layer between puppet and world that breaks this promise.
 */
import { expect } from 'vitest'
import {
  callRegister,
  type Micros,
  type Plain,
  persist,
  present,
  type RegisterCall,
  setTimer,
  stopTimer,
} from '../../src/core/index.ts'
import type { Mutation } from './world-mutations.ts'
import { type ConformingWorld, type Journal, note, type OpenWorld, puppet, say } from './world-puppet.ts'

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

/** All outcomes of a crash, for a step with one message before and one after `persist`. */
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
  // Without a crash, the step stores its data and sends both messages.
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
  // Crashes happened both before and after the data was stored.
  expect(new Set(left.map(([stable]) => stable))).toEqual(new Set([null, 'vote']))
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
  const [first] = subject.journal.inputs
  expect(first?.input as unknown).toMatchObject({
    type: 'message',
    from: 'b',
    body: { kind: 'note', text: 'hello' },
  })
}

const registers: Check = async (open) => {
  const subject = await open()
  const replies = (): readonly (readonly unknown[])[] =>
    subject.journal.inputs.flatMap(({ input }) =>
      input.type === 'register' ? [[input.call, input.outcome, input.value]] : [],
    )
  // A write is compared with the value that was read before.
  const first: RegisterCall = { id: 1, op: 'read', of: 'a' }
  const write: RegisterCall = { id: 2, op: 'write', value: { vote: 7 } }
  const reads: readonly RegisterCall[] = ['a', 'b'].map((of, index) => ({ id: 3 + index, op: 'read', of }))
  for (const [calls, total] of [[[first], 1] as const, [[write], 2] as const, [reads, 4] as const]) {
    subject.act(calls.map((call) => callRegister(call)))
    // oxlint-disable-next-line no-await-in-loop -- one step after the other
    await subject.until(() => replies().length === total)
  }
  const expected: readonly unknown[] = [
    [first, 'ok', null],
    [write, 'ok', null],
    [reads[0], 'ok', { vote: 7 }],
    [reads[1], 'ok', null],
  ]
  expect(replies()).toEqual(expect.arrayContaining([...expected]))
}

const suspension: Check = async (open) => {
  const subject = await open()
  subject.suspend()
  subject.receive('after')
  await subject.until(() => subject.journal.inputs.some(({ input }) => input.type === 'message'))
  const [first, ...rest] = subject.journal.inputs.map(({ input }) => input)
  expect(first as unknown).toMatchObject({ type: 'suspended', by: expect.any(Number) })
  expect(rest.map(({ type }) => type)).toEqual(['message'])
}

const failure: Check = async (open) => {
  const subject = await open()
  subject.act([note('before')])
  subject.act('throw')
  expect(subject.failure()).toBe('the puppet fails')
  expect(subject.outputs()).toEqual([])
}

/** In the order of the contract. */
export const PROMISES: readonly { readonly promise: string; readonly check: Check }[] = [
  { promise: '1 order', check: order },
  { promise: '2 barrier', check: barrier },
  { promise: '3 rollback', check: rollback },
  { promise: '4 crash', check: crash },
  { promise: '5 replacement', check: replacement },
  { promise: '6 cancellation', check: cancellation },
  { promise: '7 deadline', check: deadline },
  { promise: '8 own step', check: ownStep },
  { promise: '9 delivery', check: delivery },
  { promise: '10 registers', check: registers },
  { promise: '11 suspension', check: suspension },
  { promise: '12 failure', check: failure },
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
