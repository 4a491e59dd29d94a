/** The memory that two threads share, and the conclusions that they draw from it. */
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../../../test/support/wait.ts'
import { nodeReachOf } from './election.ts'
import { SharedState } from './shared-lease.ts'
import { progressEveryMs, StallWatch } from './stall-watch.ts'
import { SuspendCheck } from './suspend-check.ts'

describe('a lease in shared memory', () => {
  it('exists until it is revoked', () => {
    const shared = SharedState.for(3)
    expect(shared.lease()).toBeNull()
    shared.grant({ until: 1_700_000_000_000_000, token: 12, wallAhead: -5 })
    expect(new SharedState(shared.buffer).lease()).toEqual({
      until: 1_700_000_000_000_000,
      token: 12,
      wallAhead: -5,
    })
    shared.grant({ until: 7, token: null, wallAhead: 0 })
    expect(shared.lease()).toEqual({ until: 7, token: null, wallAhead: 0 })
    shared.grant({ until: 7, token: 0, wallAhead: 0 })
    expect(shared.lease()?.token).toBe(0)
    shared.revoke('outranked')
    expect(shared.standing()).toEqual({ lease: null, reason: 'outranked' })
    shared.grant({ until: 9, token: 1, wallAhead: 0 })
    expect(shared.standing().reason).toBeNull()
    shared.grant({ until: 9, token: 1, wallAhead: 0 }, 'x'.repeat(200))
    expect(shared.standing().reason).toBe('x'.repeat(64))
  })

  it('is read whole, while another thread writes', async () => {
    const shared = SharedState.for(0)
    const writer = new Worker(
      `const { workerData } = require('node:worker_threads')
       import(workerData.module).then(({ SharedState }) => {
         const shared = new SharedState(workerData.buffer)
         for (let token = 1; ; token++) shared.grant({ until: token * 3, token, wallAhead: token * 5 })
       })`,
      {
        eval: true,
        workerData: {
          buffer: shared.buffer,
          module: new URL('../../../../dist/service/node/election/shared-lease.js', import.meta.url).href,
        },
      },
    )
    try {
      await until(() => shared.lease() !== null)
      const seen = new Set<number>()
      const torn: unknown[] = []
      for (let reads = 0; reads < 200_000 || seen.size < 100; reads++) {
        const lease = shared.lease()
        if (lease === null) continue
        const { until: end, token, wallAhead } = lease
        if (token === null || end !== token * 3 || wallAhead !== token * 5) torn.push(lease)
        else seen.add(token)
      }
      expect(torn).toEqual([])
    } finally {
      await writer.terminate()
    }
  })

  it('is stored beside the last message of each node, as far as there is room', () => {
    const shared = SharedState.for(2)
    shared.noteHeard(
      ['a', 'b', 'c'],
      new Map([
        ['b', 7],
        ['c', 8],
      ]),
    )
    expect([0, 1, 2].map((place) => shared.heardAt(place))).toEqual([null, 7, null])
  })

  it('stays unchanged while its writer is suspended in the middle', () => {
    const shared = SharedState.for(2)
    const cells = new BigInt64Array(shared.buffer)
    for (const token of [1, 2, 3]) {
      shared.grant({ until: 9, token, wallAhead: 4 }, 'stalled')
      const before = [...cells]
      shared.grant({ until: 20, token: 70, wallAhead: 8 }, 'another reason')
      const after = [...cells]
      // Every prefix of the writes, up to the version.
      const changed = after.flatMap((value, cell) => (value !== before[cell] && cell !== 0 ? [cell] : []))
      cells.set(before)
      for (const cell of changed) {
        cells[cell] = after[cell] as bigint
        expect(shared.standing()).toEqual({ lease: { until: 9, token, wallAhead: 4 }, reason: 'stalled' })
      }
      cells[0] = after[0] as bigint
      expect(shared.standing()).toEqual({
        lease: { until: 20, token: 70, wallAhead: 8 },
        reason: 'another reason',
      })
    }
  })

  it('shares no cells with other values', () => {
    const shared = SharedState.for(2)
    const fill = (): void => {
      shared.progress = 1
      shared.publishLeadUntil(2, 1)
      shared.membersUntil = 3
      shared.datagrams = { sent: 4, received: 5, dropped: 6 }
      shared.noteHeard(
        ['a', 'b'],
        new Map([
          ['a', 7],
          ['b', 8],
        ]),
      )
      shared.noteEvidence([9, 10])
    }
    const read = (): readonly unknown[] => [
      shared.progress,
      shared.leadUntil(1),
      shared.membersUntil,
      ...Object.values(shared.datagrams),
      ...[0, 1].map((place) => shared.heardAt(place)),
      ...[0, 1].map((place) => shared.evidenceAt(place)),
    ]
    const lease = { until: 11, token: 12, wallAhead: 13 }
    shared.grant({ until: 1, token: 1, wallAhead: 1 }, 'y'.repeat(64))
    shared.grant(lease, 'x'.repeat(64))
    fill()
    expect(shared.standing()).toEqual({ lease, reason: 'x'.repeat(64) })
    shared.grant(lease, 'x'.repeat(64))
    shared.grant(lease, 'x'.repeat(64))
    expect(read()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })
})

describe('progress', () => {
  let watch: StallWatch | null = null
  afterEach(() => watch?.stop())

  /** A watch with a maxStallMs of 100, on a clock of the test. */
  function watchProgress() {
    const shared = { progress: 0 }
    const said: string[] = []
    let now = 0
    const own = new StallWatch(
      shared,
      100,
      { stalled: (ms) => said.push(`stalled ${ms}`), resumed: () => said.push('resumed') },
      () => now,
    )
    watch = own
    const lookAt = (at: number): boolean => {
      now = at
      own.look()
      return own.isStalled
    }
    return { shared, said, lookAt }
  }

  it('that stalls is noticed after maxStallMs, and so is its return', async () => {
    const { shared, said, lookAt } = watchProgress()
    for (const at of [0, 25_000, 50_000, 75_000, 99_999]) lookAt(at)
    expect(said).toEqual([])
    expect([lookAt(100_000), lookAt(100_000), said]).toEqual([true, true, ['stalled 100']])
    shared.progress = 100_000
    await until(() => said.length === 2)
    expect([said[1], watch?.isStalled]).toEqual(['resumed', false])
    await setTimeout(0)
  })

  it('does not count as stalled while the watching thread did not run either', () => {
    const { shared, said, lookAt } = watchProgress()
    lookAt(0)
    shared.progress = 50_000
    // The process was stopped for three seconds, with both threads.
    lookAt(3_050_000)
    expect(said).toEqual([])
    // The application stays blocked, although this thread continues.
    for (const at of [3_075_000, 3_100_000, 3_125_000, 3_150_000]) lookAt(at)
    expect(said).toEqual(['stalled 100'])
  })

  it('does not count as stalled when the whole process stops right after a check, for longer than maxStallMs', () => {
    const { shared, said, lookAt } = watchProgress()
    lookAt(0)
    lookAt(140_000)
    expect(said).toEqual([])
    // At least half of maxStallMs is left for the application to continue.
    lookAt(190_000)
    expect(said).toEqual([])
    shared.progress = 200_000
    lookAt(400_000)
    expect(said).toEqual([])
  })

  it('is recorded several times within maxStallMs', () => {
    expect([progressEveryMs(50), progressEveryMs(2000), progressEveryMs(60_000)]).toEqual([6, 100, 100])
  })
})

describe('a host that slept', () => {
  const asleep = (...naps: readonly number[]) => {
    const left = [...naps]
    let asked = 0
    return {
      suspendedFor: () => {
        asked += 1
        return left.shift() ?? 0
      },
      asked: () => asked,
    }
  }

  it('is not checked while the two clocks agree', () => {
    const clock = asleep(5_000_000)
    expect(new SuspendCheck(clock).hasSlept(1000, 20_999)).toBe(false)
    expect(clock.asked()).toBe(0)
  })

  it('voids leases that were granted before, at every query, and no later ones', () => {
    const check = new SuspendCheck(asleep(5_000_000))
    expect(check.hasSlept(1000, 5_001_000)).toBe(true)
    expect(check.hasSlept(1000, 5_001_500)).toBe(true)
    expect(check.hasSlept(5_001_000, 5_001_500)).toBe(false)
  })

  it('is distinguished from a clock that was set', () => {
    const check = new SuspendCheck(asleep(0, 0, 3_000_000))
    expect(check.hasSlept(0, 60_000_000)).toBe(false)
    expect(check.hasSlept(0, 60_000_000)).toBe(false)
    expect(check.hasSlept(0, 63_000_000)).toBe(true)
  })

  it('is assumed where no other clock can decide', () => {
    expect(new SuspendCheck(null).hasSlept(0, 20_000)).toBe(true)
    expect(new SuspendCheck(null).hasSlept(0, 19_999)).toBe(false)
  })
})

describe('the status of another node', () => {
  it('is read from shared memory by index, and unknown beyond its room', () => {
    const shared = SharedState.for(2)
    shared.noteHeard(['a', 'b', 'c'], new Map([['b', 12]]))
    shared.noteEvidence([7, null, 9])
    const read = new SharedState(shared.buffer)
    expect([0, 1, 2].map((place) => read.heardAt(place))).toEqual([null, 12, null])
    expect([0, 1, 2].map((place) => read.evidenceAt(place))).toEqual([7, null, null])
  })

  it('expires on the clock of the reader, even if no update arrives', () => {
    const status = (now: number, evidenceFor: number | null) =>
      nodeReachOf('b', { heardAt: 1000, evidenceAt: 5000, evidenceFor, isReachable: true, now })
    expect(status(8999, 4000)).toEqual({ id: 'b', reachable: true, evidenceMsAgo: 3.999, heardMsAgo: 7.999 })
    expect(status(9000, 4000)).toMatchObject({ reachable: false, evidenceMsAgo: 4 })
    // If the protocol states no such time, its own answer counts.
    expect(status(9000, null)).toMatchObject({ reachable: true })
  })
})

it('pairs the end of a lease with its leader', () => {
  const shared = SharedState.for(3)
  expect(shared.leadUntil(0)).toBeNull()
  shared.publishLeadUntil(500, 1)
  expect([shared.leadUntil(0), shared.leadUntil(1), shared.leadUntil(2)]).toEqual([null, 500, null])
  shared.publishLeadUntil(600, 1)
  expect(shared.leadUntil(1)).toBe(600)
  shared.publishLeadUntil(null, 1)
  expect(shared.leadUntil(1)).toBeNull()
  // The next leader: a reader that knows the former one must not take this lease for its lease.
  shared.publishLeadUntil(900, 2)
  expect([shared.leadUntil(1), shared.leadUntil(2)]).toEqual([null, 900])
})
