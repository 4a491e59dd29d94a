/** Checks the machine: its clocks, and how late it lets timers fire. */
import { readFileSync } from 'node:fs'
import { clockName, monotonicNow, openHostClock } from '../../service/runtime/index.ts'
import { type Finding, ok, type Spread, spreadOf, warning } from './findings.ts'

const CLOCK_SOURCE = '/sys/devices/system/clocksource/clocksource0/current_clocksource'
/** Reading one of these takes a microsecond or more, or they are coarse. */
const SLOW_SOURCES = ['hpet', 'acpi_pm', 'jiffies', 'refined-jiffies']
const CPU_STAT = '/sys/fs/cgroup/cpu.stat'
const SAMPLE_INTERVAL_MS = 5
/** A wall clock that moves against the monotonic clock by more than this was set. */
const WALL_STEP_MS = 20

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}

export function checkClocks(
  source = readText(CLOCK_SOURCE)?.trim() ?? null,
  hasBootTime = readText('/proc/uptime') !== null,
): readonly Finding[] {
  const findings: Finding[] = []
  if (hasBootTime && clockName() !== null)
    findings.push(ok('clock', 'the host has a second clock: a node notices when the host was suspended'))
  else
    findings.push(
      warning(
        'clock',
        'the host has no clock that counts while it is suspended (/proc/uptime)',
        'do not suspend this host: a node would keep its lease for longer than it may',
      ),
    )
  if (source !== null && SLOW_SOURCES.includes(source))
    findings.push(
      warning(
        'clock',
        `the clock source is ${source}, which is slow or coarse`,
        `use a better one if the host has it: see ${CLOCK_SOURCE.replace('current', 'available')}`,
      ),
    )
  else if (source !== null) findings.push(ok('clock', `the clock source is ${source}`))
  return findings
}

export type HostSample = {
  readonly lateness: Spread | null
  /** By how much the wall clock moved against the monotonic clock. */
  readonly wallStepMs: number
  readonly suspendedMs: number
  /** How long the control group had to wait for its share of the processor; null if unknown. */
  readonly throttledMs: number | null
}

/** Measures for a while how late timers fire in this process. Ends early when the signal is aborted. */
export function sampleHost(durationMs: number, signal: AbortSignal): Promise<HostSample> {
  const clock = openHostClock()
  const begin = monotonicNow()
  const wallAhead = Date.now() - begin / 1000
  const throttledBefore = throttledMicros()
  const late: number[] = []
  let suspended = clock.suspendedFor()
  let next = begin + SAMPLE_INTERVAL_MS * 1000
  return new Promise((resolve) => {
    const end = (): void => {
      const throttled = throttledMicros()
      resolve({
        lateness: spreadOf(late),
        wallStepMs: Date.now() - monotonicNow() / 1000 - wallAhead,
        suspendedMs: suspended / 1000,
        throttledMs:
          throttled === null || throttledBefore === null ? null : (throttled - throttledBefore) / 1000,
      })
      clock.close()
    }
    const tick = (): void => {
      const now = monotonicNow()
      suspended += clock.suspendedFor()
      // A timer may fire a little early.
      late.push(Math.max(0, now - next) / 1000)
      if (signal.aborted || now - begin >= durationMs * 1000) {
        end()
        return
      }
      next = Math.max(next, now) + SAMPLE_INTERVAL_MS * 1000
      setTimeout(tick, SAMPLE_INTERVAL_MS)
    }
    setTimeout(tick, SAMPLE_INTERVAL_MS)
  })
}

function throttledMicros(): number | null {
  const found = /^throttled_usec (\d+)$/m.exec(readText(CPU_STAT) ?? '')
  return found === null ? null : Number(found[1])
}

/** What was seen of the host beside lateness, which timing.ts compares with σ. */
export function judgeHost({ wallStepMs, suspendedMs, throttledMs }: HostSample): readonly Finding[] {
  const findings: Finding[] = []
  if (Math.abs(wallStepMs) > WALL_STEP_MS)
    findings.push(
      warning(
        'clock',
        `the wall clock was set by ${wallStepMs.toFixed(0)} ms during this check`,
        'let NTP slew the clock instead of setting it; leases do not depend on the wall clock, but logs do',
      ),
    )
  if (suspendedMs > 0)
    findings.push(
      warning(
        'clock',
        `the host was suspended for ${suspendedMs.toFixed(0)} ms during this check`,
        'keep the host awake: a leader that wakes up has lost its term',
      ),
    )
  if (throttledMs !== null && throttledMs > 0)
    findings.push(
      warning(
        'scheduling',
        `the CPU quota of this control group was exhausted for ${throttledMs.toFixed(0)} ms during this check`,
        'raise the CPU limit (cpu.max, or limits.cpu in Kubernetes), or raise sigmaMs',
      ),
    )
  return findings
}
