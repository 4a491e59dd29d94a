// Measures failover and handover of local-leader in the simulator, for the three profiles in both modes, and writes
// the tables of docs/explanation/failover.md and the plot docs/pictures/failover.svg: `npm run docs:failover`; with
// --check it writes nothing and fails on a difference; with --try it measures little and writes nothing.

import { runTrials } from '../dist/cli/parallel/trials.js'
import { readPlan } from '../dist/cli/plan/config.js'
import { guaranteesOf } from '../dist/protocols/local-leader/guarantees.js'
import { quantile } from '../dist/workbench/trace/index.js'
import { isTry, publish } from './generated-page.mjs'

const SEEDS = isTry ? 2 : 1000
const PAGE = new URL('../docs/explanation/failover.md', import.meta.url)
const PLOT = new URL('../docs/pictures/failover.svg', import.meta.url)
const BEGIN = '<!-- measured: npm run docs:failover -->'
const END = '<!-- end -->'

const PROFILES = ['lan', 'region', 'wan']
const MODES = ['majority', 'local']
const TRIALS = ['crash', 'crash-late', 'hand-over', 'hand-over-late']

async function measured(profile, mode) {
  const plan = readPlan({ nodes: '5', profile, mode, timing: 'fixed', option: [], seeds: String(SEEDS) }, {})
  const guarantees = guaranteesOf(plan.options, plan.asked.nodes)
  const trials = plan.planning.describe(plan).trials.slice(0, TRIALS.length)
  if (trials.map(({ name }) => name).join() !== TRIALS.join()) throw new Error('the trials have changed')
  const [crash, crashLate, handOver, handOverLate] = await runTrials(
    { protocol: plan.definition.name, asked: plan.asked, options: plan.options },
    trials,
    1,
  )
  return { profile, mode, guarantees, crash, crashLate, handOver, handOverLate }
}

const cells = await Promise.all(PROFILES.flatMap((profile) => MODES.map((mode) => measured(profile, mode))))

function shown(micros) {
  const ms = micros / 1000
  return ms >= 100 ? Math.round(ms).toLocaleString('en-US') : ms.toFixed(1)
}

function row(title, { profile, mode }, expected, punctual, late) {
  const exceeds = Math.max(punctual.max, late.max) > expected.worst || punctual.censored + late.censored > 0
  if (exceeds) throw new Error(`${profile} ${mode}: ${title} exceeds what was computed`)
  return [
    profile,
    mode,
    shown(expected.typical),
    shown(punctual.sum / punctual.count),
    shown(quantile(punctual, 0.99)),
    shown(punctual.max),
    shown(late.sum / late.count),
    shown(quantile(late, 0.99)),
    shown(late.max),
    shown(expected.worst),
  ]
}

function table(title, rows) {
  const head = [
    'profile',
    'mode',
    'typical, computed',
    'mean',
    'p99',
    'max',
    'mean, late',
    'p99, late',
    'max, late',
    'worst, computed',
  ]
  const widths = head.map((name, at) => Math.max(name.length, ...rows.map((texts) => texts[at].length)))
  const line = (texts) =>
    `| ${texts.map((text, at) => (at < 2 ? text.padEnd(widths[at]) : text.padStart(widths[at]))).join(' | ')} |`
  const rule = `| ${widths.map((width, at) => (at < 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [`**${title}**`, '', line(head), rule, ...rows.map(line)].join('\n')
}

function tables() {
  return [
    table(
      'Failover, ms: from the crash of the leader to the next leader',
      cells.map((cell) =>
        row('failover', cell, cell.guarantees.failOver, cell.crash.restored, cell.crashLate.restored),
      ),
    ),
    table(
      'Handover, ms: from the end of one term to the start of the next, when a leader steps down',
      cells.map((cell) =>
        row('handover', cell, cell.guarantees.handOver, cell.handOver.restored, cell.handOverLate.restored),
      ),
    ),
  ].join('\n\n')
}

const WIDTH = 800
const LEFT = 100
const RIGHT = 780
const HIGH = 34
const ROW = 52
const PANEL = 2 * ROW + 58
const TOP = 58
const BINS = 120

/** End of an axis in ms, and grid distance. */
const AXES = { lan: [450, 50], region: [1200, 200], wan: [8000, 1000] }

/** One panel per profile, with one histogram per mode, its mean, and a line at the computed worst case. */
function plot() {
  const text = (x, y, anchor, words, kind = 't') =>
    `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`
  const descriptions = cells.map(
    ({ profile, mode, crash, guarantees }) =>
      `${profile} ${mode}: ${shown(crash.restored.sum / crash.restored.count)} ms on average, ${shown(crash.restored.max)} at most, never more than ${shown(guarantees.failOver.worst)}`,
  )
  const panels = PROFILES.flatMap((profile, index) => {
    const top = TOP + index * PANEL
    const [most, step] = AXES[profile]
    const x = (ms) => LEFT + (ms / most) * (RIGHT - LEFT)
    const bottom = top + 2 * ROW
    const grid = Array.from({ length: Math.floor(most / step) + 1 }, (_, tick) => tick * step).flatMap(
      (ms) => [
        `<line class="g" x1="${x(ms).toFixed(1)}" x2="${x(ms).toFixed(1)}" y1="${top}" y2="${bottom}"/>`,
        text(x(ms).toFixed(1), bottom + 15, 'middle', ms.toLocaleString('en-US'), 's'),
      ],
    )
    const rows = cells
      .filter((cell) => cell.profile === profile)
      .flatMap(({ mode, crash, guarantees }, place) => {
        const base = top + (place + 1) * ROW - 6
        const { restored } = crash
        const bins = Array.from({ length: BINS }, () => 0)
        for (const [micros, count] of Object.entries(restored.buckets)) {
          const bin = Math.min(BINS - 1, Math.floor((Number(micros) / 1000 / most) * BINS))
          bins[bin] += count
        }
        const tallest = Math.max(...bins)
        const bars = bins.flatMap((count, bin) => {
          if (count === 0) return []
          const high = (count / tallest) * HIGH
          const wide = (RIGHT - LEFT) / BINS
          return [
            `<rect class="${mode === 'majority' ? 'a' : 'b'}" x="${(LEFT + bin * wide).toFixed(1)}" y="${(base - high).toFixed(1)}" width="${(wide - 0.6).toFixed(1)}" height="${high.toFixed(1)}"/>`,
          ]
        })
        const mean = x(restored.sum / restored.count / 1000).toFixed(1)
        const worst = x(guarantees.failOver.worst / 1000).toFixed(1)
        return [
          text(LEFT - 10, base - 8, 'end', mode),
          `<line class="base" x1="${LEFT}" x2="${RIGHT}" y1="${base}" y2="${base}"/>`,
          ...bars,
          `<circle class="m" cx="${mean}" cy="${base}" r="3.5"/>`,
          `<line class="w" x1="${worst}" x2="${worst}" y1="${base - HIGH}" y2="${base + 4}"/>`,
        ]
      })
    return [text(LEFT - 10, top + 4, 'end', profile, 'h'), ...grid, ...rows]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${TOP + PROFILES.length * PANEL - 14}" role="img" aria-labelledby="title desc">`,
    '<title id="title">Failover of local-leader with five voters, by profile and mode</title>',
    `<desc id="desc">${descriptions.join('; ')}.</desc>`,
    '<style>',
    '  text { font: 13px system-ui, sans-serif; } .s { font-size: 11px; } .h { font-weight: 600; }',
    '  .t, .h { fill: #1f2328; } .s { fill: #59636e; } .g { stroke: #d1d9e0; } .base { stroke: #59636e; }',
    '  .a { fill: #0969da; } .b { fill: #bc4c00; } .m { fill: #1f2328; } .w { stroke: #1f2328; stroke-width: 2; stroke-dasharray: 4 3; }',
    '  @media (prefers-color-scheme: dark) {',
    '    .t, .h { fill: #f0f6fc; } .s { fill: #9198a1; } .g { stroke: #3d444d; } .base { stroke: #9198a1; }',
    '    .a { fill: #4493f8; } .b { fill: #f0883e; } .m { fill: #f0f6fc; } .w { stroke: #f0f6fc; }',
    '  }',
    '</style>',
    text(LEFT, 20, 'start', 'From the crash of the leader to the next leader, ms', 'h'),
    text(
      LEFT,
      38,
      'start',
      `${SEEDS.toLocaleString('en-US')} crashes each; dot: mean; dashed line: the computed worst case`,
      's',
    ),
    ...panels,
    '</svg>',
    '',
  ].join('\n')
}

publish({
  page: PAGE,
  begin: BEGIN,
  end: END,
  content: tables(),
  picture: PLOT,
  drawn: plot(),
  command: 'npm run docs:failover',
})
