/** What a node is and did, after a moment of a run. */
import {
  type Effect,
  isList,
  type Micros,
  msOf,
  type NodeId,
  type Plain,
  type PlainObject,
} from '../../../../src/core/index.ts'
import type { TraceRecord } from '../../../../src/workbench/trace/index.ts'
import { commandText, registerText } from '../../../../src/workbench/trace/text.ts'
import { clockLines } from './draw/clock-line.ts'
import { describeMessage } from './draw/message-text.ts'
import { type NodeStep, nodeSteps } from './node-states.ts'
import type { Inspection } from './picture.ts'
import type { RecordedRun } from './recorded-run.ts'

/** A list of more changes says nothing. */
const MOST_CHANGES = 200

export class Inspector {
  readonly #run: RecordedRun
  readonly #steps = new Map<NodeId, readonly NodeStep[]>()
  #clocks: ReturnType<typeof clockLines> | null = null

  constructor(run: RecordedRun) {
    this.#run = run
  }

  inspect(moment: number, node: NodeId): Inspection {
    const { records } = this.#run
    const at = records[Math.max(0, moment)]?.at ?? 0
    const steps = this.#stepsOf(node)
    const step = steps[lastBefore(steps, moment)]
    if (step === undefined) return { ...NOTHING, node, moment, clock: this.#clock(node, at), at }
    const record = records[step.moment]
    return {
      node,
      moment,
      state: asObject(step.after),
      stable: step.stable,
      changed: changedPaths(step.before, step.after),
      ...this.#words(record),
      clock: this.#clock(node, at),
      at: record?.at ?? at,
    }
  }

  #stepsOf(node: NodeId): readonly NodeStep[] {
    const known = this.#steps.get(node)
    if (known !== undefined) return known
    const steps = nodeSteps(this.#run, node)
    this.#steps.set(node, steps)
    return steps
  }

  #clock(node: NodeId, at: Micros): Micros {
    if (this.#run.isUntimed) return 0
    this.#clocks ??= clockLines(this.#run)
    return this.#clocks.get(node)?.at(at) ?? 0
  }

  #words(record: TraceRecord | undefined): Pick<Inspection, 'input' | 'effects'> {
    if (record === undefined || (record.type !== 'start' && record.type !== 'step'))
      return { input: record?.type === 'world' ? 'crashes' : null, effects: [] }
    const { effects, cutAfter, now } = record
    const isUndone = record.type === 'step' && (record.takenBack === true || record.failed !== undefined)
    const done = isUndone ? [] : effects.slice(0, cutAfter ?? effects.length)
    return { input: this.#inputText(record), effects: done.map((effect) => this.#effectText(effect, now)) }
  }

  #inputText(record: TraceRecord & { readonly type: 'start' | 'step' }): string {
    if (record.type === 'start') return record.stable === null ? 'starts' : 'restarts with what it stored'
    const { input } = record
    switch (input.type) {
      case 'message':
        return `receives ${describeMessage(this.#run.definition, input.body).text} from ${input.from}`
      case 'timer':
        return `timer ${input.name} fires`
      case 'link':
        return `sees the link to ${input.peer} ${input.up ? 'up' : 'down'}`
      case 'register':
        return `learns the outcome of a register call: ${registerText(input)}`
      case 'command':
        return `receives the command ${commandText(input.command)}`
      case 'suspended':
        return `wakes after a suspension of ${msOf(input.by)} ms`
      default:
        return input satisfies never
    }
  }

  /** `now`: the node's clock in the step. */
  #effectText(effect: Effect, now: Micros): string {
    switch (effect.type) {
      case 'persist':
        return `stores ${shorten(JSON.stringify(effect.stable))}`
      case 'send':
        return `sends ${describeMessage(this.#run.definition, effect.body).text} to ${effect.to}`
      case 'setTimer':
        return `sets timer ${effect.name} ${timerText(effect.at, now)}`
      case 'stopTimer':
        return `stops timer ${effect.name}`
      case 'register':
        return effect.call.op === 'read'
          ? `reads the register of ${effect.call.of}`
          : `writes ${effect.call.op === 'bury' ? `a tombstone for ${effect.call.of}` : 'its register'}`
      case 'output': {
        const { type, ...rest } = effect.event
        const fields = Object.entries(rest).map(
          ([name, value]) => `${name} ${shorten(JSON.stringify(value))}`,
        )
        return `reports ${[type, ...fields].join(', ')}`
      }
      default:
        return effect satisfies never
    }
  }
}

const NOTHING = { state: null, stable: null, changed: [], input: null, effects: [] }

/** The index of the last step at or before a moment; -1 if there is none. */
function lastBefore(steps: readonly NodeStep[], moment: number): number {
  let low = -1
  let high = steps.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((steps[middle] as NodeStep).moment <= moment) low = middle
    else high = middle
  }
  return low
}

function timerText(at: Micros | readonly [Micros, Micros], now: Micros): string {
  const after = (deadline: Micros): number => Math.max(0, msOf(deadline - now))
  return typeof at === 'number'
    ? `to ${after(at)} ms from now`
    : `to ${after(at[0])} to ${after(at[1])} ms from now`
}

function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`
}

function asObject(state: Plain): PlainObject | null {
  if (state === null) return null
  return typeof state === 'object' && !isList(state) ? state : { state }
}

/** Paths of the fields that differ, the outermost that are not objects on both sides. */
export function changedPaths(before: Plain, after: Plain): readonly string[] {
  if (before === null || after === null) return []
  const paths: string[] = []
  const compare = (was: Plain | undefined, is: Plain | undefined, path: string): void => {
    if (was === is || paths.length >= MOST_CHANGES) return
    if (!isComposite(was) || !isComposite(is) || isList(was) !== isList(is)) {
      paths.push(path)
      return
    }
    const [old, young] = [was as PlainObject, is as PlainObject]
    for (const key of new Set([...Object.keys(old), ...Object.keys(young)]))
      compare(old[key], young[key], path === '' ? key : `${path}.${key}`)
  }
  compare(before, after, '')
  return paths
}

function isComposite(value: Plain | undefined): value is PlainObject | readonly Plain[] {
  return typeof value === 'object' && value !== null
}
