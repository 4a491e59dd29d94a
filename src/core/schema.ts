/** Pieces of schemas that every protocol's options and commands are made of. */
import { type ZodDefault, type ZodNumber, type ZodType, z } from 'zod'
import type { NodeId } from './ids.ts'

/** No duration in a scenario or an option is longer than this: 30 days. */
export const LONGEST_MS = 30 * 24 * 3_600_000

/** A duration in milliseconds; fractions down to a microsecond are kept. */
export function milliseconds(): ZodNumber {
  return z.number().min(0.001).max(LONGEST_MS)
}

export function millisecondsOr(byDefault: number, meaning: string): ZodDefault<ZodNumber> {
  return milliseconds().default(byDefault).describe(meaning)
}

/** One of the world's nodes. */
export function nodeAmong(nodes: readonly NodeId[]): ZodType<NodeId> {
  return z.union([z.number(), z.string()]).refine((id) => nodes.includes(id), {
    error: (issue) => `${JSON.stringify(issue.input)} is not one of the nodes (${nodes.join(', ')})`,
  })
}

/** A value for some of the world's nodes, by name. */
export function perNode<T>(nodes: readonly NodeId[], value: ZodType<T>): ZodType<Record<string, T>> {
  const names = nodes.map(String)
  return z.record(z.string(), value).superRefine((record, context) => {
    const stranger = Object.keys(record).find((name) => !names.includes(name))
    if (stranger === undefined) return
    const message = `is not one of the nodes (${names.join(', ')})`
    context.addIssue({ code: 'custom', path: [stranger], message })
  })
}
