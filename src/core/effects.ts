/** Constructors of effects, so that a protocol's step reads like its paper. */
import type { Effect, Message, Output, RegisterCall } from './contract.ts'
import type { NodeId } from './ids.ts'
import type { Plain } from './plain.ts'
import type { Micros } from './units.ts'

export type Send<M extends Message> = Extract<Effect<M>, { type: 'send' }>

export function send<M extends Message>(to: NodeId, body: M): Send<M> {
  return { type: 'send', to, body }
}

export function sendAll<M extends Message>(to: readonly NodeId[], body: M): readonly Send<M>[] {
  return to.map((id) => send(id, body))
}

export function persist<D extends Plain>(stable: D): Effect<never, D> {
  return { type: 'persist', stable }
}

export function setTimer(name: string, at: Micros | readonly [Micros, Micros]): Effect<never, never> {
  return { type: 'setTimer', name, at }
}

export function stopTimer(name: string): Effect<never, never> {
  return { type: 'stopTimer', name }
}

export function callRegister(call: RegisterCall): Effect<never, never> {
  return { type: 'register', call }
}

export function output(event: Output): Effect<never, never> {
  return { type: 'output', event }
}

/** No effects. */
export const NOTHING: readonly never[] = []
