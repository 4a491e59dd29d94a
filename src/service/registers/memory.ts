/** Registers in memory: for tests, and the reference for other backends in the conformance suite. */
import { ASSUMPTIONS } from './assumptions.ts'
import type { Cell, CellStore } from './store.ts'

/** Shared by several stores; a map from groups to cells. */
export type Memory = Map<string, Map<string, { version: number; body: string }>>

export function openMemory(memory: Memory, group: string): CellStore {
  const cells = memory.get(group) ?? new Map<string, { version: number; body: string }>()
  memory.set(group, cells)
  return {
    facts: {
      kind: 'memory',
      place: `memory, group ${group}`,
      sound: ['one process, one thread: every operation is atomic'],
      weak: [],
      assumed: ASSUMPTIONS.memory,
    },
    async read() {
      return Array.from(
        cells,
        ([name, { version, body }]): Cell => ({ name, version: String(version), body }),
      )
    },
    async write(name, body, expected) {
      const present = cells.get(name)
      if (expected !== (present === undefined ? null : String(present.version))) return null
      const version = (present?.version ?? 0) + 1
      cells.set(name, { version, body })
      return String(version)
    },
    async remove(name, expected) {
      if (String(cells.get(name)?.version) === expected) cells.delete(name)
    },
    async close() {},
  }
}
