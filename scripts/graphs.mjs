// Simulates local-leader in majority mode with partial connectivity, and writes the tables of
// docs/explanation/graphs.md: `npm run docs:graphs`. With --check it writes nothing and fails on a difference; with
// --try it measures little and writes nothing.
import { catalogue } from '../dist/protocols/index.js'
import { parseScenario, runScenario } from '../dist/workbench/sim/index.js'
import { isTry, publish } from './generated-page.mjs'

const SEEDS = isTry ? 1 : 3
const CHANGE_MS = 1000
const UNTIL_MS = 4000
const PAGE = new URL('../docs/explanation/graphs.md', import.meta.url)

const definition = catalogue.find('local-leader')
const ids = (count) => Array.from({ length: count }, (_, index) => index + 1)
const permutations = (list) =>
  list.length <= 1
    ? [list]
    : list.flatMap((first, at) => permutations(list.toSpliced(at, 1)).map((rest) => [first, ...rest]))
const cycle = (nodes) => nodes.map((node, at) => [node, nodes[(at + 1) % nodes.length]])
const path = (nodes) => cycle(nodes).slice(0, -1)
const star = (centre, leaves) => leaves.map((leaf) => [centre, leaf])
const others = (count, ...left) => ids(count).filter((id) => !left.includes(id))
const named = (links) =>
  links
    .map(([a, b]) => (a < b ? `${a}-${b}` : `${b}-${a}`))
    .sort()
    .join()
/** Each graph once, however many ways there are to write it. */
const distinct = (graphs) => [...new Map(graphs.map((links) => [named(links), links])).values()]

const all5 = permutations(ids(5))
const FAMILIES = [
  ['star, around any of five', 5, ids(5).map((centre) => star(centre, others(5, centre)))],
  ['path of five', 5, distinct(all5.map(path))],
  ['ring of five', 5, distinct(all5.map(cycle))],
  [
    'bow-tie of five: two triangles with one node in common',
    5,
    distinct(all5.map(([a, b, c, d, e]) => [...cycle([a, b, c]), ...cycle([a, d, e])])),
  ],
  // The leader that runs before the change is node 1.
  [
    'Omni-Paxos, quorum loss: one node that does not lead keeps all links, the others keep that one',
    5,
    others(5, 1).map((hub) => star(hub, others(5, hub))),
  ],
  [
    'Omni-Paxos, constrained: the leader is cut off; one of the others keeps its links, the rest keep that one',
    5,
    others(5, 1).map((hub) => star(hub, others(5, hub, 1))),
  ],
  [
    'Omni-Paxos, chained: the leader of three loses one follower, which the other one still reaches',
    3,
    [path([1, 2, 3]), path([1, 3, 2])],
  ],
]

function run(count, links, isCold, seed) {
  const file = {
    protocol: 'local-leader',
    nodes: ids(count),
    seed,
    network: { delayMs: [0.1, 2] },
    clocks: { driftPpm: 50 },
    events: [{ atMs: isCold ? 0 : CHANGE_MS, links }],
    untilMs: UNTIL_MS,
  }
  const { leaders, leaderships, specs } = runScenario(definition, parseScenario(file, catalogue), {})
  const violated = specs.filter(({ verdict }) => verdict === 'violated')
  if (violated.length > 0) throw new Error(`${JSON.stringify(file)}: ${JSON.stringify(violated)}`)
  const last = leaderships.at(-1)
  if (leaders.length !== 1 || last === undefined) throw new Error(`${JSON.stringify(file)}: no leader`)
  const since = isCold ? 0 : CHANGE_MS
  // A leader at the change does not count if its term ends after it.
  const fresh = leaderships.filter(({ fromMs }) => fromMs > since)
  const firstMs = Math.max(0, (fresh[0] ?? last).fromMs - since)
  return { firstMs, ms: Math.max(0, last.fromMs - since), terms: fresh.length }
}

function measured(count, graphs, isCold) {
  const runs = graphs.flatMap((links) => ids(SEEDS).map((seed) => run(count, links, isCold, seed)))
  const times = runs.map(({ ms }) => ms).sort((a, b) => a - b)
  const first = Math.max(...runs.map(({ firstMs }) => firstMs))
  const stays = times.filter((ms) => ms === 0).length
  return {
    runs: runs.length,
    stays,
    first,
    median: times[Math.floor(times.length / 2)],
    most: times.at(-1),
    terms: Math.max(...runs.map(({ terms }) => terms)),
  }
}

function table(head, rows) {
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((texts) => texts[at].length)))
  const line = (texts) =>
    `| ${texts.map((text, at) => (at === 0 ? text.padEnd(widths[at]) : text.padStart(widths[at]))).join(' | ')} |`
  const rule = `| ${widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

const shown = (ms) => ms.toFixed(0)

function rowsOf(isCold) {
  return (isTry ? FAMILIES.slice(-1) : FAMILIES).map(([name, count, graphs]) => {
    const { runs, stays, first, median, most, terms } = measured(count, graphs, isCold)
    const start = isCold ? [] : [`${((100 * stays) / runs).toFixed(0)} %`]
    const times = [first, median, most].map(shown)
    return [name, String(graphs.length), String(runs), ...start, ...times, String(terms)]
  })
}

const within = definition.constants(definition.options(ids(5)).parse({}), 5).leadsWithin
const columns = ['some leader, max', 'lasting leader, median', 'max', 'terms, max']

const content = [
  `With these constants \`majority-leads\` allows ${(within / 1000).toFixed(0)} ms.`,
  '',
  '**From a running leader**, in ms after the change',
  '',
  table(['network', 'graphs', 'runs', 'leader stays', ...columns], rowsOf(false)),
  '',
  '**From a cold start**, in ms after the start',
  '',
  table(['network', 'graphs', 'runs', ...columns], rowsOf(true)),
].join('\n')

publish({
  page: PAGE,
  begin: '<!-- measured: npm run docs:graphs -->',
  end: '<!-- end -->',
  content,
  command: 'npm run docs:graphs',
})
