/**
 * The option `misreading` runs a protocol with a known defect, so that simulations and searches can show that a
 * specification catches it. Real nodes refuse it.
 */
import type { Problem } from './hosting.ts'

/** The problem with options of a real node that choose a defect. `none` and null choose no defect. */
export function defectProblems(options: { readonly [name: string]: unknown }): readonly Problem[] {
  const { misreading = 'none' } = options
  if (misreading === 'none' || misreading === null) return []
  const message = `${JSON.stringify(misreading)} is a deliberate defect for simulations and searches; remove it`
  return [{ field: 'options.misreading', message }]
}

/** Throws if a defect is chosen: for code that only real nodes run. */
export function assertNoDefect(misreading: string | null): void {
  for (const { field, message } of defectProblems({ misreading }))
    throw new RangeError(`${field}: ${message}`)
}
