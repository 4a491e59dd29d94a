/** Messages of the fault manager on the wire: valid ones pass, corrupted ones do not, and all fit into a datagram. */
import { describe, expect, it } from 'vitest'
import { canonical, type Message, type Plain, type PlainObject } from '../../core/index.ts'
import { LONGEST_DIGEST, LONGEST_REASON, MANAGER_KINDS } from '../../recovery/manager/index.ts'
import { recoveryHosting } from './hosting.ts'
import { checkedRecoveryStable, findRecoveryFault, MOST_NODES } from './wire.ts'

const MOST = 2 ** 52
const JOB = 'j'.repeat(100)
/** The largest group that the options allow: sixteen ids in 128 characters of JSON. */
const NODES = Array.from({ length: MOST_NODES }, (_, place) => `nod-${place.toString(36)}`)
const ASSIGNMENT = [MOST, MOST]
const ID = { job: JOB, assignment: ASSIGNMENT, epoch: MOST, token: MOST }
const CODE = { name: 'evenodd', columns: MOST_NODES, data: MOST_NODES - 2 }
const CONTENT = { bytes: MOST, digest: 'f'.repeat(LONGEST_DIGEST) }
const COMMIT = { id: ID, code: CODE, holders: NODES, ...CONTENT }
const HELD = { id: ID, column: MOST_NODES - 1, code: CODE, ...CONTENT }
const REASON = 'r'.repeat(LONGEST_REASON)
const ENTRY = {
  record: {
    name: JOB,
    rank: ASSIGNMENT,
    status: 'running',
    owner: ['nod-f', MOST],
    assignment: ASSIGNMENT,
    submission: ASSIGNMENT,
    reason: REASON,
    declined: NODES,
  },
  commit: COMMIT,
}
const SOURCES = NODES.map((node, column) => ({ node, column }))
const END = { job: JOB, assignment: ASSIGNMENT, how: 'declined', reason: REASON, id: ID, bad: SOURCES }

const BODIES: { readonly [kind: string]: PlainObject } = {
  fence: {},
  entry: { entry: ENTRY },
  column: { held: HELD, isHeld: true },
  runs: { job: JOB, assignment: ASSIGNMENT },
  inventory: { slots: 4 },
  transfer: { entry: ENTRY },
  adopt: { rank: ASSIGNMENT },
  adopted: { rank: ASSIGNMENT },
  ready: {},
  put: { entry: ENTRY },
  have: { job: JOB, rank: ASSIGNMENT },
  decided: { job: JOB, rank: ASSIGNMENT, sources: SOURCES },
  submit: { job: JOB },
  cancelJob: { job: JOB },
  store: { commit: COMMIT },
  ended: { end: END },
  slots: { slots: 4 },
  refusal: { request: 'store', job: JOB, epoch: MOST, stored: MOST, reason: REASON },
  recode: { commit: COMMIT, sources: SOURCES },
  mend: { commit: COMMIT, column: 3, sources: SOURCES },
  forget: { job: JOB, rank: ASSIGNMENT },
}

const HEAD = { by: MOST, for: MOST, count: MOST, received: MOST }
const framed = (body: PlainObject): Message => ({ kind: 'frame', ...HEAD, seq: MOST, again: false, body })
const messages = MANAGER_KINDS.map((kind) => framed({ kind, token: MOST, ...BODIES[kind] }))

/** The value with each of its parts, at any depth, replaced by something else, or removed, or with one part more. */
function* corrupted(value: Plain): Generator<Plain> {
  if (value === null || typeof value !== 'object') return
  const isList = Array.isArray(value)
  for (const key of Object.keys(value)) {
    const inner = (value as PlainObject)[key] as Plain
    const having = (other: Plain): Plain =>
      isList
        ? (value as Plain[]).map((each, at) => (String(at) === key ? other : each))
        : { ...(value as PlainObject), [key]: other }
    if (key !== 'kind') for (const other of [-7, 1.5, 2 ** 60, '\n', {}, [[]]] as Plain[]) yield having(other)
    for (const other of corrupted(inner)) yield having(other)
    if (isList) continue
    const { [key]: _gone, ...rest } = value as PlainObject
    if (key !== 'kind') yield rest
    yield { ...(value as PlainObject), more: 1 }
  }
}

/** Numbers and control characters are node ids, too; a node id of another kind is not a corruption. */
const isNodeId = (text: string): boolean => /"(?:node|owner|holders|declined)":(?:\[?(?:-7|"\\n"))/.test(text)

describe('messages of the fault manager', () => {
  it.each(messages.map((message) => [(message['body'] as Message).kind, message] as const))(
    'that are valid pass: %s',
    (_, message) => {
      expect(findRecoveryFault(message)).toBeNull()
    },
  )

  it('that are corrupted anywhere are refused', () => {
    let tried = 0
    const taken: string[] = []
    for (const message of messages) {
      for (const bad of corrupted(message['body'] as Plain)) {
        const text = canonical(bad)
        // In a list of ids any integer or text is a node that is not in the group.
        const isOther = /(?:"holders"|"declined"):\[[^\]]*(?:-7|"\\n")|"node":(?:-7|"\\n")/.test(text)
        if (isNodeId(text) || isOther) continue
        tried += 1
        if (findRecoveryFault(framed(bad as PlainObject)) === null) taken.push(text)
      }
    }
    expect(taken).toEqual([])
    expect(tried).toBeGreaterThan(1200)
  })

  it('are refused with the place of the problem', () => {
    const bad = framed({ kind: 'put', token: 1, entry: { ...ENTRY, commit: { ...COMMIT, bytes: -1 } } })
    expect(findRecoveryFault(bad)).toContain('frame.body.entry.commit.bytes: must be a whole number')
    expect(findRecoveryFault({ ...framed({ kind: 'fence', token: 1 }), seq: -1 })).toContain('frame.seq')
    expect(findRecoveryFault(framed({ kind: 'nonsense' }))).toContain('unknown message')
  })

  it.each([
    ['a checkpoint of another job', { ...ENTRY, commit: { ...COMMIT, id: { ...ID, job: 'other' } } }],
    ['a running job without an owner', { ...ENTRY, record: { ...ENTRY.record, owner: null } }],
    ['a waiting job with an owner', { ...ENTRY, record: { ...ENTRY.record, status: 'waiting' } }],
    ['a running job without a checkpoint', { ...ENTRY, commit: null }],
    ['fewer holders than columns', { ...ENTRY, commit: { ...COMMIT, holders: ['a'] } }],
    ['more data than columns', { ...ENTRY, commit: { ...COMMIT, code: { ...CODE, data: 16, columns: 15 } } }],
    ['a job name with a slash', { ...ENTRY, record: { ...ENTRY.record, name: 'a/b' } }],
  ])('refuse %s', (_, entry) => {
    expect(findRecoveryFault(framed({ kind: 'put', token: 1, entry }))).not.toBeNull()
  })

  it('fit into a datagram of 1321 bytes, the largest of the largest group', () => {
    const lengths = messages.map((message) => canonical(message).length)
    expect(Math.max(...lengths)).toBeLessThanOrEqual(1321 - 20)
  })
})

describe('the options of a real node', () => {
  const asked = { id: 'a', data: '/data' }
  const problemsOf = (nodes: readonly string[], more: object = {}): unknown =>
    recoveryHosting.optionsFor({ ...asked, ...more }, nodes)

  it('allow the largest group of the test above', () => {
    expect(problemsOf(NODES)).not.toHaveProperty('problems')
  })

  it.each([
    [['a', ...NODES], {}, 'peers', 'recovery supports at most 16 nodes'],
    [
      ['a', 'b'.repeat(200)],
      {},
      'peers',
      'the ids are too long for the messages of recovery: use at most 128 characters in all',
    ],
    [['a'], {}, 'peers', 'is empty; recovery needs at least two nodes'],
    [
      ['a', 'b'],
      { data: undefined },
      'data',
      'is required with recovery, whose job table must survive a crash; give each node a folder of its own',
    ],
    [
      ['a', 'b'],
      { mode: 'local' },
      'mode',
      'must be majority with recovery: partitions must not run the same job',
    ],
    [
      ['a', 'b'],
      { witness: true },
      'witness',
      'does not apply to recovery, which has no such role; remove it',
    ],
  ])('refuse %j with %j', (nodes, more, field, message) => {
    expect(problemsOf(nodes, more)).toEqual({ problems: [{ field, message }] })
  })

  it('refuse a defect', () => {
    expect(problemsOf(['a', 'b'], { options: { misreading: 'no-fence' } })).toMatchObject({
      problems: [{ field: 'options.misreading' }],
    })
  })
})

describe('the stable data of a real node', () => {
  const VIEW = { id: [0, null], members: [] }
  const omega = { life: 1, view: VIEW, promised: [0, null], formed: VIEW, attempts: [] }
  const manager = { fence: 1, issued: [1, 2], table: [ENTRY], columns: [HELD] }
  const stable = { layer: 1, upper: { omega, manager } } as unknown as Plain

  it('passes if it is valid, or there is none', () => {
    expect(checkedRecoveryStable(stable)).toBe(stable)
    expect(checkedRecoveryStable(null)).toBeNull()
  })

  it.each([
    ['fence', { ...manager, fence: -1 }],
    ['columns', { ...manager, columns: [{}] }],
    ['table', { ...manager, table: [ENTRY, ENTRY] }],
  ])('is refused with a corrupt %s', (field, other) => {
    const bad = { layer: 1, upper: { omega, manager: other } } as unknown as Plain
    expect(() => checkedRecoveryStable(bad)).toThrow(`upper.manager.${field}`)
  })

  it('is recovered without losing the table of jobs', () => {
    const remedy = { self: 'a', moment: 1_700_000_000_000, above: 0, voters: null, together: true }
    expect(recoveryHosting.needs === 'peers' && recoveryHosting.recovery?.isOwn(stable)).toBe(true)
    const bad = { layer: 1, upper: { omega: { ...omega, life: -1 }, manager } } as unknown as Plain
    const recovered = recoveryHosting.recovery?.recover(bad, remedy)
    expect(recovered?.stable).toMatchObject({ upper: { omega: { view: VIEW }, manager } })
    expect(() => checkedRecoveryStable(recovered?.stable ?? null)).not.toThrow()
    expect(recoveryHosting.recovery?.recover(stable, { ...remedy, together: false })).toBeNull()
  })
})
