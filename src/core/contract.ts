/**
 * The contract between a protocol and the worlds that run it.
 *
 * A protocol is plain data and one deterministic function. It never waits, never reads a clock, never draws a random
 * number and never touches a socket or a disk. It gets one input at a time, with the time on its own clock, and returns
 * its next state and a list of effects. The simulator, the explorer, the browser and the real runtime interpret these
 * effects.
 *
 * What a protocol promises its worlds (strict.ts checks it):
 *  - A step depends only on the node's identity and options (fixed at creation), its state, the input and `now`. `now` is
 *    this node's own clock; comparing it with another node's is a bug.
 *  - States, inputs and effects are plain data in one canonical form: sets are sorted arrays, and a field that has no
 *    meaning in the current status is reset. Nothing is ever mutated.
 *  - When nothing changed, the step returns the very same state object.
 *  - A state contains instants only where `shift` moves them: step(shift(s, d), i, now + d) does what step(s, i, now)
 *    does, later by d.
 *  - It calls no register while a write of its own is pending.
 *
 * What a world promises its protocols (one conformance test per promise: test/support/world-conformance.ts):
 *  1. Order. A node gets one input at a time. All effects of a step are carried out, in order, before the next input.
 *  2. Barrier. What follows `persist` happens only once the data is stored.
 *  3. Rollback. If the data cannot be stored, the step did not happen: no effect is carried out, and the state is as
 *     before. A message is lost then; a timer or `suspended` comes again.
 *  4. Crash. A crash may fall after any prefix of the effects. Only the data persisted last is left, for `start`: no
 *     state, no timer.
 *  5. Replacement. Timers are named, and setting one again replaces it. A timer fires once.
 *  6. Cancellation. A stopped timer never fires.
 *  7. Deadline. A timer never fires before its deadline on the node's own clock. A timer with a range fires no earlier
 *     than an instant within it that the world chooses: that is the only source of randomness.
 *  8. Own step. A timer that is due at once fires after the step that set it, as an input of its own.
 *  9. Delivery. A message arrives as it was sent, and `from` is its sender. It may be late, lost, duplicated or reordered.
 * 10. Registers. A reply carries the call that it answers. A step that calls registers gives up the reads of earlier
 *     steps: their replies may still come, or never.
 * 11. Suspension. After the host was suspended, and the node's clock with it, the first input is `suspended`.
 * 12. Failure. A step that throws has no effects and changes no state.
 */
import type { NodeId } from './ids.ts'
import type { Plain, PlainObject } from './plain.ts'
import type { Micros } from './units.ts'

export type Message = PlainObject & { readonly kind: string }
export type Command = PlainObject & { readonly do: string }
export type Output = PlainObject & { readonly type: string }

/**
 * A call on a shared register. A node reads all registers and writes its own. `id` identifies the call. A register that
 * was never written holds null. The reads of one step may be carried out as one read of all registers.
 *
 * A write is a compare-and-swap: it succeeds only if the register is as this node last read or wrote it. If another node
 * has written meanwhile, or the result is not known, the outcome is `unknown`. `bury` writes a tombstone into the
 * register of a node that is gone for good, compared with what was last read of it.
 */
export type RegisterCall =
  | { readonly id: number; readonly op: 'read'; readonly of: NodeId }
  | { readonly id: number; readonly op: 'write'; readonly value: Plain }
  | { readonly id: number; readonly op: 'bury'; readonly of: NodeId; readonly value: Plain }

/** An input of a node. `receipt`: what the layer below knows about the delivery; null without a layer. */
export type Input<M extends Message = Message, C extends Command = Command> =
  | { readonly type: 'message'; readonly from: NodeId; readonly body: M; readonly receipt: Plain }
  | { readonly type: 'timer'; readonly name: string }
  | { readonly type: 'link'; readonly peer: NodeId; readonly up: boolean }
  | {
      readonly type: 'register'
      readonly call: RegisterCall
      readonly outcome: 'ok' | 'unknown'
      readonly value: Plain
    }
  | { readonly type: 'command'; readonly command: C }
  /** The host was suspended, and the clock stood still: `by` more time has passed than it shows. */
  | { readonly type: 'suspended'; readonly by: Micros }

/** A request of a node to its world. */
export type Effect<M extends Message = Message, D extends Plain = Plain> =
  | { readonly type: 'persist'; readonly stable: D }
  | { readonly type: 'send'; readonly to: NodeId; readonly body: M }
  | {
      readonly type: 'setTimer'
      readonly name: string
      readonly at: Micros | readonly [earliest: Micros, latest: Micros]
    }
  | { readonly type: 'stopTimer'; readonly name: string }
  | { readonly type: 'register'; readonly call: RegisterCall }
  | { readonly type: 'output'; readonly event: Output }

export type Step<S, M extends Message = Message, D extends Plain = Plain> = {
  readonly state: S
  readonly effects: readonly Effect<M, D>[]
}

export type Role = 'leader' | 'follower' | 'candidate' | 'observer' | 'dead' | 'suspended'

/** What a node shows of its state. `until` is on its own clock; `detail` is specific to the protocol. */
export type View = {
  readonly role: Role
  readonly leader: NodeId | null
  readonly token: number | null
  readonly until: Micros | null
  readonly members: readonly NodeId[] | null
  readonly detail: PlainObject | null
}

export type Protocol<
  S extends Plain = Plain,
  M extends Message = Message,
  C extends Command = Command,
  D extends Plain = Plain,
> = {
  /** First start (`stable` is null) or restart: only `stable`, the data persisted last, survived. */
  start(stable: D | null, now: Micros): Step<S, M, D>
  step(state: S, input: Input<M, C>, now: Micros): Step<S, M, D>
  view(state: S, now: Micros): View
  /** The same state, with every instant in it moved by `by`. */
  shift(state: S, by: Micros): S
  /** The state after a completed election: for worlds that begin settled. */
  settled?(outcome: Outcome, now: Micros): Step<S, M, D>
}

/** The outcome of an election: the winner, and the members. */
export type Outcome = { readonly leader: NodeId; readonly members: readonly NodeId[] }

/** A node's identity. `nodes`: all nodes, itself included, in the listed order. */
export type Identity = { readonly self: NodeId; readonly nodes: readonly NodeId[] }
