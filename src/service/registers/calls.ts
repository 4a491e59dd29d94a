/**
 * Carries out a protocol's calls on registers (`RegisterCall` of the contract) and hands back the answers as inputs.
 *
 * Reads that are asked for in one step are one round of the store: it begins after the last of them was asked for, so
 * each of them sees what was written before it. A register that was never written reads as null.
 */
import type { Input, NodeId, Plain, RegisterCall } from '../../core/index.ts'
import type { Block } from './block.ts'
import type { RegisterFault } from './errors.ts'
import type { Incomplete, Registers } from './registers.ts'

export type CallHooks = {
  deliver(input: Input): void
  /** The node must stop: nothing it could do on this store is safe, or its id is another's. */
  onFailure(error: RegisterFault): void
  /**
   * Told who has a register, in every round and before it is answered. True: that has changed, and the round is not
   * answered, nor any that was asked for before.
   */
  onMembers?(ids: readonly NodeId[]): boolean
  /** Every block of a round. */
  onBlocks?(blocks: ReadonlyMap<NodeId, Block>): void
  /** A register was not written in the name of its owner, and why not, for the log. */
  onRefused?(of: NodeId, why: string): void
  /** Why an outcome is not known, for the log. */
  onUnknown?(why: string): void
}

type Read = RegisterCall & { readonly op: 'read' }

export function createRegisterCalls(registers: Registers, hooks: CallHooks): (call: RegisterCall) => void {
  let pendingReads: Read[] = []
  /** By whose register it is: the block of which the protocol was told last. */
  const lastDelivered = new Map<NodeId, Block>()
  /** How often the members have changed. */
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
    // After a turn of the event loop: a store that fails at once must not keep its own connection from coming back.
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
    const written =
      seen === undefined
        ? { outcome: 'refused' as const, why: `${of} has no block that was read` }
        : await registers.bury(of, value, seen)
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

/** Who has a register that counts: everybody who ever claimed one and has not left for good. */
export function activeMembers(blocks: ReadonlyMap<NodeId, { readonly removed: boolean }>): readonly NodeId[] {
  return [...blocks].flatMap(([id, { removed }]) => (removed ? [] : [id]))
}
