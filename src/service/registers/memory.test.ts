import { conformance } from '../../../test/support/conformance.ts'
import { type Memory, openMemory } from './memory.ts'

const memory: Memory = new Map()
conformance('memory', { open: async (group) => openMemory(memory, group) })
