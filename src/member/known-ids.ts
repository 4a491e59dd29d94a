/** Who was at which address, kept beside the stable data: so a restarted process need not wait for all the others. */
import type { NodeId, PlainObject } from '../core/index.ts'
import { readNote, writeNote } from '../runtime/index.ts'

const NOTE = 'peers.json'

export function knownIds(folder: string | undefined): ReadonlyMap<string, string> {
  const note = folder === undefined ? null : (readNote(folder, NOTE) as PlainObject | null)
  return new Map(Object.entries(note ?? {}).map(([address, id]) => [address, String(id)]))
}

export function rememberIds(folder: string, ids: ReadonlyMap<string, NodeId>): void {
  const known = knownIds(folder)
  const isNews = [...ids].some(([address, id]) => known.get(address) !== id)
  if (isNews) writeNote(folder, NOTE, Object.fromEntries(ids))
}
