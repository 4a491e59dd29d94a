/** Formats the report of an exploration, and the steps of its counterexample. */
import { count, plural } from '../../core/text.ts'
import type { ExploreReport } from '../../workbench/explore/index.ts'
import type { ScheduleStep } from '../../workbench/sim/index.ts'
import { formatTable, NEW_LINE, paint } from '../output.ts'
import { formatVerdicts } from '../sim/text.ts'

export function formatExploreReport(report: ExploreReport): string {
  const { counterexample, progress } = report
  const memory = report.bytesPerState * report.states
  const ended = report.complete
    ? 'complete: all states within the bounds were visited'
    : `NOT complete: stopped by ${report.cutShort === 'stopped' ? 'an interruption' : report.cutShort}`
  return [
    formatTable([
      ['states', count(report.states)],
      ['transitions', count(report.transitions)],
      ['depth', count(report.depth)],
      ['search', ended],
      ['time', `${report.seconds.toFixed(2)} s, ${count(report.statesPerSecond)} states/s`],
      ['memory', `${(memory / 1e6).toFixed(1)} MB, ${report.bytesPerState.toFixed(1)} bytes per state`],
      ['reuse', `${count(report.reuse)} transitions per run of protocol code`],
    ]),
    '',
    formatVerdicts(report.specs, (steps) => `after ${plural(steps, 'step')}`),
    `progress     ${progress.verdict}${'why' in progress ? `: ${progress.why}` : ''}`,
    formatTable(
      report.goals.map(({ name, reached }) => [`goal ${name}`, reached ? 'reached' : 'NOT reached']),
    ),
    ...(counterexample === null
      ? []
      : [
          '',
          paint(
            'red',
            `${counterexample.spec} is violated in ${plural(counterexample.steps.length, 'step')}:`,
          ),
          ...counterexample.steps.map(
            (step, index) => `  ${String(index + 1).padStart(3)}  ${describeStep(step)}`,
          ),
          `  ${counterexample.why}`,
          '',
          'to replay it, save this as FILE and run "conclave sim FILE --transcript":',
          JSON.stringify(counterexample.scenario),
        ]),
  ].join(NEW_LINE)
}

/** A read can return one of several values while a write is in progress. */
function describeChoice(nth: number | undefined): string {
  return nth === undefined || nth === 0 ? '' : ` (possible value number ${nth + 1})`
}

function describeLate(late: true | undefined): string {
  return late === undefined ? '' : ', crashes, and the write takes effect later'
}

export function describeStep(step: ScheduleStep): string {
  const cut = 'crashAfter' in step ? `, and crashes after ${step.crashAfter} of its effects` : ''
  switch (step.do) {
    case 'deliver':
      return `${step.node} receives the ${step.nth === undefined ? 'next message' : `message number ${step.nth + 1}`} from ${step.from}${cut}`
    case 'timer':
      return `${step.node}: timer ${step.name} fires${cut}`
    case 'command':
      return `${step.node} receives the command ${JSON.stringify(step.command)}${cut}`
    case 'crash':
      return `${step.node} crashes`
    case 'recover':
      return `${step.node} recovers${cut}`
    case 'reincarnate':
      return `${step.node} restarts and reads its own register${describeChoice(step.nth)}${cut}`
    case 'tickDisk':
      return `${step.node} writes the next epoch${step.to === undefined ? '' : `, ${step.to},`} to its register${describeLate(step.late)}`
    case 'tickMem':
      return `${step.node}: its write is acknowledged`
    case 'write':
      return `${step.node} writes its register${describeLate(step.late)}`
    case 'read':
      return `${step.node} reads the register of ${step.of}${describeChoice(step.nth)}`
    case 'land':
      return `the late write of ${step.node} takes effect`
    case 'examine':
      return `another node reads the register of ${step.node}, to remove it`
    case 'bury':
      return `and it writes a tombstone there${describeChoice(step.nth)}`
    case 'delete':
      return `the register of ${step.node} is deleted`
    case 'cut':
      return `the link between ${step.node} and ${step.peer} is cut`
    case 'heal':
      return `the link between ${step.node} and ${step.peer} is healed`
    case 'flip':
      return `${step.node} sees its link to ${step.peer} change${cut}`
    case 'follow':
      return `${step.node} sees the change of its link that ${step.peer} has already seen${cut}`
    case 'tick':
      return 'the clock ticks'
    default:
      return step satisfies never
  }
}
