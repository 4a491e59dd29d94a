/** Checks the arguments of a node's methods before anything happens. */
import { inspect } from 'node:util'
import type { Command, NodeId } from '../../../core/index.ts'
import { isAbortSignal } from '../../config/abort-signal.ts'
import { leaseMs } from '../../config/fields.ts'
import { InvalidArgumentError } from './errors.ts'

export type SignalOption = { readonly signal?: AbortSignal | undefined }

/** The signal among the options of a method. */
export function parseSignal(options: unknown): AbortSignal | undefined {
  const { signal } = optionsGiven(options)
  if (signal === undefined || isAbortSignal(signal)) return signal
  throw new InvalidArgumentError('signal', `${show(signal)} must be an AbortSignal`)
}

export function parseFlag(options: unknown, field: string): boolean {
  const flag = optionsGiven(options)[field] ?? false
  if (typeof flag === 'boolean') return flag
  throw new InvalidArgumentError(field, `${show(flag)} must be true or false`)
}

function optionsGiven(options: unknown): { readonly [field: string]: unknown } {
  if (options === undefined) return {}
  if (options !== null && typeof options === 'object') return options as { readonly [field: string]: unknown }
  throw new InvalidArgumentError('options', `${show(options)} must be an object such as { signal }`)
}

export function checkFunction(field: string, value: unknown): void {
  if (typeof value !== 'function') throw new InvalidArgumentError(field, `${show(value)} must be a function`)
}

/** The id of a node. */
export function parseNodeId(field: string, id: unknown): NodeId {
  if (typeof id === 'string' && id !== '') return id
  throw new InvalidArgumentError(field, `${show(id)} must be the id of a node, a non-empty string`)
}

export function parseMilliseconds(field: string, ms: unknown): number {
  if (typeof ms === 'number' && ms >= 0) return ms
  throw new InvalidArgumentError(field, `${show(ms)} must be a number of milliseconds, 0 or more`)
}

/** A bound that is not given stays. */
export type LeaseBounds = { readonly leaseMinMs?: number; readonly leaseMaxMs?: number }

/** The bounds of leases: at least one of them. */
export function parseLeaseBounds(bounds: unknown): LeaseBounds {
  if (bounds === null || typeof bounds !== 'object')
    throw new InvalidArgumentError(
      'bounds',
      `${show(bounds)} must be an object such as { leaseMinMs, leaseMaxMs }`,
    )
  const { leaseMinMs, leaseMaxMs, ...others } = bounds as { readonly [field: string]: unknown }
  const unknown = Object.keys(others)[0]
  if (unknown !== undefined)
    throw new InvalidArgumentError(unknown, 'unknown field; the fields are leaseMinMs and leaseMaxMs')
  if (leaseMinMs === undefined && leaseMaxMs === undefined)
    throw new InvalidArgumentError('bounds', 'give leaseMinMs, leaseMaxMs or both')
  for (const [field, value] of Object.entries({ leaseMinMs, leaseMaxMs })) {
    const problem = value === undefined ? undefined : leaseMs.safeParse(value).error?.issues[0]
    if (problem === undefined) continue
    const why =
      typeof value === 'number' ? problem.message : `${show(value)} must be a number of milliseconds`
    throw new InvalidArgumentError(field, why)
  }
  return bounds
}

/** A refusal that begins with a field of the command, as in "leaseMinMs: 900 is ...", names that field. */
export function fieldIn(why: string, command: Command): string | null {
  return Object.keys(command).find((field) => why.startsWith(`${field}: `)) ?? null
}

/** Checks the faults to inject into the datagrams of each peer. */
export function checkFaults(faults: unknown): void {
  if (faults === null || typeof faults !== 'object' || Array.isArray(faults))
    throw new InvalidArgumentError('faults', `${show(faults)} must be an object of peers and their faults`)
  for (const [peer, fault] of Object.entries(faults)) {
    if (!isFault(fault))
      throw new InvalidArgumentError(
        `faults.${peer}`,
        `${show(fault)} must be { cut: true } or { cut: false, delayMs: [least, most], loss: 0 to 1 }`,
      )
  }
}

function isFault(value: unknown): boolean {
  const { cut, delayMs, loss } = (value ?? {}) as { readonly [field: string]: unknown }
  if (cut === true) return true
  const isTime = (ms: unknown): boolean => typeof ms === 'number' && ms >= 0 && ms <= 3_600_000
  return (
    cut === false &&
    Array.isArray(delayMs) &&
    delayMs.length === 2 &&
    delayMs.every(isTime) &&
    typeof loss === 'number' &&
    loss >= 0 &&
    loss <= 1
  )
}

function show(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value)
    : inspect(value, { depth: 0, breakLength: Number.POSITIVE_INFINITY })
}
