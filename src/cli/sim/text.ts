/** Formats the report of a simulation, and verdicts. */
import { count } from '../../core/text.ts'
import type { Report } from '../../workbench/sim/index.ts'
import type { SpecVerdict } from '../../workbench/specs/index.ts'
import { idleness } from '../../workbench/trace/index.ts'
import { formatTable, formatTimes, NEW_LINE, paint } from '../output.ts'

export function formatReport(report: Report): string {
  const nodes = Object.entries(report.nodes).map(([id, node]) => [
    id,
    formatRole(node),
    String(node.leader ?? '-'),
    node['token'] === null ? '-' : JSON.stringify(node['token']),
  ])
  const { messages, linkMessages } = report
  const kinds = Object.entries(messages.byKind).map(([kind, sent]) => `${kind} ${count(sent)}`)
  return [
    `${report.protocol}, seed ${report.seed}: ${report.endedAtMs} ms of virtual time, ${count(report.steps)} steps`,
    '',
    formatTable([['node', 'role', 'leader', 'token'], ...nodes]),
    '',
    `messages  ${count(messages.total)}${kinds.length === 0 ? '' : ` (${kinds.join(', ')})`}`,
    ...(linkMessages.total === 0 ? [] : [`layers    ${count(linkMessages.total)} messages`]),
    ...report.leaderships.map(
      ({ node, fromMs, untilMs, ended }) =>
        `led       ${node} from ${fromMs} ms ${ended === null ? 'on' : `until ${untilMs} ms (${ended})`}`,
    ),
    '',
    formatVerdicts(report.specs, (atMs) => `at ${atMs} ms`),
  ].join(NEW_LINE)
}

function formatRole(node: Report['nodes'][string]): string {
  const idle = node.role === 'leader' ? idleness(node) : null
  return idle === null ? node.role : `leader of a view, ${idle}`
}

/** One line per specification. `formatWhen` formats the moment of a violation. */
export function formatVerdicts(specs: readonly SpecVerdict[], formatWhen: (at: number) => string): string {
  return formatTable(
    specs.map((spec) => {
      switch (spec.verdict) {
        case 'held':
          return [spec.name, `${paint('green', 'held')} (judged ${formatTimes(spec.judged)})`]
        case 'vacuous':
          return [spec.name, `${paint('yellow', 'vacuous')}: ${spec.why}`]
        case 'violated':
          return [spec.name, `${paint('red', 'VIOLATED')} ${formatWhen(spec.atMs)}: ${spec.why}`]
        default:
          return spec satisfies never
      }
    }),
  )
}
