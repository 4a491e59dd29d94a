import { describe, expect, it } from 'vitest'
import { protocols } from '../../../../../src/protocols/index.ts'
import { isLeading } from '../../../../../src/workbench/trace/index.ts'
import { drawn, drawnFile, reading, recordedRun } from '../fixture.ts'
import type { Picture } from '../picture.ts'
import { derivedClocks } from './clock-line.ts'
import { pictureOf } from './index.ts'

const laneOf = ({ lanes }: Picture, node: number | string) => lanes.find((lane) => lane.node === node)

describe.each(protocols.map((definition) => [definition.name, definition] as const))(
  'the picture of a run of %s with random faults',
  (_, definition) => {
    const runs = [1, 2].map((seed) => recordedRun(drawnFile(definition, seed)))
    const pictures = runs.map((run) => ({ run, picture: pictureOf(run) }))

    it('has one moment per record, in the order of time', () => {
      for (const { run, picture } of pictures) {
        expect(picture.moments.map(({ at }) => at)).toEqual(run.records.map(({ at }) => at))
        expect(picture.moments.filter(({ text }) => text === '')).toEqual([])
      }
    })

    it('shows the clock of each node as its steps read it', () => {
      for (const { run, picture } of pictures) {
        const derived = derivedClocks(picture.nodes, run.records)
        for (const record of run.records) {
          if (!('now' in record) || run.isUntimed) continue
          const shown = reading(laneOf(picture, record.node)?.clock ?? [], record.at)
          expect(Math.abs(shown - record.now)).toBeLessThanOrEqual(1)
          // An opened trace has no reports of the world: its clocks come from its steps.
          expect(Math.abs((derived.get(record.node)?.at(record.at) ?? 0) - record.now)).toBeLessThanOrEqual(2)
        }
      }
    })

    it('ends each message once per arrival and loss', () => {
      for (const { run, picture } of pictures) {
        const ends = run.records.flatMap((record, index) => {
          const isEnd = record.type === 'lost' || (record.type === 'step' && record.message !== null)
          return isEnd ? [index] : []
        })
        const shown = picture.flights.flatMap(({ endedIn }) => endedIn ?? [])
        expect(shown.toSorted((a, b) => a - b)).toEqual(ends)
        expect(picture.flights.every(({ sentAt, endedAt }) => endedAt === null || endedAt >= sentAt)).toBe(
          true,
        )
      }
    })

    it('covers the whole run with roles, which change where the views do', () => {
      for (const { run, picture } of pictures) {
        for (const { roles } of picture.lanes) {
          expect(roles[0]?.from).toBe(0)
          expect(roles.at(-1)?.to).toBe(run.endsAt)
          expect(roles.slice(1).every(({ from }, index) => from === roles[index]?.to)).toBe(true)
        }
        for (const [moment, record] of run.records.entries()) {
          if ((record.type !== 'start' && record.type !== 'step') || record.view === null) continue
          if (record.cutAfter !== null) continue
          const span = laneOf(picture, record.node)?.roles.findLast((each) => each.moment <= moment)
          expect(span?.role).toBe(record.view.role)
          expect(span?.leads).toBe(isLeading(record.view.role, record.view.detail))
        }
      }
    })

    it('marks a moment as a change of leadership exactly where `leads` changes', () => {
      for (const { picture } of pictures) {
        const changes = picture.lanes.flatMap(({ roles }) =>
          roles
            .filter(({ leads }, index) => leads !== (roles[index - 1]?.leads ?? false))
            .map(({ moment }) => moment),
        )
        const marked = [...picture.moments.entries()]
          .filter(([, each]) => each.isLeadership)
          .map(([index]) => index)
        expect([...new Set(changes)].toSorted((a, b) => a - b)).toEqual(marked)
      }
    })

    it('lets timers fire when they are due, or later', () => {
      for (const { picture } of pictures) {
        const fired = picture.lanes.flatMap(({ timers }) => timers.filter((timer) => timer.fired))
        expect(fired.filter(({ to, due }) => to < due)).toEqual([])
      }
    })
  },
)

describe('leases', () => {
  const SCENARIO = { protocol: 'local-leader', nodes: [1, 2, 3], untilMs: 2000 }
  const leaseAt = (picture: Picture, at: number) =>
    laneOf(picture, 1)?.leases.find(({ from, to }) => from <= at && at < to)

  it('end as their holder believes, while its clock runs', () => {
    const lease = leaseAt(drawn(SCENARIO), 1_000_000)
    expect(lease?.token).not.toBeNull()
    expect(Math.abs((lease?.believed ?? 0) - (lease?.until ?? 0))).toBeLessThan(100)
  })

  it('end later as their holder believes, if it is suspended', () => {
    const picture = drawn({ ...SCENARIO, events: [{ atMs: 1000, suspend: 1, forMs: 500 }] })
    const lease = leaseAt(picture, 1_000_100)
    expect((lease?.believed ?? 0) - (lease?.until ?? 0)).toBeGreaterThan(499_000)
    expect(laneOf(picture, 1)?.stalls).toEqual([{ from: 1_000_000, to: 1_500_000, kind: 'suspended' }])
  })

  it('end later as their holder believes, if its clock is set back or runs slowly', () => {
    const skewed = leaseAt(drawn({ ...SCENARIO, events: [{ atMs: 1000, skew: 1, byMs: -200 }] }), 1_000_001)
    expect((skewed?.believed ?? 0) - (skewed?.until ?? 0)).toBeGreaterThan(190_000)
    const slow = leaseAt(drawn({ ...SCENARIO, events: [{ atMs: 1000, drift: 1, ppm: -500_000 }] }), 1_000_001)
    expect((slow?.believed ?? 0) - (slow?.until ?? 0)).toBeGreaterThan(10_000)
  })

  it('end when their holder crashes', () => {
    const picture = drawn({ ...SCENARIO, events: [{ atMs: 1000, crash: 1 }] })
    expect(laneOf(picture, 1)?.leases.at(-1)?.to).toBe(1_000_000)
    expect(laneOf(picture, 1)?.roles.at(-1)).toMatchObject({ role: 'crashed', from: 1_000_000, leads: false })
  })
})

describe('the network', () => {
  const networksAfter = (events: readonly object[]) =>
    drawn({ protocol: 'bully', nodes: [1, 2, 3], untilMs: 100, events: events as never }).networks

  it('is whole at first', () => {
    expect(networksAfter([])).toEqual([{ from: 0, closed: [], slow: [], loss: 0, duplicate: 0, blocks: [] }])
  })

  it('has the blocks of a partition', () => {
    const [, split, healed] = networksAfter([
      { atMs: 10, partition: [[1], [2, 3]] },
      { atMs: 20, heal: 'all' },
    ])
    expect(split).toMatchObject({ from: 10_000, blocks: [[1], [2, 3]] })
    expect(split?.closed).toHaveLength(4)
    expect(healed).toMatchObject({ from: 20_000, closed: [], blocks: [] })
  })

  it('has closed links by direction, and no blocks if some nodes still reach others', () => {
    const [, state] = networksAfter([{ atMs: 10, cutOneWay: [[1, 2]] }])
    expect(state).toMatchObject({ closed: [[1, 2]], blocks: [] })
  })

  it('knows slow links and loss', () => {
    const states = networksAfter([
      { atMs: 10, slow: [[1, 2]], delayMs: 50 },
      { atMs: 10, loss: 0.5 },
    ])
    expect(states.at(-1)).toMatchObject({ from: 10_000, loss: 0.5 })
    expect(states.at(-1)?.slow).toHaveLength(2)
  })
})

describe('messages', () => {
  const SCENARIO = { protocol: 'bully', nodes: [1, 2, 3], untilMs: 500, network: { delayMs: 10 } }

  it('that an event drops are lost, with the reason', () => {
    const [first] = drawn(SCENARIO).flights
    const atMs = ((first?.sentAt ?? 0) + 5000) / 1000
    const { flights, moments } = drawn({ ...SCENARIO, events: [{ atMs, drop: first?.message ?? -1 }] })
    expect(flights[0]).toMatchObject({ message: first?.message, lost: 'dropped', endedAt: atMs * 1000 })
    expect(moments[flights[0]?.endedIn ?? -1]?.text).toMatch(/ is lost because it was dropped by hand$/)
  })

  it('that arrive twice have a copy', () => {
    const { flights } = drawn({ ...SCENARIO, network: { delayMs: 10, duplicate: 1 } })
    const [first] = flights
    expect(flights.filter(({ message }) => message === first?.message).map(({ copy }) => copy)).toEqual([
      0, 1,
    ])
  })

  it('that are on their way at the end have no end', () => {
    const { flights } = drawn({ ...SCENARIO, untilMs: 1 })
    expect(flights.length).toBeGreaterThan(0)
    expect(
      flights.every(({ endedAt, endedIn, lost }) => endedAt === null && endedIn === null && lost === null),
    ).toBe(true)
  })
})

describe('routine messages', () => {
  const { flights, moments } = drawn({ protocol: 'local-leader', nodes: [1, 2, 3], untilMs: 1000 })

  it('are worth a look where something changes', () => {
    const elected = moments.findIndex(({ isLeadership }) => isLeadership)
    const reply = flights.find(({ endedIn }) => endedIn === elected)
    expect(reply).toMatchObject({ kind: 'Reply', isRoutine: false })
    expect(flights.filter(({ kind, isRoutine }) => kind === 'Reply' && isRoutine).length).toBeGreaterThan(10)
  })

  it('of a layer never are', () => {
    expect(flights.filter(({ kind, isRoutine }) => kind === 'Heartbeat' && !isRoutine)).toEqual([])
  })

  it('do not exist in a schedule, where each step was chosen', () => {
    const picture = drawn({
      protocol: 'bully',
      nodes: [1, 2],
      options: { detector: 'none' },
      schedule: [{ node: 1, do: 'crash' }],
    })
    expect([...picture.moments, ...picture.flights].filter(({ isRoutine }) => isRoutine)).toEqual([])
  })
})

describe('moments', () => {
  const { moments } = drawn({
    protocol: 'bully',
    nodes: [1, 2, 3],
    untilMs: 1500,
    events: [
      { atMs: 500, crash: 3 },
      { atMs: 501, command: { node: 2, do: 'detect', of: 3 } },
    ],
  })
  const texts = moments.map(({ text }) => text)

  it('are sentences', () => {
    expect(texts).toContain('3 crashes')
    expect(texts.find((text) => text.startsWith('2 receives the command detect(of 3)'))).toBeDefined()
    expect(texts.find((text) => /^\d's timer [\w/-]+ fires/.test(text))).toBeDefined()
    expect(texts.filter((text) => / ms {2}/.test(text))).toEqual([])
  })
})

describe('verdicts', () => {
  it('name the moment of the first violation', () => {
    const picture = drawn({
      protocol: 'bully',
      nodes: [1, 2, 3],
      options: { repaired: false },
      schedule: [],
    })
    expect(picture.isUntimed).toBe(true)
    expect(picture.verdicts.map(({ name }) => name)).toEqual(['agreement', 'maximality', 'live-leader'])
  })
})
