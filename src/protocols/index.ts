/** Every protocol, by name. */
import type { Definition } from '../core/index.ts'
import { bullyDefinition } from './bully/index.ts'

export const protocols: readonly Definition[] = [bullyDefinition]

export function protocolNamed(name: string): Definition | null {
  return protocols.find((protocol) => protocol.name === name) ?? null
}
