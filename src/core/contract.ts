/**
 * The contract between a protocol and the worlds that run it.
 *
 * A protocol is plain data and one deterministic function. It never waits, never reads a clock, never draws
 * a random number and never touches a socket or a disk: it is handed one input at a time together with the
 * time on its own clock, and answers with its next state and a list of effects. The simulator, the explorer,
 * the browser and the real runtime are interpreters of those effects.
 *
 * What a protocol promises its worlds:
 *  - A step depends on nothing but the node's identity and options (fixed when it is made), its state, the
 *    input and `now`. `now` is this node's own clock; comparing it with another node's is a bug.
 *  - States, inputs and effects are plain data in one canonical form: sets are sorted arrays, and a field
 *    that means nothing in the present status is reset. Nothing is ever mutated.
 *  - When nothing changed, the very same state object comes back.
 *  - Instants stand in a state only where `shift` moves them: step(shift(s, d), i, now + d) does what
 *    step(s, i, now) does, later by d.
 *
 * What a world promises its protocols:
 *  - Effects are carried out in order. `persist` is a barrier: what follows it happens only once the data is
 *    safe. A crash may fall after any prefix of the effects, and then only persisted data is left.
 *  - Timers are named; setting one again replaces it; a stopped timer never fires. A timer set to a range
 *    fires at an instant of the world's choosing within it: that is where chance comes from.
 *  - A reply from a register carries the call that it answers. A step that calls registers gives up the reads that
 *    earlier steps asked for: their replies may still come, late, or never. No call is made while a write is under way.
 *  - After a sleep of the host, during which the node's clock stood still, the first input says so.
 */
import type { NodeId } from './ids.ts'
import type { Plain, PlainObject } from './plain.ts'
import type { Micros } from './units.ts'

export type Message = PlainObject & { readonly kind: string }
export type Command = PlainObject & { readonly do: string }
export type Output = PlainObject & { readonly type: string }

/**
 * A call on a shared register: read anyone's, write one's own. `id` tells the calls of a node apart. A register that
 * was never written holds null. Reads that a step asks for together may be carried out together, by one look at all.
 *
 * A write is compared: it counts only if the register still is as this process last read it or wrote it itself; where
 * somebody else has written meanwhile, and where nobody knows, the outcome is `unknown`. `bury` writes the register of a
 * process that is gone for good, in its name, compared with what was read of it last.
 */
export type RegisterCall =
  | { readonly id: number; readonly op: 'read'; readonly of: NodeId }
  | { readonly id: number; readonly op: 'write'; readonly value: Plain }
  | { readonly id: number; readonly op: 'bury'; readonly of: NodeId; readonly value: Plain }

/** What may happen to a node. `receipt` is what the layer below knows of a delivery (the bare network: null). */
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
  /** The host slept and its clock with it, so more time has passed than the clock shows: the second clock tells. */
  | { readonly type: 'suspended'; readonly by: Micros }

/** What a node may ask of its world. */
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

/** What anyone may ask a node. `until` is on the node's own clock; `detail` holds what only this protocol has. */
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
  /** Boot (`stable` is null) or reboot: only `stable`, the data persisted last, survived. */
  start(stable: D | null, now: Micros): Step<S, M, D>
  step(state: S, input: Input<M, C>, now: Micros): Step<S, M, D>
  view(state: S, now: Micros): View
  /** The same state `by` later: every instant in it moved. */
  shift(state: S, by: Micros): S
  /** As after a completed election: for worlds that begin settled. */
  settled?(outcome: Outcome, now: Micros): Step<S, M, D>
}

/** How an election ended: who won, and among whom. */
export type Outcome = { readonly leader: NodeId; readonly members: readonly NodeId[] }

/** Who a node is. `nodes` are all of them, itself included, in the order in which they were listed. */
export type Identity = { readonly self: NodeId; readonly nodes: readonly NodeId[] }
