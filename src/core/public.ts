/** `conclave/core`: the contract of protocols and what their authors need. Unstable until 1.0. */
export { AssertionFailedError, assert, present, unreachable } from './assert.ts'
export type {
  Command,
  Effect,
  Identity,
  Input,
  Message,
  Outcome,
  Output,
  Protocol,
  RegisterCall,
  Role,
  Step,
  View,
} from './contract.ts'
export {
  type Bound,
  type Definition,
  define,
  type Exploration,
  type FaultKind,
  type Stimulus,
  type Swarm,
} from './definition.ts'
export {
  callRegister,
  NOTHING,
  output,
  persist,
  send,
  sendAll,
  setTimer,
  stopTimer,
} from './effects.ts'
export { compareIds, type NodeId, sortIds, withId, withIds, withoutId } from './ids.ts'
export { canonical, equalPlain, type Plain, type PlainObject } from './plain.ts'
export { milliseconds, millisecondsOr, momentMs, nodeAmong, perNode } from './schema.ts'
export { type Layer, type LayerStep, stack } from './stack.ts'
export { strict } from './strict.ts'
export { type Micros, microsOf, msOf } from './units.ts'
