/** Runs with a Byzantine node: what it says must not stop the others from electing, or damage their state. */
import { canonical, type Message, type NodeId, type Plain, present } from '../../../src/core/index.ts'
import type { GroupSpec } from '../../../src/protocols/index.ts'
import { corrupt, oneOf, type Random, tampering } from './fuzzed-messages.ts'
import { ByzantineWorld, boundOf, DELAY, IDS, protocolFor, seededRandom } from './world.ts'

/** Consecutive runs in one world, so that damage from bad messages could add up. */
const RUNS_PER_WORLD = 20
/** States are checked after this many runs; damage from a bad message persists until then. */
const CHECK_STATES_EVERY = 4
/** How much a state may grow: names of unknown nodes and pending claims, both bounded. */
const MAX_GROWTH = 4000

/** What the Byzantine node does next: behaves well, restarts, or stays down for a while. */
type Ending = 'continues' | 'restarts' | 'stays down'

export type ByzantineRuns = {
  readonly runs: number
  /** Messages that the codec refused, and messages that a protocol found implausible. */
  readonly refused: number
  readonly implausible: number
  /** The first failure with its seed; null if there was none. */
  readonly failure: string | null
}

export function byzantineRuns(
  specs: { readonly [group: string]: GroupSpec },
  first: number,
  runs: number,
): ByzantineRuns {
  const hasOmega = Object.values(specs).some(({ protocol }) => protocol === 'omega')
  // Omega's links deliver every message once, so a node that was Byzantine must restart to send everything
  // again.
  const endings: readonly Ending[] = hasOmega
    ? ['restarts', 'stays down']
    : ['continues', 'continues', 'continues', 'continues', 'continues', 'restarts', 'stays down']
  const bound = Math.max(...Object.values(specs).map(boundOf))
  const settled = ByzantineWorld.create(specs)
  if (!settled.run(2 * bound, () => settled.isWhole())) throw new Error('no leader at the start')
  settled.run(500_000)
  const room = sizeOf(settled) + MAX_GROWTH
  const count = { refused: 0, implausible: 0 }
  let world = settled
  for (let run = 0; run < runs; run++) {
    const seed = first + run
    const random = seededRandom(seed)
    world = (run % RUNS_PER_WORLD === 0 ? settled : world).copy(random)
    const bad = oneOf(random, IDS)
    const ending = oneOf(random, endings)
    const fail = (why: string): ByzantineRuns => ({
      runs: run + 1,
      ...count,
      failure: `seed ${first + run - (run % RUNS_PER_WORLD)} and on, run ${seed}, ${bad} ${ending}: ${why}`,
    })
    // Omega's links carry frames only when something changes.
    if (hasOmega && random(4) > 0) {
      world.stop(bad)
      world.start(bad)
    }
    count.refused += misbehave(world, random, bad, hasOmega ? 200_000 : 60_000)
    if (ending !== 'continues') world.stop(bad)
    if (ending === 'restarts') world.start(bad)
    world.run(2 * DELAY)
    if (!world.run(bound, () => world.isLed())) return fail(`no leader within ${bound} µs`)
    if (ending === 'stays down') world.start(bad)
    if (!world.run(2 * bound, () => world.isWhole())) return fail('not all nodes are back')
    count.implausible += world.outputs.filter(({ event }) => event.type === 'implausible').length
    const wrong = run % CHECK_STATES_EVERY === 0 ? problemIn(world) : null
    if (wrong !== null) return fail(wrong)
    if (run % RUNS_PER_WORLD !== RUNS_PER_WORLD - 1) continue
    if (sizeOf(world) > room) return fail(`a state has grown to ${sizeOf(world)}`)
    for (const id of IDS) world.stop(id)
    for (const id of IDS) world.start(id)
    if (!world.run(2 * bound, () => world.isLed())) return fail('no leader after all nodes restarted')
  }
  return { runs, ...count, failure: null }
}

function hasFrame({ body }: Message): boolean {
  const { parts = [] } = (body ?? {}) as { readonly parts?: readonly { readonly body: Message }[] }
  return parts.some((part) => part.body.kind === 'frame')
}

/** One node sends up to four fuzzed messages. Returns how many of them the codec refused. */
function misbehave(world: ByzantineWorld, random: Random, bad: string, micros: number): number {
  const hasOmega = Object.values(world.specs).some(({ protocol }) => protocol === 'omega')
  const tamper = tampering(random, world, bad)
  let left = 1 + random(4)
  let refused = 0
  world.bad = {
    id: bad,
    tamper: (body, to) => {
      const isRare = !hasOmega || hasFrame(body)
      if (left === 0 || (isRare ? random(3) === 0 : random(8) > 0)) return body
      left -= 1
      const sent = tamper(body, to)
      if (sent === null) refused += 1
      return sent
    },
  }
  world.run(micros, () => left === 0)
  world.bad = null
  return refused
}

/** Whether every node can restart from its stable data, and every number in its state is exact. */
function problemIn({ nodes, specs, now }: ByzantineWorld): string | null {
  for (const { id, state, stable } of nodes) {
    const unsafe = inexactNumberIn(state)
    if (unsafe !== null) return `${id}: ${unsafe}`
    const { upper } = stable as { readonly upper: { readonly [group: string]: Plain } }
    for (const [group, kept] of Object.entries(upper)) {
      protocolFor(id, present(specs[group], group)).start(kept, now)
    }
  }
  return null
}

function sizeOf(world: ByzantineWorld): number {
  return Math.max(...world.nodes.map(({ state }) => canonical(state).length))
}

/**
 * Real datagrams of a group with a few bytes changed, sealed with the right key. Receivers handle what they
 * can decode. Nothing may throw, and the group must elect afterwards. Returns how many were decoded and how
 * many were not.
 */
export function corruptedDatagrams(
  specs: { readonly [group: string]: GroupSpec },
  first: number,
  runs: number,
): { readonly read: number; readonly unread: number; readonly failure: string | null } {
  const bound = Math.max(...Object.values(specs).map(boundOf))
  const settled = ByzantineWorld.create(specs)
  const recorded: { readonly from: NodeId; readonly to: NodeId; readonly bytes: Uint8Array }[] = []
  const recording = settled.copy(seededRandom(first))
  for (const from of IDS) {
    recording.bad = {
      id: from,
      tamper: (body, to) => {
        recorded.push({ from, to, bytes: recording.encode(from, to, body) })
        return body
      },
    }
    recording.run(bound)
  }
  if (!settled.run(2 * bound, () => settled.isWhole())) throw new Error('no leader at the start')
  let [read, unread] = [0, 0]
  let world = settled
  for (let run = 0; run < runs; run++) {
    const random = seededRandom(first + run)
    if (run % DATAGRAMS_PER_WORLD === 0) world = settled.copy(random)
    const { from, to, bytes } = oneOf(random, recorded)
    const body = world.decode(corrupt(random, bytes))
    if (body === null) unread += 1
    else {
      read += 1
      world.deliver(from, to, body)
    }
    if (run % DATAGRAMS_PER_WORLD !== DATAGRAMS_PER_WORLD - 1) continue
    world.run(2 * bound, () => world.isWhole())
    const wrong = problemIn(world)
    const seed = first + run - (DATAGRAMS_PER_WORLD - 1)
    if (wrong !== null) return { read, unread, failure: `from seed ${seed} on: ${wrong}` }
    if (!world.isLed()) return { read, unread, failure: `from seed ${seed} on: no leader` }
  }
  return { read, unread, failure: null }
}

/** Number of corrupted datagrams per world. */
const DATAGRAMS_PER_WORLD = 100

/** The place of the first number in a value that is not an exact integer; null if there is none. */
function inexactNumberIn(value: Plain, place = 'state'): string | null {
  if (typeof value === 'number') {
    return Number.isInteger(value) && !Number.isSafeInteger(value) ? `${place} is ${value}` : null
  }
  if (value === null || typeof value !== 'object') return null
  for (const [key, inner] of Object.entries(value)) {
    const found = inexactNumberIn(inner, `${place}.${key}`)
    if (found !== null) return found
  }
  return null
}
