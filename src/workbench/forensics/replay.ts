/** Replays the steps of real processes: the view of each node, and the first difference between code and recording. */
import {
  canonical,
  type Definition,
  type Effect,
  equalPlain,
  explain,
  type Plain,
  type PlainObject,
  type Protocol,
  present,
  type Step,
  type View,
} from '../../core/index.ts'
import { carriedMessages } from '../../links/index.ts'
import { hostingOf, hostShowing } from '../../protocols/index.ts'
import { differenceOfFailure, InvalidTraceError, type TraceHeader } from '../trace/index.ts'
import { type Placed, type Run, type StepRecord } from './index.ts'

export type Difference = {
  readonly file: string
  readonly line: number
  readonly node: Run['node']
  readonly recorded: readonly Effect[]
  readonly replayed: readonly Effect[]
  /** Set where the recorded step failed: the recorded error, and the error now (null: the step succeeds now). */
  readonly errors?: { readonly recorded: string; readonly replayed: string | null }
}

/** A step that failed both in the recording and in the replay. */
export type Failure = {
  readonly file: string
  readonly line: number
  readonly node: Run['node']
  readonly error: string
  /** Whether the node stopped; otherwise it dropped the message. */
  readonly isFatal: boolean
}

export type Replayed = {
  readonly steps: number
  readonly difference: Difference | null
  readonly failures: readonly Failure[]
  /** The view of a node after a step, if it changed. */
  readonly views: ReadonlyMap<Placed, View>
  /** The state in which a step was taken. */
  readonly before: ReadonlyMap<Placed, Plain>
}

export function checkedOptions(definition: Definition, { header }: Run, file: string): PlainObject {
  const options = definition.options(header.nodes).safeParse(header.options, { error: explain })
  if (options.success) return options.data
  const [issue] = options.error.issues
  throw new InvalidTraceError(
    `${file}: line 1: ${['options', ...(issue?.path ?? [])].join('.')}: ${issue?.message}`,
  )
}

export function replayRuns(runs: readonly Run[], definition: Definition): Replayed {
  const views = new Map<Placed, View>()
  const before = new Map<Placed, Plain>()
  const failures: Failure[] = []
  let steps = 0
  for (const run of runs) {
    const file = run.steps[0]?.file ?? ''
    const identity = { self: run.node, nodes: run.header.nodes }
    const options = checkedOptions(definition, run, file)
    const protocol = asRecorded(definition, run.header).create(identity, options)
    let state: Plain = null
    let view: View | null = null
    for (const placed of run.steps) {
      const { record } = placed
      before.set(placed, state)
      if (record.type === 'resume') state = record.state
      else if (record.type === 'step' && record.failed !== undefined) {
        const where = { file: placed.file, line: placed.line, node: run.node }
        const { input, now, failed } = record
        const from = present(state, 'state')
        steps += 1
        const differs = differenceOfFailure(failed.error, () => protocol.step(from, input, now))
        if (differs !== null) return { steps, difference: { ...where, ...differs }, failures, views, before }
        failures.push({ ...where, ...failed })
      } else {
        const next = attempt(protocol, record, state, placed)
        steps += 1
        if (canonical(next.effects) !== canonical(record.effects)) {
          const { line } = placed
          const difference = {
            file: placed.file,
            line,
            node: run.node,
            recorded: record.effects,
            replayed: next.effects,
          }
          return { steps, difference, failures, views, before }
        }
        if (record.type === 'start' || record.takenBack !== true) state = next.state
      }
      const shown = protocol.view(present(state, 'state'), record.now)
      if (view === null || !equalPlain(shown, view)) views.set(placed, shown)
      view = shown
    }
  }
  return { steps, difference: null, failures, views, before }
}

/** The definition with the state machine that took the steps: that of real processes, if they recorded the trace. */
export function asRecorded(definition: Definition, { hosted: group }: TraceHeader): Definition {
  const hosting = hostingOf(definition.name)
  if (group === undefined || hosting === null) return definition
  return {
    ...definition,
    carried: (body) => carriedMessages(body, group),
    create: ({ self }, options) =>
      hosting.needs === 'peers' ? hostShowing(self, group) : hosting.create(self, options),
  }
}

function attempt(
  protocol: Protocol,
  record: StepRecord & { readonly type: 'start' | 'step' },
  state: Plain,
  { file, line }: Placed,
): Step<Plain> {
  try {
    if (record.type === 'start') return protocol.start(record.stable, record.now)
    if (state === null) throw new InvalidTraceError(`node ${record.node} steps before it has started`)
    return protocol.step(state, record.input, record.now)
  } catch (error) {
    throw new InvalidTraceError(
      `${file}: line ${line}: the code cannot take this step: ${(error as Error).message}`,
    )
  }
}
