/** Analyses a real run from the traces of its nodes: replays them, merges them on one time scale, and judges them. */
import { writeFileSync } from 'node:fs'
import { type Definition, msOf } from '../../core/index.ts'
import { count, plural } from '../../core/text.ts'
import { type Broken, brokenAssumptions } from '../../workbench/forensics/assumptions.ts'
import {
  eventsOf,
  matchMessages,
  mergedTrace,
  type Run,
  runsOf,
  type Scale,
  scaleOf,
  type TraceFile,
} from '../../workbench/forensics/index.ts'
import {
  checkedOptions,
  type Difference,
  type Replayed,
  replayRuns,
} from '../../workbench/forensics/replay.ts'
import { type Judged, judge } from '../../workbench/forensics/verdict.ts'
import { InvalidTraceError, type Trace, writeTrace } from '../../workbench/trace/index.ts'
import { EXIT } from '../errors.ts'
import { formatTable, NEW_LINE, paint, print, printJson } from '../output.ts'

export type Recorded = Judged & {
  readonly runs: readonly Run[]
  readonly scale: Scale
  readonly replayed: Replayed
  readonly broken: readonly Broken[]
  readonly merged: Trace
  readonly lengthMs: number
}

export function analyse(
  files: readonly TraceFile[],
  definition: Definition,
  clockErrorMs: number | null,
): Recorded {
  const runs = runsOf(files)
  const [first] = runs
  if (first === undefined) throw new InvalidTraceError('the file contains no trace')
  const other = runs.find(({ recording }) => recording.group !== first.recording.group)
  if (other !== undefined)
    throw new InvalidTraceError(
      `the traces are from two groups, ${first.recording.group} and ${other.recording.group}; replay each group separately`,
    )
  const options = checkedOptions(definition, first, first.steps[0]?.file ?? '')
  const replayed = replayRuns(runs, definition)
  const messages = matchMessages(runs)
  const { rhoPpm = 0 } = definition.constants(options, first.header.nodes.length)
  const wallError = clockErrorMs === null ? null : Math.round(clockErrorMs * 1000)
  const scale = scaleOf(runs, messages.records, { rho: rhoPpm / 1_000_000, wallError })
  const events = eventsOf(runs, scale, messages)
  const begin = events[0]?.at ?? 0
  return {
    runs,
    scale,
    replayed,
    ...judge(definition, options, runs, events, scale, replayed),
    broken: brokenAssumptions({ definition, options, runs, messages, scale, replayed, begin }),
    merged: mergedTrace(first.header, events, messages, replayed.views),
    lengthMs: msOf((events.at(-1)?.at ?? begin) - begin),
  }
}

export function exitCodeOf({ replayed, specs }: Recorded): number {
  if (replayed.difference !== null) return EXIT.failure
  if (replayed.failures.some(({ isFatal }) => isFatal)) return EXIT.violated
  return specs.some(({ verdict }) => verdict === 'violated') ? EXIT.violated : EXIT.ok
}

export function writeMerged({ merged }: Recorded, file: string): void {
  writeFileSync(file, writeTrace(merged))
}

/** Summarizes the analysis in one or two sentences. */
export function describeVerdict({ replayed, specs, broken }: Recorded): string {
  if (replayed.difference !== null)
    return 'the code does not reproduce the recorded effects, so nothing can be concluded: another version wrote these traces, or they are damaged'
  const failure = replayed.failures.find(({ isFatal }) => isFatal)
  if (failure !== undefined)
    return `node ${failure.node} failed: ${failure.error}; that is a bug, please report it with these traces`
  const violated = specs.filter(({ verdict }) => verdict === 'violated').map(({ name }) => name)
  const unsafe = broken.filter(({ touches }) => touches === 'safety')
  const causes = unsafe.map(({ text }) => text).join('; ')
  if (violated.length === 0) {
    const stored = 'no specification was violated'
    if (unsafe.length > 0) return `${stored}, although an assumption for safety did not hold: ${causes}`
    return broken.length === 0
      ? stored
      : `${stored}; the assumptions that did not hold can only delay an election, not cause two leaders`
  }
  const what = `${violated.join(', ')} ${violated.length === 1 ? 'was' : 'were'} violated`
  if (unsafe.length > 0) return `${what} because an assumption did not hold: ${causes}`
  return `${what}, and all assumptions held: this is a bug; please report it with these traces`
}

export function printRecorded(recorded: Recorded): void {
  const { runs, scale, replayed, specs, leaderships, broken, lengthMs } = recorded
  const group = runs[0]?.recording.group ?? ''
  const named = new Set(runs.map(({ node }) => node))
  const missing = (runs[0]?.header.nodes ?? []).filter((node) => !named.has(node))
  print(
    `${plural(runs.length, 'run')} of ${[...named].join(', ')} in ${group}, ${(lengthMs / 1000).toFixed(1)} s${missing.length === 0 ? '' : `; no trace of ${missing.join(', ')}`}`,
  )
  print(formatTable(runs.map(formatRunRow)))
  print(describeTimeScale(scale))
  const { difference } = replayed
  for (const { file, line, node, error, isFatal } of replayed.failures)
    print(
      `${file}: line ${line}: node ${node} ${isFatal ? 'fails and stops' : 'drops a message'} at this step: ${error}`,
    )
  if (difference === null) print(`${count(replayed.steps)} steps replayed: all effects are identical`)
  else if (difference.errors !== undefined) print(failureText(difference.file, difference.line, difference))
  else {
    print(`${difference.file}: line ${difference.line}: node ${difference.node} responds differently now`)
    print(`  recorded ${JSON.stringify(difference.recorded)}`)
    print(`  replayed ${JSON.stringify(difference.replayed)}`)
  }
  print('')
  print('led:')
  print(leaderships.length === 0 ? '  no node' : formatTable(leaderships.map(formatTermRow)))
  print('')
  print('specifications:')
  print(formatTable(specs.map(formatSpecRow)))
  print('')
  print('assumptions that did not hold:')
  print(
    broken.length === 0
      ? '  none'
      : broken.map(({ touches, text }) => `  ${touches}: ${text}`).join(NEW_LINE),
  )
  const code = exitCodeOf(recorded)
  print('')
  print(paint(code === EXIT.ok ? 'green' : 'red', `verdict: ${describeVerdict(recorded)}`))
}

/** A step that failed when it was recorded, and does not fail, or fails otherwise, now. */
function failureText(file: string, line: number, { node, errors }: Difference): string {
  const now = errors?.replayed === null ? 'it succeeds now' : `it fails differently now: ${errors?.replayed}`
  return `${file}: line ${line}: node ${node} failed at this step (${errors?.recorded}); ${now}`
}

export function printRecordedJson(recorded: Recorded): void {
  const { runs, scale, replayed, specs, leaderships, broken, lengthMs } = recorded
  printJson({
    runs: runs.map(({ node, recording, steps, skipped }) => ({
      node,
      run: recording.run,
      steps: steps.length,
      skipped,
    })),
    lengthMs,
    clocks: { by: scale.by, errorMs: scale.error === null ? null : msOf(scale.error) },
    steps: replayed.steps,
    identical: replayed.difference === null,
    difference: replayed.difference,
    failures: replayed.failures,
    leaderships,
    specs,
    broken,
    verdict: describeVerdict(recorded),
  })
}

function formatRunRow({ node, recording, steps, skipped }: Run): readonly string[] {
  const begins = skipped === 0 ? 'from its start' : `the first ${count(skipped)} steps are not kept`
  return [`  ${node}`, `run ${recording.run}`, plural(steps.length, 'step'), begins]
}

function describeTimeScale({ by, error }: Scale): string {
  if (by === 'one clock') return 'time: all nodes share one clock'
  if (error === null)
    return 'time: the traces do not bound the difference between the clocks, so leases cannot be compared; give the maximum difference between wall clocks with --clock-error-ms'
  const how = by === 'messages' ? 'from messages' : 'from wall clocks (--clock-error-ms) and messages'
  return `time: ${how}, with an error of at most ${msOf(error).toFixed(3)} ms; a shorter overlap of leases is not detected`
}

function formatTermRow({ node, token, fromMs, untilMs, cause, ended }: Recorded['leaderships'][number]) {
  const until = untilMs === null ? 'no end' : `${untilMs.toFixed(1)} ms`
  return [
    `  ${node}`,
    token === null ? '' : `token ${token}`,
    `${fromMs.toFixed(1)} ms to ${until}`,
    cause,
    ended ?? 'not ended',
  ]
}

function formatSpecRow(spec: Recorded['specs'][number]): readonly string[] {
  if (spec.verdict === 'violated')
    return [`  ${spec.name}`, 'VIOLATED', `at ${spec.atMs.toFixed(1)} ms: ${spec.why}`]
  if (spec.verdict === 'held') return [`  ${spec.name}`, 'held', `judged ${count(spec.judged)} times`]
  return [`  ${spec.name}`, 'not judged', spec.why.replace(/^(never|not) judged: /, '')]
}
