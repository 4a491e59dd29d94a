/** What the watch of the links reports, on a clock of its own. */
import { describe, expect, it } from 'vitest'
import type { NodeId } from '../../core/index.ts'
import { LinkWatch } from './link-watch.ts'
import type { Hearing } from './measured.ts'

const SECOND = 1_000_000
const REPORT_INTERVAL = 5 * SECOND
const ADDRESS = { host: '127.0.0.1', port: 7400 }

type Reported = {
  readonly at: number
  readonly since: number
  readonly hears: { readonly [id: string]: Hearing }
}

/** Node `a` with the peers `b` and `c`. Peers tell every 5 s whom they hear. */
function lab() {
  const warnings: string[] = []
  const heardAt = new Map<NodeId, number>()
  const reported = new Map<NodeId, Reported>()
  let now = 0
  const watch = new LinkWatch('a', now, {
    warn: (what, detail) => warnings.push(`${what}: ${detail}`),
    peers: () => ['b', 'c'].map((id) => ({ id, address: ADDRESS, isResolved: true })),
    heardAt: (peer) => heardAt.get(peer) ?? null,
    reportOf(peer) {
      const report = reported.get(peer)
      if (report === undefined) return null
      const { hears, at, since } = report
      return { hears, ageMs: (now - at) / 1000, sinceMs: (now - since) / 1000 }
    },
  })
  return {
    warnings,
    watch,
    /** The process of a peer was started again, and reports that it has heard nobody yet. */
    restart(peer: NodeId) {
      const nobody = { heardMsAgo: null, rttMs: null }
      reported.set(peer, { at: now, since: now, hears: { a: nobody, b: nobody, c: nobody } })
    },
    /** This process is stopped until this second, and then reads what `c` sent at first: that it hears `b`. */
    pause(second: number, last: Map<string, number>) {
      now = second * SECOND
      heardAt.set('c', now)
      last.set('ac', now)
      const since = reported.get('c')?.since ?? now
      const fresh = { heardMsAgo: 100, rttMs: null }
      reported.set('c', { at: now, since, hears: { a: fresh, b: fresh } })
    },
    /** Runs until this second; `hears` says who hears whom, as in 'ab' for "a hears b". */
    runUntil(second: number, hears: (pair: string) => boolean, last = new Map<string, number>()) {
      for (; now <= second * SECOND; now += SECOND / 2) {
        for (const pair of ['ab', 'ac', 'ba', 'bc', 'ca', 'cb']) if (hears(pair)) last.set(pair, now)
        for (const peer of ['b', 'c']) {
          const at = last.get(`a${peer}`)
          if (at !== undefined) heardAt.set(peer, at)
          if (at !== now || now % REPORT_INTERVAL !== 0) continue
          const row = (of: string): Hearing => {
            const heard = last.get(`${peer}${of}`)
            return { heardMsAgo: heard === undefined ? null : (now - heard) / 1000, rttMs: null }
          }
          reported.set(peer, {
            at: now,
            since: reported.get(peer)?.since ?? now,
            hears: { a: row('a'), [peer === 'b' ? 'c' : 'b']: row(peer === 'b' ? 'c' : 'b') },
          })
        }
        watch.tick(now)
      }
      return last
    },
  }
}

const ALL = (): boolean => true

describe('the watch of the links', () => {
  it('is silent while everybody hears everybody', () => {
    const { warnings, runUntil } = lab()
    runUntil(60, ALL)
    expect(warnings).toEqual([])
  })

  it('does not take a node that died for a broken link, whenever it dies', () => {
    for (let death = 20; death < 26; death += 0.5) {
      const { warnings, runUntil } = lab()
      const last = runUntil(death, ALL)
      runUntil(death + 40, (pair) => !pair.includes('b'), last)
      expect({ death, warnings }).toEqual({ death, warnings: [] })
    }
  })

  it('does not take a node that was stopped for a broken link when it returns', () => {
    for (let stop = 20; stop < 26; stop += 0.5) {
      const { warnings, runUntil } = lab()
      let last = runUntil(stop, ALL)
      last = runUntil(49.5, (pair) => !pair.includes('b'), last)
      // It tells whom it hears before it has read what arrived meanwhile.
      last = runUntil(50, (pair) => pair !== 'ba' && pair !== 'bc', last)
      runUntil(80, ALL, last)
      expect({ stop, warnings }).toEqual({ stop, warnings: [] })
    }
  })

  it('does not take a node that starts, and that others hear a little sooner, for a broken link', () => {
    const { warnings, runUntil } = lab()
    let last = runUntil(24.5, (pair) => !pair.includes('b'))
    warnings.length = 0
    last = runUntil(26, (pair) => !['ab', 'ba'].includes(pair), last)
    runUntil(40, ALL, last)
    expect(warnings).toEqual([])
  })

  it('does not take a node that was started again within a second for a broken link', () => {
    const { warnings, runUntil, restart } = lab()
    const last = runUntil(21, ALL)
    restart('b')
    runUntil(40, ALL, last)
    expect(warnings).toEqual([])
  })

  it('reports a node that returned, and no longer hears this one', () => {
    const { warnings, runUntil } = lab()
    let last = runUntil(20, ALL)
    last = runUntil(49.5, (pair) => !pair.includes('b'), last)
    runUntil(58, (pair) => pair !== 'ba', last)
    expect(warnings).toEqual([expect.stringContaining('b is heard here but does not hear this node')])
  })

  it('does not believe what peers said of a node before this process was stopped', () => {
    for (let stop = 20; stop < 26; stop += 0.5) {
      const { warnings, runUntil, pause } = lab()
      const last = runUntil(stop, ALL)
      pause(stop + 4.5, last)
      // `b` died while this process was stopped; what `c` said before arrives now.
      runUntil(stop + 30, (pair) => !pair.includes('b'), last)
      expect({ stop, warnings }).toEqual({ stop, warnings: [] })
    }
  })

  it('reports a node that others hear and this one does not, once, within 10 s', () => {
    for (let cut = 20; cut < 26; cut += 0.5) {
      const { warnings, runUntil } = lab()
      const last = runUntil(cut, ALL)
      runUntil(cut + 10, (pair) => pair !== 'ab', last)
      expect({ cut, warnings }).toEqual({
        cut,
        warnings: [
          'link: b is not heard here, but c hears it: UDP from b to here is lost; check the firewall, and the address of this node at b',
        ],
      })
      runUntil(cut + 60, (pair) => pair !== 'ab', last)
      expect(warnings).toHaveLength(1)
    }
  })

  it('reports a node that does not hear this one', () => {
    const { warnings, runUntil } = lab()
    const last = runUntil(20, ALL)
    runUntil(30, (pair) => pair !== 'ba', last)
    expect(warnings).toEqual([
      'link: b is heard here but does not hear this node: UDP from here to b is lost; check the firewall, and the address of this node at b',
    ])
  })

  it('reports a link again that broke, recovered, and broke', () => {
    const { warnings, runUntil } = lab()
    const last = runUntil(20, ALL)
    runUntil(40, (pair) => pair !== 'ab', last)
    runUntil(60, ALL, last)
    runUntil(80, (pair) => pair !== 'ab', last)
    expect(warnings).toHaveLength(2)
  })

  it('reports a peer that never answered', () => {
    const { warnings, runUntil } = lab()
    runUntil(8, (pair) => !pair.includes('b'))
    expect(warnings).toEqual([
      'peers: b has not answered at 127.0.0.1:7400 since this node started: check that it runs, its address, and that UDP gets through',
    ])
  })

  it('reports a peer at another address by its address only, while it does not hear this node', () => {
    const { warnings, watch, runUntil } = lab()
    const elsewhere = { host: '127.0.0.1', port: 9 }
    let last = new Map<string, number>()
    for (let second = 0; second < 20; second++) {
      const at = second * SECOND
      watch.noteSender('b', elsewhere, ADDRESS, at)
      watch.noteOutOfSession('b', at)
      last = runUntil(second, (pair) => !pair.includes('b'), last)
    }
    expect(warnings).toEqual([expect.stringMatching(/^address: b sends from/)])
  })

  it('reports another address after three datagrams, and two processes with one id', () => {
    const { warnings, watch } = lab()
    const elsewhere = { host: '127.0.0.1', port: 9 }
    for (let at = 1; at <= 2; at++) watch.noteSender('b', elsewhere, ADDRESS, at)
    expect(warnings).toEqual([])
    expect(watch.explains('127.0.0.1:9')).toBe(false)
    watch.noteSender('b', elsewhere, ADDRESS, 3)
    expect([watch.explains('127.0.0.1:9'), watch.explains('127.0.0.1:7400')]).toEqual([true, false])
    watch.noteSender('b', ADDRESS, null, 4)
    watch.noteSender('b', elsewhere, ADDRESS, 5)
    expect(warnings).toEqual([
      'address: b sends from 127.0.0.1:9, but its configured address is 127.0.0.1:7400: correct the address of b here, or its `listen`',
      'conflict: the processes at 127.0.0.1:7400 and 127.0.0.1:9 both have the id "b": give each its own id',
    ])
  })
})
