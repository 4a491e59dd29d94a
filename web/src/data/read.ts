/**
 * Reads values that an agent sent. An agent of another version may omit fields or add some, and a proxy may send
 * anything: what cannot be used becomes null, and the page shows a dash instead of failing.
 */
export type Fields = { readonly [name: string]: unknown }

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {})

export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

export const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Ids are texts or numbers. The page compares and shows them as texts. */
export const idOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : null

export const idsOf = (value: unknown): readonly string[] => listOf(value).flatMap((each) => idOf(each) ?? [])

/** An instant as ISO text; null if it is none. */
export const instantOf = (value: unknown): string | null =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : null

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
