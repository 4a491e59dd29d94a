import { describe, expect, it } from 'vitest'
import type { Effect, Input, PlainObject, RegisterCall, View } from '../../core/index.ts'
import type { TraceRecord } from './records.ts'
import { commandText, messageText, registerText, worldText } from './text.ts'
import { Transcript } from './transcript.ts'

type Step = TraceRecord & { readonly type: 'step' }

const KINDS = ['vote']
const beat: Input = { type: 'message', from: 1, body: { kind: 'beat' }, receipt: null }
const vote: Input = { type: 'message', from: 1, body: { kind: 'vote', round: 3 }, receipt: null }
const send = (to: number, body: { kind: string } & PlainObject): Effect => ({ type: 'send', to, body })

function step(input: Input, more: Partial<Step> = {}): Step {
  const common = {
    at: 1500,
    node: 2,
    now: 0,
    effects: [],
    sent: [],
    cutAfter: null,
    view: null,
    message: null,
  }
  return { type: 'step', input, ...common, ...more }
}

const relevant = (record: TraceRecord): string | null =>
  new Transcript({ kinds: KINDS, all: false }).line(record)
const all = (record: TraceRecord): string | null => new Transcript({ kinds: KINDS, all: true }).line(record)
const view = (more: Partial<View>): View => ({
  role: 'follower',
  leader: null,
  token: null,
  until: null,
  members: [],
  detail: {},
  ...more,
})

describe('the cause of a step', () => {
  const register = (call: RegisterCall, outcome: 'ok' | 'unknown', value: PlainObject | null): Input => ({
    type: 'register',
    call,
    outcome,
    value,
  })
  const read = { op: 'read', of: 3 } as RegisterCall
  const write = { op: 'write', value: { a: 1 } } as unknown as RegisterCall

  it.each<[Input, string]>([
    [vote, 'receives vote(round 3) from 1'],
    [{ type: 'timer', name: 'election' }, 'timer election'],
    [{ type: 'link', peer: 3, up: false }, 'sees the link to 3 down'],
    [{ type: 'link', peer: 3, up: true }, 'sees the link to 3 up'],
    [{ type: 'command', command: { do: 'stepDown' } }, 'command stepDown'],
    [{ type: 'suspended', by: 2500 }, 'wakes after a suspension of 2.5 ms'],
    [register(read, 'ok', { a: 1 }), 'reads the register of 3'],
    [register(read, 'ok', null), 'reads that the register of 3 was never written'],
    [register(read, 'unknown', null), 'does not know the outcome of its read of the register of 3'],
    [register(write, 'ok', null), 'has written its register'],
    [register(write, 'unknown', null), 'does not know the outcome of its write'],
  ])('%j', (input, text) => {
    expect(all(step(input))).toBe(`       1.500 ms  2 ${text}`)
  })
})

describe('a quiet step', () => {
  it.each<Input>([beat, { type: 'timer', name: 'x' }])(
    '%j is omitted unless everything is shown',
    (input) => {
      expect(relevant(step(input))).toBeNull()
      expect(all(step(input))).not.toBeNull()
    },
  )

  it('is shown if it has a cause of the protocol itself', () => {
    expect(relevant(step(vote))).toContain('receives vote')
    expect(relevant(step({ type: 'link', peer: 3, up: true }))).toContain('link to 3')
  })

  it('is shown if it crashes in the middle', () => {
    const cut = step(beat, { effects: [send(1, { kind: 'beat' })], cutAfter: 0 })
    expect(relevant(cut)).toMatch(/ -- and crashes after 0 of 1 effects$/)
  })
})

describe('the actions of a step', () => {
  it('combine equal messages, and keep the order of the others', () => {
    const effects = [
      send(1, { kind: 'vote', n: 1 }),
      send(3, { kind: 'vote', n: 1 }),
      { type: 'persist', stable: null } as Effect,
      send(1, { kind: 'vote', n: 1 }),
    ]
    expect(relevant(step(vote, { effects }))).toMatch(/: vote\(n 1\) to 1, 3; persists; vote\(n 1\) to 1$/)
  })

  it('omit the messages of layers below', () => {
    const effects = [send(1, { kind: 'beat' }), send(3, { kind: 'vote' })]
    expect(relevant(step(vote, { effects }))).toMatch(/: vote to 3$/)
    expect(all(step(vote, { effects }))).toMatch(/: beat to 1; vote to 3$/)
  })

  it('omit what a crash prevented', () => {
    const effects = [send(1, { kind: 'vote' }), send(3, { kind: 'vote' })]
    expect(relevant(step(vote, { effects, cutAfter: 1 }))).toMatch(
      /: vote to 1 -- and crashes after 1 of 2 effects$/,
    )
  })

  it('show a suspicion', () => {
    const effects: Effect[] = [{ type: 'output', event: { type: 'suspect', peer: 3 } }]
    expect(relevant(step({ type: 'timer', name: 'x' }, { effects }))).toMatch(/: suspects 3$/)
  })

  it('shows that a leader changes the length of its leases, and why', () => {
    const lineFor = (event: object): string | null =>
      relevant(
        step(
          { type: 'timer', name: 'x' },
          { effects: [{ type: 'output', event: { type: 'level', lock: 119_211, ...event } }] },
        ),
      )
    expect(lineFor({ cause: 'late', by: 3 })).toMatch(/: sets leases to 119 ms, because 3 acts late$/)
    expect(lineFor({ cause: 'quiet', by: null })).toMatch(/ms, because all is in time$/)
  })
})

describe('what a node believes', () => {
  it.each<[Partial<View>, string]>([
    [{ role: 'leader' }, 'LEADS'],
    [{ role: 'leader', token: 7 }, 'LEADS with token 7'],
    [{ role: 'leader', detail: { inQuorum: false } }, 'leads a view without a quorum'],
    [{ role: 'leader', detail: { inQuorum: true, willing: false } }, 'is unwilling to lead its view'],
    [{ leader: 3 }, 'follows 3'],
    [{ role: 'candidate' }, 'has no leader'],
    [{ role: 'follower' }, 'is follower'],
  ])('%j', (some, text) => {
    expect(relevant(step(vote, { view: view(some) }))).toMatch(new RegExp(`: ${text}$`))
  })
})

describe('a belief that a node already had', () => {
  const leads = (at: number): Step =>
    step(beat, { at, view: view({ role: 'leader', token: 1, until: at + 100 }) })

  it('is not said again, so that the renewal of a lease is no event', () => {
    const transcript = new Transcript({ kinds: KINDS, all: false })
    expect(transcript.line(leads(1000))).toMatch(/LEADS with token 1$/)
    expect(transcript.line(leads(2000))).toBeNull()
    expect(transcript.line(step(vote, { view: view({ role: 'leader', token: 1 }) }))).toMatch(/from 1$/)
    expect(transcript.line(step(beat, { view: view({ leader: 3 }) }))).toMatch(/: follows 3$/)
    expect(transcript.line(leads(3000))).toMatch(/LEADS with token 1$/)
  })

  it('is said again after a restart', () => {
    const transcript = new Transcript({ kinds: KINDS, all: false })
    transcript.line(leads(1000))
    const { input: _, message: __, ...common } = leads(2000)
    expect(transcript.line({ ...common, type: 'start', stable: null, settledOn: null })).toMatch(
      /2 starts: LEADS with token 1$/,
    )
  })
})

describe('a message inside a message of a layer', () => {
  const wrapped = (body: PlainObject): Input => ({
    type: 'message',
    from: 1,
    body: { kind: 'datagram', body },
    receipt: null,
  })
  const transcript = (isWhole: boolean): Transcript =>
    new Transcript({
      kinds: KINDS,
      all: isWhole,
      carried: (body) => [body['body'] as never],
      summaryOf: ({ kind, round }) =>
        round === 'damaged'
          ? JSON.parse('')
          : { words: `round ${round as number}`, isRoutine: kind === 'beat' },
    })

  it('is shown in the words of the protocol', () => {
    expect(transcript(false).line(step(wrapped({ kind: 'vote', round: 3 })))).toMatch(
      /receives vote\(round 3\) from 1$/,
    )
  })

  it('is left out if it is routine, unless everything is shown', () => {
    const routine = step(wrapped({ kind: 'beat', round: 4 }))
    expect(transcript(false).line(routine)).toBeNull()
    expect(transcript(true).line(routine)).toMatch(/receives beat\(round 4\) from 1$/)
  })

  it('is shown by its fields if the trace is damaged', () => {
    expect(transcript(false).line(step(wrapped({ kind: 'vote', round: 'damaged' })))).toMatch(
      /receives vote\(round "damaged"\) from 1$/,
    )
  })
})

describe('a step that did not count', () => {
  it('says that it was rolled back', () => {
    expect(relevant(step(vote, { takenBack: true }))).toMatch(/: rolls back, because its data could not be/)
  })

  it('says how it failed, and what became of the node', () => {
    const failed = (isFatal: boolean) =>
      relevant(step(vote, { failed: { error: 'term went back', isFatal } }))
    expect(failed(true)).toMatch(/: fails \(term went back\) and stops$/)
    expect(failed(false)).toMatch(/: fails \(term went back\) and drops the message$/)
  })
})

describe('other records', () => {
  it('shows events of the world and ticks', () => {
    expect(relevant({ type: 'world', at: 0, event: { crash: 3 } })).toBe('       0.000 ms  -- crash 3 --')
    const views = [{ node: 1, view: view({ role: 'leader' }) }]
    expect(relevant({ type: 'tick', at: 0, by: 2000, views })).toMatch(
      /-- a tick of 2 ms passes; 1 LEADS --$/,
    )
  })

  it('shows lost messages and the start of a recording only with everything', () => {
    const lost: TraceRecord = { type: 'lost', at: 0, message: 4, why: 'cut' }
    const resume: TraceRecord = { type: 'resume', at: 0, node: 2, now: 0, state: null }
    expect([relevant(lost), relevant(resume)]).toEqual([null, null])
    expect(all(lost)).toMatch(/message 4 is lost \(cut\)$/)
    expect(all(resume)).toMatch(/2 resumes here$/)
  })
})

describe('texts', () => {
  it('name messages, commands and events with their fields', () => {
    expect(messageText({ kind: 'vote' })).toBe('vote')
    expect(messageText({ kind: 'vote', to: 'b', n: [1] })).toBe('vote(to "b", n [1])')
    expect(commandText({ do: 'detect', of: 3 })).toBe('detect(of 3)')
    expect(worldText({ pause: 2, forMs: 700 })).toBe('pause 2, forMs 700')
  })

  it('shorten long fields, and long lists of fields', () => {
    expect(messageText({ kind: 'copy', content: 'x'.repeat(500), to: 3 })).toMatch(
      /^copy\(content "x{46}\u2026, to 3\)$/,
    )
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`field${index}`, index]))
    expect(messageText({ kind: 'copy', ...many })).toHaveLength('copy()'.length + 120)
  })

  it('show the command in a command to a group', () => {
    expect(commandText({ do: 'tell', group: 'g', command: { do: 'campaign', willing: true } })).toBe(
      'campaign(willing true)',
    )
    const spec = { nodes: Array.from({ length: 20 }, (_, index) => `n${index}`) }
    expect(commandText({ do: 'join', group: 'g', spec, stable: null })).toBe('join(group "g")')
  })

  it('show a register without the names of its fields', () => {
    const text = (value: PlainObject | null, outcome = 'ok'): string =>
      registerText({ type: 'register', call: { op: 'read', of: 3 }, outcome, value } as Input & {
        type: 'register'
      })
    expect(text({ epoch: 4, leader: 'a', ballot: null })).toBe('read 3 (4, a)')
    expect(text(null)).toBe('read 3 nothing')
    expect(text(null, 'unknown')).toBe('read 3: unknown')
  })
})
