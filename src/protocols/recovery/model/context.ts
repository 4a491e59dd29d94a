/** What applications and restores of the model use of their host. */
import { hashPlain, type NodeId } from '../../../core/index.ts'
import type { CheckpointId, Code, ManagerCommand, ManagerOutput } from '../../../recovery/manager/index.ts'
import type { Column, Content, ModelMessage, ModelOutput, ModelSettings, ModelState } from './state.ts'

export type HostContext = {
  readonly state: ModelState
  readonly settings: ModelSettings
  readonly self: NodeId
  set(change: Partial<ModelState>): void
  isLinked(peer: NodeId): boolean
  send(to: NodeId, body: ModelMessage): void
  output(event: ModelOutput): void
  command(command: ManagerCommand): readonly ManagerOutput[]
  nextNumber(): number
  scheduleWork(job: string): void
  scheduleRestore(no: number): void
  stopRestore(no: number): void
  store(
    of: { readonly id: CheckpointId; readonly code: Code; readonly holders: readonly NodeId[] },
    content: Content,
  ): void
  repair(column: Column): void
}

export function digestOf(content: Content): string {
  return hashPlain(content).toString(16)
}
