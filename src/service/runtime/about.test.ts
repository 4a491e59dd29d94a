/** `About` datagrams: what is accepted, what is refused, and that they stay small. */
import { describe, expect, it, vi } from 'vitest'
import { canonical, type Message, type NodeId, type Plain } from '../../core/index.ts'
import { type About, MOST_ABOUT_BYTES, type OwnGroup, parseAbout } from './about.ts'
import { Abouts } from './abouts.ts'
import { NOTHING_MEASURED } from './measured.ts'
import { ProcessMeasures } from './process-measures.ts'

const SECOND = 1_000_000

const GROUP: OwnGroup = {
  role: 'voter',
  priority: 3,
  canStore: true,
  measured: { ...NOTHING_MEASURED, sigmaMs: 10, deltaMs: 5, renewalMarginMs: { min: 20, p50: 30 } },
  last: {
    token: 7,
    cause: { kind: 'late', node: 'a', text: 'a was late by 93 ms (sigmaMs is 30)' },
    endedMsAgo: 1500,
  },
}

type Sent = { readonly to: NodeId; readonly body: Message }

type Process = {
  readonly abouts: Abouts
  readonly sent: Sent[]
  readonly heard: NodeId[]
  /** When a datagram of a session was last sent to each peer; all of them just now, if it is null. */
  sentAt: number | null
}

function process(self: string, peers: readonly string[], groups = 1, group = GROUP): Process {
  const sent: Sent[] = []
  const heard: NodeId[] = []
  const last: { sentAt: number | null } = { sentAt: null }
  const measures = new ProcessMeasures(0, { read: () => null, close() {} })
  measures.noteLateness(20_000, 2 * SECOND)
  const abouts = new Abouts({ run: `run of ${self}`, version: '1.2.3' }, measures, {
    now: () => 4 * SECOND,
    send: (to, body) => sent.push({ to, body }),
    peers: () => peers,
    incarnation: () => 4,
    incarnationOf: () => 4,
    heardAt: () => 2 * SECOND,
    noteHeard: (peer) => heard.push(peer),
    sentAt: () => last.sentAt ?? Number.POSITIVE_INFINITY,
  })
  for (let each = 0; each < groups; each++) abouts.addGroup(`g${each}`, () => group)
  abouts.page = 'http://10.0.0.1:8080/'
  return Object.assign(last, { abouts, sent, heard })
}

const first = ({ sent }: { readonly sent: readonly Sent[] }): About => sent[0]?.body as unknown as About

describe('an About', () => {
  it('tells a peer the version, the page, the role, the measurements, whom it hears, and how its last term ended', () => {
    const here = process('a', ['b'])
    const there = process('b', ['a'])
    here.abouts.tick(3 * SECOND)
    expect(there.abouts.receive('a', first(here) as unknown as Message, 3 * SECOND)).toBeNull()
    expect(there.abouts.reportOf('a', 'g0', 4 * SECOND)).toEqual({
      group: {
        role: 'voter',
        priority: 3,
        canStore: true,
        measured: {
          windowMs: 180_000,
          latenessMs: { p50: 20, p99: 20, max: 20 },
          sigmaMs: 10,
          delayMs: null,
          deltaMs: 5,
          renewalMarginMs: { min: 20, p50: 30 },
        },
        last: { ...GROUP.last, endedMsAgo: 2500 },
      },
      run: 'run of a',
      version: '1.2.3',
      page: 'http://10.0.0.1:8080/',
      hears: { b: { heardMsAgo: 2000, rttMs: null } },
    })
    expect(there.abouts.reportOf('a', 'another group', 4 * SECOND)?.group).toBeNull()
    expect(there.abouts.reportOf('c', 'g0', 4 * SECOND)).toBeNull()
  })

  it('is sent every five seconds, and a second after a change', () => {
    const here = process('a', ['b'])
    for (let half = 0; half <= 40; half++) here.abouts.tick((half * SECOND) / 2)
    expect(here.sent).toHaveLength(5)
    here.abouts.noteChange()
    here.abouts.tick(20.5 * SECOND)
    expect(here.sent).toHaveLength(5)
    here.abouts.tick(21 * SECOND)
    expect(here.sent).toHaveLength(6)
  })

  it('is sent every second by an observer, which sends nothing else', () => {
    const here = process('a', ['b'], 1, { ...GROUP, role: 'observer' })
    for (let half = 0; half <= 40; half++) here.abouts.tick((half * SECOND) / 2)
    expect(here.sent).toHaveLength(21)
  })

  it('is sent every second by a node that sends a peer nothing else, as after a restart with long leases', () => {
    const here = process('a', ['b'])
    here.sentAt = 10 * SECOND
    for (let half = 0; half < 24; half++) here.abouts.tick((half * SECOND) / 2)
    const before = here.sent.length
    for (let half = 24; half <= 40; half++) here.abouts.tick((half * SECOND) / 2)
    expect(here.sent.length - before).toBe(9)
  })

  it('announces the ends of several terms at once in two reports that a peer accepts', () => {
    vi.useFakeTimers()
    try {
      const here = process('a', ['b'])
      const there = process('b', ['a'])
      for (let each = 0; each < 5; each++) here.abouts.announce(3 * SECOND + each * 1000)
      vi.runAllTimers()
      const [one, two] = here.sent
      expect(here.sent).toHaveLength(2)
      expect(there.abouts.receive('a', one?.body ?? expect.fail(), 3 * SECOND)).toBeNull()
      expect(there.abouts.receive('a', two?.body ?? expect.fail(), 3.2 * SECOND)).toBeNull()
    } finally {
      vi.useRealTimers()
    }
  })

  it('is read to the last one when a process was stopped and finds many at once', () => {
    const here = process('a', ['b'])
    const there = process('b', ['a'])
    for (let each = 0; each < 20; each++) here.abouts.send(each * 5 * SECOND)
    const now = 100 * SECOND
    for (const { body } of here.sent) expect(there.abouts.receive('a', body, now)).toBeNull()
    expect(there.abouts.receive('a', here.sent.at(-1)?.body ?? expect.fail(), now)).toBe('heard before')
  })

  it('shows that its sender is heard, if it is fresh', () => {
    const here = process('a', ['b'])
    const there = process('b', ['a'])
    here.abouts.send(3 * SECOND)
    const message = first(here) as unknown as Message
    there.abouts.receive('a', message, 3 * SECOND)
    there.abouts.receive('a', message, 4 * SECOND)
    expect(there.heard).toEqual(['a'])
  })

  it('stays within its size: it leaves out whom it hears, and the next one has the other groups', () => {
    const peers = Array.from({ length: 20 }, (_, index) => `a node with a long name ${index}`.padEnd(60, 'x'))
    const here = process('a', peers, 30)
    const seen = new Set<number>()
    for (let each = 0; each < 20; each++) {
      here.abouts.send(each * 5 * SECOND)
      const about = here.sent.at(-1)?.body as unknown as About
      expect(Buffer.byteLength(canonical(about as unknown as Plain))).toBeLessThanOrEqual(MOST_ABOUT_BYTES)
      expect(about.hears).toBeNull()
      expect(parseAbout(about as unknown as Message)).toEqual(about)
      for (const { group } of about.groups) seen.add(group)
    }
    expect(seen.size).toBe(30)
  })

  it('does not tell a page that is no HTTP URL', () => {
    const here = process('a', ['b'])
    for (const url of ['javascript:alert(1)', 'http://x/"onclick=', `http://x/${'y'.repeat(300)}`, '/page']) {
      here.abouts.page = url
      expect(here.abouts.page).toBeNull()
    }
  })
})

describe('an About is refused', () => {
  const good = (): About => {
    const here = process('a', ['b'])
    here.abouts.send(3 * SECOND)
    return first(here)
  }

  it('when it comes again, too often, or from another incarnation', () => {
    const there = process('b', ['a'])
    const message = good() as unknown as Message
    expect(there.abouts.receive('a', message, 3 * SECOND)).toBeNull()
    expect(there.abouts.receive('a', message, 9 * SECOND)).toBe('heard before')
    const crowd = Array.from({ length: 200 }, (_, index) => ({ ...message, number: index + 2 }))
    const answers = crowd.map((report) => there.abouts.receive('a', report, 9 * SECOND))
    expect(answers.indexOf('too many')).toBe(100)
    expect(there.abouts.receive('a', { ...message, number: 999 }, 9 * SECOND + 99_999)).toBe('too many')
    expect(there.abouts.receive('a', { ...message, number: 999 }, 9 * SECOND + 100_000)).toBeNull()
    expect(there.abouts.receive('a', { ...message, number: 3, by: 3 }, 9 * SECOND)).toBe(
      'earlier incarnation',
    )
  })

  it('when a field is missing, additional, of another type, too long, or not printable', () => {
    const base = good()
    const [group] = base.groups
    const bad: readonly object[] = [
      { ...base, extra: 1 },
      { ...base, by: -1 },
      { ...base, number: 1.5 },
      { ...base, run: 'x'.repeat(33) },
      { ...base, version: 'a\u0007b' },
      { ...base, page: 'javascript:alert(1)' },
      { ...base, page: 'http://x/<script>' },
      { ...base, lateness: [1, 2] },
      { ...base, lateness: [1, 2, -3] },
      { ...base, delay: 'slow' },
      { ...base, late: [1] },
      { ...base, hears: Array.from({ length: 25 }, (_, index) => [`n${index}`, 1, 1]) },
      { ...base, hears: [['b', 'x', 1]] },
      { ...base, groups: Array.from({ length: 17 }, () => group) },
      { ...base, groups: [{ ...group, role: 'king' }] },
      { ...base, groups: [{ ...group, priority: 2_000_000 }] },
      { ...base, groups: [{ ...group, last: { ...group?.last, text: 'x'.repeat(161) } }] },
      { ...base, groups: [{ ...group, last: { ...group?.last, text: '\u001b[2J' } }] },
      { ...base, groups: [{ ...group, last: { ...group?.last, kind: 'magic' } }] },
    ]
    for (const about of bad)
      expect([about, typeof parseAbout(about as unknown as Message)]).toEqual([about, 'string'])
    for (const field of Object.keys(base)) {
      const { [field as keyof About]: _, ...rest } = base
      expect([field, typeof parseAbout(rest as unknown as Message)]).toEqual([field, 'string'])
    }
  })

  it('after a random mutation, unless it is still valid; nothing throws', () => {
    const base = canonical(good())
    let random = 12_345
    const next = (most: number): number => {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31
      return random % most
    }
    const there = process('b', ['a'])
    let parsed = 0
    for (let each = 0; each < 3000; each++) {
      const chars = base.split('')
      for (let edit = 0; edit <= next(3); edit++)
        chars.splice(next(chars.length), next(3), String.fromCodePoint(32 + next(95)))
      let message: unknown
      try {
        message = JSON.parse(chars.join(''))
      } catch {
        continue
      }
      if (message === null || typeof message !== 'object') continue
      parsed += 1
      const result = parseAbout(message as Message)
      if (typeof result !== 'string') expect(parseAbout(result as unknown as Message)).toEqual(result)
      there.abouts.receive('a', message as Message, each * SECOND)
      there.abouts.reportOf('a', 'g0', each * SECOND)
    }
    expect(parsed).toBeGreaterThan(300)
  })
})
