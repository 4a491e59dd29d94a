/**
 * Executes a protocol's register calls (`RegisterCall` of the contract) and delivers the results as inputs.
 *
 * All reads of one step share one read of the store. It starts after the last of them was requested, so each sees every
 * earlier write. A register that was never written reads as null.
 */
import type { Input, NodeId, Plain, RegisterCall } from '../../core/index.ts'
import type { Block } from './block.ts'
import type { RegisterFault } from './errors.ts'
import type { Incomplete, Registers } from './registers.ts'

export type CallHooks = {
  deliver(input: Input): void
  /** The node must stop: the store is unsafe, or another process uses its id. */
  onFailure(error: RegisterFault): void
  /**
   * Called with the ids that have a register, before the results of a read are delivered. If it returns true, the
   * membership has changed, and the results of this and all earlier reads are dropped.
   */
  onMembers?(ids: readonly NodeId[]): boolean
  /** All blocks of a read. */
  onBlocks?(blocks: ReadonlyMap<NodeId, Block>): void
  /** A write to another node's register was refused. For the log. */
  onRefused?(of: NodeId, why: string): void
  /** Why an outcome is unknown. For the log. */
  onUnknown?(why: string): void
}

/** How the warning about an outage ends. */
export const UNTIL_STORE_ANSWERS = 'no decision is made until the store answers'

type Read = RegisterCall & { readonly op: 'read' }

export function createRegisterCalls(registers: Registers, hooks: CallHooks): (call: RegisterCall) => void {
  let pendingReads: Read[] = []
  /** By owner: the block that was last delivered to the protocol. */
  const lastDelivered = new Map<NodeId, Block>()
  /** Number of membership changes. */
  let changes = 0

  function answer(call: RegisterCall, value: Plain): void {
    hooks.deliver({ type: 'register', call, outcome: 'ok', value })
  }

  function handleIncomplete(calls: readonly RegisterCall[], problem: Incomplete): void {
    if (problem.outcome === 'failed') {
      hooks.onFailure(problem.error)
      return
    }
    hooks.onUnknown?.(problem.why)
    // After a turn of the event loop: a store that fails at once must not starve its own reconnection.
    setImmediate(() => {
      for (const call of calls) hooks.deliver({ type: 'register', call, outcome: 'unknown', value: null })
    })
  }

  async function round(): Promise<void> {
    const calls = pendingReads
    pendingReads = []
    const before = changes
    const read = await registers.readAll()
    if (changes !== before) return
    if (read.outcome !== 'ok') {
      handleIncomplete(calls, read)
      return
    }
    hooks.onBlocks?.(read.blocks)
    if (hooks.onMembers?.(activeMembers(read.blocks)) === true) {
      changes += 1
      return
    }
    for (const call of calls) {
      const block = read.blocks.get(call.of)
      if (block !== undefined) lastDelivered.set(call.of, block)
      answer(call, block?.value ?? null)
    }
  }

  async function write(call: RegisterCall, value: Plain): Promise<void> {
    const written = await registers.write(value)
    if (written.outcome === 'ok') answer(call, null)
    else handleIncomplete([call], written)
  }

  async function bury(call: RegisterCall, of: NodeId, value: Plain): Promise<void> {
    const seen = lastDelivered.get(of)
    // Never answers within the step that made the call.
    const written = await (seen === undefined
      ? { outcome: 'refused' as const, why: `no block of ${of} was read` }
      : registers.bury(of, value, seen))
    if (written.outcome === 'ok') {
      answer(call, null)
    } else if (written.outcome === 'refused') {
      hooks.onRefused?.(of, written.why)
      hooks.deliver({ type: 'register', call, outcome: 'unknown', value: null })
    } else {
      handleIncomplete([call], written)
    }
  }

  return (call) => {
    if (call.op === 'write') {
      void write(call, call.value)
      return
    }
    if (call.op === 'bury') {
      void bury(call, call.of, call.value)
      return
    }
    pendingReads.push(call)
    if (pendingReads.length === 1) queueMicrotask(() => void round())
  }
}

/** Ids of all nodes that ever claimed a register and were not removed. */
export function activeMembers(blocks: ReadonlyMap<NodeId, { readonly removed: boolean }>): readonly NodeId[] {
  return [...blocks].flatMap(([id, { removed }]) => (removed ? [] : [id]))
}
