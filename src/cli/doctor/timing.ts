/** Compares measured lateness and delays with what a group assumes, and proposes settings that fit. */
import { microsOf, msOf, type NodeId, sortIds } from '../../core/index.ts'
import { DEFAULT_PROTOCOL, hostingOf, LEASE_FIELDS } from '../../protocols/index.ts'
import { flagOf } from '../../service/config/index.ts'
import { InvalidOptionsError } from '../../service/config/problems.ts'
import { protocolOptions } from '../../service/config/protocol-options.ts'
import type { JoinOptions, StoreJoinOptions } from '../../service/node/index.ts'
import { type Finding, failed, formatMs, formatSpread, ok, type Spread, warning } from './findings.ts'

const PROFILES = ['lan', 'region', 'wan'] as const

export type Timing = {
  readonly sigmaMs: number
  readonly deltaMs: number
  /** Where leases tune themselves: the shortest that tolerate this lateness; null where the timing is fixed. */
  leaseMs(latenessMs: number): number | null
  /** The options that would have tolerated these values, as flags; empty if the protocol names none. */
  remedy(broken: { readonly sigmaMs?: number; readonly deltaMs?: number }): string
  /** The shortest profile that tolerates these values; null if none does. */
  fitting(latenessMs: number, delayMs: number): string | null
}

/** Null for a protocol that does not say what it assumes. */
export function timingOf(join: JoinOptions | StoreJoinOptions, peers: readonly NodeId[]): Timing | null {
  const nodes = sortIds([join.id, ...peers])
  const protocol = join.protocol ?? DEFAULT_PROTOCOL
  const hosting = hostingOf(protocol)
  const assumptions = hosting?.assumptions
  const leaseForLateness = hosting?.needs === 'peers' ? hosting.leaseForLateness : undefined
  if (assumptions === undefined) return null
  const options = protocolOptions(protocol, nodes, join)
  const { sigma, delta, names } = assumptions.assumed(options, nodes)
  return {
    sigmaMs: msOf(sigma),
    deltaMs: msOf(delta),
    leaseMs(latenessMs) {
      const lease = leaseForLateness?.(options, nodes, Math.ceil(microsOf(latenessMs))) ?? null
      return lease === null ? null : msOf(lease)
    },
    remedy({ sigmaMs, deltaMs }) {
      const broken = {
        ...(sigmaMs === undefined ? {} : { sigma: Math.ceil(microsOf(sigmaMs)) }),
        ...(deltaMs === undefined ? {} : { delta: Math.ceil(microsOf(deltaMs)) }),
      }
      return Object.entries(assumptions.remedy(options, nodes, broken))
        .map(([name, value]) => (isOwnField(name) ? `${flagOf(name)} ${value}` : `--option ${name}=${value}`))
        .join(' ')
    },
    fitting(latenessMs, delayMs) {
      const isFitting = (profile: string): boolean => {
        // Constants of the user's own would hide those of the profile.
        const own = { ...join.options, [names.sigma]: undefined, [names.delta]: undefined, fastMs: undefined }
        const rest = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined))
        try {
          const chosen = protocolOptions(protocol, nodes, { ...join, profile, options: rest } as JoinOptions)
          const assumed = assumptions.assumed(chosen, nodes)
          return msOf(assumed.sigma) >= latenessMs && msOf(assumed.delta) >= delayMs
        } catch (error) {
          if (error instanceof InvalidOptionsError) return false
          throw error
        }
      }
      return PROFILES.find(isFitting) ?? null
    },
  }
}

/** Whether users set it by a field of its own, and not among the options of the protocol. */
function isOwnField(name: string): boolean {
  return (LEASE_FIELDS as readonly string[]).includes(name)
}

/** The percentile that must hold: a single late timer costs at most one term, frequent ones make the leader flap. */
export function judgeLateness(lateness: Spread, timing: Timing): Finding {
  const { sigmaMs } = timing
  const leaseMs = timing.leaseMs(lateness.max)
  const limit =
    leaseMs === null || lateness.max > sigmaMs
      ? `(σ is ${formatMs(sigmaMs)})`
      : `(leases of ${formatMs(leaseMs)} or longer tolerate that)`
  const text = `timers fire late by ${formatSpread(lateness)} ${limit}`
  if (lateness.max <= sigmaMs) return ok('scheduling', text)
  const remedy = timing.remedy({ sigmaMs: lateness.max })
  const fix = `give this host more CPU time${remedy === '' ? '' : `, or set ${remedy} on all nodes`}`
  return lateness.p99 <= sigmaMs ? warning('scheduling', text, fix) : failed('scheduling', text, fix)
}

export function judgeDelay(what: string, delay: Spread, timing: Timing): Finding {
  const { deltaMs } = timing
  const text = `${what} take ${formatSpread(delay)} (δ is ${formatMs(deltaMs)})`
  if (delay.max <= deltaMs) return ok('delay', text)
  const remedy = timing.remedy({ deltaMs: delay.max })
  const fix = remedy === '' ? 'bring the nodes closer together' : `set ${remedy} on all nodes`
  return delay.p99 <= deltaMs ? warning('delay', text, fix) : failed('delay', text, fix)
}

/** Which profile fits what was measured. */
export function judgeProfile(
  chosen: string | undefined,
  measured: { readonly latenessMs: number; readonly delayMs: number },
  timing: Timing,
): Finding | null {
  // Leases that tune themselves fit by themselves.
  if (timing.leaseMs(measured.latenessMs) !== null) return null
  const fitting = timing.fitting(measured.latenessMs, measured.delayMs)
  const current = chosen ?? 'lan'
  if (fitting === current)
    return ok('profile', `the profile ${current} is the fastest that fits these measurements`)
  const isTight = measured.latenessMs > timing.sigmaMs || measured.delayMs > timing.deltaMs
  if (fitting === null)
    return isTight
      ? failed(
          'profile',
          'no profile fits these measurements',
          'set the constants with --option, as proposed above',
        )
      : null
  if (isTight)
    return failed(
      'profile',
      `the profile ${current} is too fast for these measurements`,
      `set profile: ${fitting} on all nodes`,
    )
  return PROFILES.indexOf(fitting as (typeof PROFILES)[number]) <
    PROFILES.indexOf(current as (typeof PROFILES)[number])
    ? ok(
        'profile',
        `the profile ${current} fits; ${fitting} would fit these measurements too, and fail over sooner`,
      )
    : ok('profile', `the constants of this group fit these measurements; of the profiles, ${fitting} does`)
}
