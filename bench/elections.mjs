// Local-leader: what one renewal costs, by the number of voters; from 100 on answers are gathered along a tree.
import { protocolNamed } from '../dist/protocols/index.js'
import { parseScenario, runScenario } from '../dist/workbench/sim/index.js'

const SIZES = [5, 10, 50, 100, 200, 400, 1000]
const SETTLED_MS = 400
const MEASURED_MS = 400

export function printElections() {
  const definition = protocolNamed('local-leader')
  console.log(
    'local-leader, majority, lan: a renewal (Election and Reply), and all datagrams and steps meanwhile',
  )
  for (const n of SIZES) {
    const run = (untilMs) =>
      runScenario(
        definition,
        parseScenario(
          {
            protocol: 'local-leader',
            nodes: Array.from({ length: n }, (_, index) => index + 1),
            options: { mode: 'majority' },
            untilMs,
          },
          { names: ['local-leader'], find: () => definition },
        ),
      )
    const [before, after] = [run(SETTLED_MS), run(SETTLED_MS + MEASURED_MS)]
    const renewals = Math.round((after.messages.byKind.Election - before.messages.byKind.Election) / (n - 1))
    const each = (count) => (count / renewals).toFixed(0).padStart(8)
    const messages = after.messages.total - before.messages.total
    const links = after.linkMessages.total - before.linkMessages.total
    const steps = after.steps - before.steps
    console.log(
      `n=${String(n).padEnd(5)} messages ${each(messages)} (${(messages / renewals / n).toFixed(2)} n)` +
        `  datagrams ${each(messages + links)}  steps ${each(steps)} (${(steps / renewals / n).toFixed(1)} n)`,
    )
  }
}
