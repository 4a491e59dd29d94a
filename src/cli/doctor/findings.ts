/** What `conclave doctor` found out about a node: one line per finding, and a line that says what to do. */
import { NEW_LINE, paint, print } from '../output.ts'

export type Level = 'ok' | 'warning' | 'error'

export type Finding = {
  /** What was checked: `configuration`, `clock`, `scheduling`, `port`, `key`, `data`, `fsync`, `address`, `peer`, `delay`, `version`. */
  readonly area: string
  readonly level: Level
  readonly text: string
  /** What to do; null if nothing is wrong. */
  readonly fix: string | null
}

export const SIGNS = { ok: '✓', warning: '▲', error: '✖' } as const
export const COLOURS = { ok: 'green', warning: 'yellow', error: 'red' } as const

export const ok = (area: string, text: string): Finding => ({ area, level: 'ok', text, fix: null })
export const warning = (area: string, text: string, fix: string): Finding => ({
  area,
  level: 'warning',
  text,
  fix,
})
export const failed = (area: string, text: string, fix: string): Finding => ({
  area,
  level: 'error',
  text,
  fix,
})

export function printFinding({ level, text, fix }: Finding): void {
  const line = `${paint(COLOURS[level], SIGNS[level])} ${text}`
  print(fix === null ? line : `${line}${NEW_LINE}  → ${fix}`)
}

export type Spread = { readonly p50: number; readonly p99: number; readonly max: number }

/** Percentiles of some values in milliseconds; null without values. */
export function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return { p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 }
}

export function formatSpread({ p50, p99, max }: Spread): string {
  return `median ${formatMs(p50)}, 99 % ${formatMs(p99)}, longest ${formatMs(max)}`
}

export function formatMs(ms: number): string {
  return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`
}
