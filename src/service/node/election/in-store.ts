/** Opens an election over a shared store: the store is reached and the block of this node claimed before the protocol starts. */
import { setTimeout as sleep } from 'node:timers/promises'
import { hostingOf, type StoreHosting } from '../../../protocols/index.ts'
import type { StoreElectionSettings } from '../../config/election-settings.ts'
import {
  type CellStore,
  openRegisters,
  openStore,
  type Registers,
  StoreUnreachableError,
} from '../../registers/index.ts'
import { type HostClock, openHostClock } from '../../runtime/index.ts'
import type { ElectionEvents } from './election.ts'
import { type Blocks, ElectionInStore } from './election-in-store.ts'
import type { LocalElection, LocalEvents } from './in-thread.ts'
import { refuseOtherLeader } from './lease-lengths.ts'

/** How long an unreachable store is tried when a node starts. */
const REACH_MS = 5000
const RETRY_MS = 200
/** An access that takes longer has an unknown outcome. The limit is at least this, and at least two leases. */
const MIN_TIMEOUT_MS = 1000

/** The backend closes `clock`. */
export async function openElectionInStore(
  settings: StoreElectionSettings,
  events: LocalEvents,
  clock: HostClock = openHostClock(),
): Promise<LocalElection> {
  try {
    const hosting = storeHosting(settings)
    const { period, lease } = hosting.timing(settings.options)
    const timeoutMs = Math.max(MIN_TIMEOUT_MS, (2 * lease) / 1000)
    const store = await openWithRetries(settings, timeoutMs, events)
    // A running process with the same id reads at least once per period.
    const probeMs = (2 * period + lease) / 1000
    const registers = openRegisters(store, { self: settings.id, timeoutMs, probeMs, leaseMs: lease / 1000 })
    try {
      const first = await claimWithRetries(registers)
      await refuseOtherLeader(registers, { self: settings.id, leaseMs: lease / 1000 }, first)
      const backend = new ElectionInStore(settings, hosting, registers, first, events, clock)
      for (const weak of store.facts.weak) events.warn('store', `${store.facts.place}: ${weak}`)
      return backend
    } catch (error) {
      await registers.close()
      throw error
    }
  } catch (error) {
    clock.close()
    throw error
  }
}

/** Retries while the store is unreachable. Other problems with it do not go away. */
async function openWithRetries(
  { store, group }: StoreElectionSettings,
  timeoutMs: number,
  events: ElectionEvents,
): Promise<CellStore> {
  const until = performance.now() + REACH_MS
  for (let tries = 0; ; tries++) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one try after the other
      return await openStore(store, group, timeoutMs)
    } catch (error) {
      if (!(error instanceof StoreUnreachableError) || performance.now() >= until) throw error
      if (tries === 0) events.warn('store', `${error.message}; trying again`)
      // oxlint-disable-next-line no-await-in-loop -- one try after the other
      await sleep(RETRY_MS * (0.5 + Math.random()))
    }
  }
}

/** Claims the block of this node, and reads all blocks. */
async function claimWithRetries(registers: Registers): Promise<Blocks> {
  const until = performance.now() + REACH_MS
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one try after the other
    const claim = await registers.claim()
    // oxlint-disable-next-line no-await-in-loop -- one try after the other
    const read = claim.outcome === 'ok' ? await registers.readAll() : claim
    if (read.outcome === 'ok') return read.blocks
    if (read.outcome === 'failed') throw read.error
    if (performance.now() >= until)
      throw new StoreUnreachableError(registers.facts.place, new Error(read.why))
    // oxlint-disable-next-line no-await-in-loop -- one try after the other
    await sleep(RETRY_MS)
  }
}

function storeHosting({ protocol }: StoreElectionSettings): StoreHosting {
  const hosting = hostingOf(protocol)
  if (hosting?.needs === 'store') return hosting
  throw new Error(`${protocol} is not a protocol that this process can run in a store: load its module first`)
}
