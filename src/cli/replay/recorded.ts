/** A real run out of the traces of its processes: replayed, put on one time scale, judged, and told in words. */
import { writeFileSync } from 'node:fs'
import { type Definition, msOf } from '../../core/index.ts'
import { count, plural } from '../../core/text.ts'
import { type Broken, brokenAssumptions } from '../../workbench/forensics/assumptions.ts'
import {
  eventsOf,
  mergedTrace,
  postOf,
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

export function understand(
  files: readonly TraceFile[],
  definition: Definition,
  clockErrorMs: number | null,
): Recorded {
  const runs = runsOf(files)
  const [first] = runs
  if (first === undefined) throw new InvalidTraceError('there is no trace')
  const stranger = runs.find(({ recording }) => recording.group !== first.recording.group)
  if (stranger !== undefined)
    throw new InvalidTraceError(
      `these are traces of two groups, ${first.recording.group} and ${stranger.recording.group}: replay each by itself`,
    )
  const options = checkedOptions(definition, first, first.steps[0]?.file ?? '')
  const replayed = replayRuns(runs, definition)
  const post = postOf(runs)
  const { rhoPpm = 0 } = definition.constants(options, first.header.nodes.length)
  const wallError = clockErrorMs === null ? null : Math.round(clockErrorMs * 1000)
  const scale = scaleOf(runs, post.letters, { rho: rhoPpm / 1_000_000, wallError })
  const events = eventsOf(runs, scale, post)
  const begin = events[0]?.at ?? 0
  return {
    runs,
    scale,
    replayed,
    ...judge(definition, options, runs, events, scale, replayed),
    broken: brokenAssumptions({ definition, options, runs, post, scale, replayed, begin }),
    merged: mergedTrace(first.header, events, post, replayed.views),
    lengthMs: msOf((events.at(-1)?.at ?? begin) - begin),
  }
}

export function codeOf({ replayed, specs }: Recorded): number {
  if (replayed.difference !== null) return EXIT.failure
  if (replayed.failures.some(({ isFatal }) => isFatal)) return EXIT.violated
  return specs.some(({ verdict }) => verdict === 'violated') ? EXIT.violated : EXIT.ok
}

export function writeMerged({ merged }: Recorded, file: string): void {
  writeFileSync(file, writeTrace(merged))
}

/** The whole in one or two sentences. */
export function verdictOf({ replayed, specs, broken }: Recorded): string {
  if (replayed.difference !== null)
    return 'the code answers differently from what is recorded: another version wrote these traces, or they are damaged; nothing else can be concluded'
  const failure = replayed.failures.find(({ isFatal }) => isFatal)
  if (failure !== undefined)
    return `node ${failure.node} failed: ${failure.error}; that is a bug, please report it with these traces`
  const violated = specs.filter(({ verdict }) => verdict === 'violated').map(({ name }) => name)
  const unsafe = broken.filter(({ touches }) => touches === 'safety')
  const because = unsafe.map(({ text }) => text).join('; ')
  if (violated.length === 0) {
    const kept = 'every promise that could be judged was kept'
    if (unsafe.length > 0) return `${kept}, although what it rests on was broken: ${because}`
    return broken.length === 0
      ? kept
      : `${kept}; what was not as assumed can only cost a leader, never make two`
  }
  const what = `${violated.join(', ')} ${violated.length === 1 ? 'was' : 'were'} broken`
  if (unsafe.length > 0)
    return `${what}, because what ${violated.length === 1 ? 'it rests' : 'they rest'} on was broken: ${because}`
  return `${what}, and no broken assumption explains it: that is a bug, please report it with these traces`
}

export function printRecorded(recorded: Recorded): void {
  const { runs, scale, replayed, specs, leaderships, broken, lengthMs } = recorded
  const group = runs[0]?.recording.group ?? ''
  const named = new Set(runs.map(({ node }) => node))
  const missing = (runs[0]?.header.nodes ?? []).filter((node) => !named.has(node))
  print(
    `${plural(runs.length, 'run')} of ${[...named].join(', ')} in ${group}, ${(lengthMs / 1000).toFixed(1)} s${missing.length === 0 ? '' : `; no trace of ${missing.join(', ')}`}`,
  )
  print(formatTable(runs.map(runRow)))
  print(scaleText(scale))
  const { difference } = replayed
  for (const { file, line, node, error, isFatal } of replayed.failures)
    print(
      `${file}: line ${line}: node ${node} ${isFatal ? 'fails and stops' : 'drops a message'} at this step: ${error}`,
    )
  if (difference === null) print(`${count(replayed.steps)} steps replayed: all effects are identical`)
  else if (difference.errors !== undefined) print(failureText(difference.file, difference.line, difference))
  else {
    print(`${difference.file}: line ${difference.line}: node ${difference.node} answers differently now`)
    print(`  recorded ${JSON.stringify(difference.recorded)}`)
    print(`  replayed ${JSON.stringify(difference.replayed)}`)
  }
  print('')
  print('led:')
  print(leaderships.length === 0 ? '  nobody' : formatTable(leaderships.map(leadershipRow)))
  print('')
  print('promises:')
  print(formatTable(specs.map(specRow)))
  print('')
  print('what was not as assumed:')
  print(
    broken.length === 0
      ? '  nothing'
      : broken.map(({ touches, text }) => `  ${touches}: ${text}`).join(NEW_LINE),
  )
  const code = codeOf(recorded)
  print('')
  print(paint(code === EXIT.ok ? 'green' : 'red', `verdict: ${verdictOf(recorded)}`))
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
    verdict: verdictOf(recorded),
  })
}

function runRow({ node, recording, steps, skipped }: Run): readonly string[] {
  const begins = skipped === 0 ? 'from its start' : `${count(skipped)} steps before are not kept`
  return [`  ${node}`, `run ${recording.run}`, plural(steps.length, 'step'), begins]
}

function scaleText({ by, error }: Scale): string {
  if (by === 'one clock') return 'time: all read one clock'
  if (error === null)
    return 'time: nothing bounds how the clocks stand to each other, so leases cannot be compared; say how far wall clocks are apart at most with --clock-error-ms'
  const how = by === 'messages' ? 'found from messages' : 'from wall clocks, as told, and messages'
  return `time: ${how}, exact to ${msOf(error).toFixed(3)} ms; a shorter overlap of leases would not be seen`
}

function leadershipRow({ node, token, fromMs, untilMs, cause, ended }: Recorded['leaderships'][number]) {
  const until = untilMs === null ? 'no end' : `${untilMs.toFixed(1)} ms`
  return [
    `  ${node}`,
    token === null ? '' : `token ${token}`,
    `${fromMs.toFixed(1)} ms to ${until}`,
    cause,
    ended ?? 'not ended',
  ]
}

function specRow(spec: Recorded['specs'][number]): readonly string[] {
  if (spec.verdict === 'violated')
    return [`  ${spec.name}`, 'VIOLATED', `at ${spec.atMs.toFixed(1)} ms: ${spec.why}`]
  if (spec.verdict === 'held') return [`  ${spec.name}`, 'held', `judged ${count(spec.judged)} times`]
  return [`  ${spec.name}`, 'not judged', spec.why.replace(/^(never|not) judged: /, '')]
}
