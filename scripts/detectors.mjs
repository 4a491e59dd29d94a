// Measures the failure detectors in the simulator, all on the same seeds, and writes the table of
// docs/explanation/detectors.md and the plot docs/pictures/detectors.svg: `npm run docs:detectors`. With --check it
// writes nothing and fails on a difference; with --check --only NAME it compares the rows of one detector.
import { readFileSync } from 'node:fs'
import { measure, NETWORKS } from './detector-lab.mjs'
import { publish } from './generated-page.mjs'

const SEEDS = 20
const PAGE = new URL('../docs/explanation/detectors.md', import.meta.url)
const PLOT = new URL('../docs/pictures/detectors.svg', import.meta.url)
const BEGIN = '<!-- measured: npm run docs:detectors -->'
const END = '<!-- end -->'
const COMMAND = 'npm run docs:detectors'

// The cap is out of the way, so that what is seen is the formula.
const longestSilenceMs = 1000
const DETECTORS = {
  'fixed, 200 ms': { detector: 'fixed', suspectAfterMs: 200 },
  'nfd-e, alpha 150 ms': { detector: 'nfd-e', alphaMs: 150, longestSilenceMs },
  'bertier, no floor': { detector: 'bertier', marginFloorMs: 0, longestSilenceMs },
  'bertier, floor 25 ms': { detector: 'bertier', marginFloorMs: 25, longestSilenceMs },
  'phi 8, no floor': { detector: 'phi', sigmaFloorMs: 0, longestSilenceMs },
  'phi 8, floor 25 ms': { detector: 'phi', sigmaFloorMs: 25, longestSilenceMs },
  'reliable, 300 ms': { detector: 'reliable', minDelayMs: 1, maxDelayMs: 300 },
}

const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : null
const chosen = Object.entries(DETECTORS).filter(([name]) => only === null || name === only)
if (chosen.length === 0) throw new Error(`--only ${only}: use one of ${Object.keys(DETECTORS).join('; ')}`)

const rows = chosen.flatMap(([name, options]) =>
  Object.keys(NETWORKS).map((network) => ({
    name,
    network,
    qos: measure(options, NETWORKS[network], SEEDS),
  })),
)

function whole(value) {
  return value === null ? '-' : Math.round(value).toLocaleString('en-US')
}

function formatCells({ name, network, qos }) {
  return [
    name,
    network,
    whole(qos.detection.meanMs),
    whole(qos.detection.p99Ms),
    whole(qos.detection.maxMs),
    whole(qos.mistakesPerHour),
    whole(qos.mistakeRecurrence.meanMs),
    whole(qos.mistakeDuration.meanMs),
    qos.queryAccuracy.toFixed(4),
  ]
}

function table() {
  const head = [
    'detector',
    'network',
    'T_D mean',
    'T_D p99',
    'T_D max',
    'mistakes/h',
    'T_MR mean',
    'T_M mean',
    'P_A',
  ]
  const body = rows.map(formatCells)
  const widths = head.map((title, at) => Math.max(title.length, ...body.map((row) => row[at].length)))
  const line = (cells) =>
    `| ${cells.map((cell, at) => (at < 2 ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join(' | ')} |`
  const rule = `| ${widths.map((width, at) => (at < 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...body.map(line)].join('\n')
}

const ROW = 26
const LEFT = 160
const SPEED = { x: LEFT, width: 330, most: 800 }
const WRONG = { x: 540, width: 210, decades: 4 }

/** Two panels side by side, a row a detector: how fast (mean to longest T_D), and how often wrong (log scale). */
function plot() {
  const shown = rows.filter(({ network }) => network === 'rough')
  const top = 62
  const bottom = top + shown.length * ROW
  const speed = (ms) => (SPEED.x + (ms / SPEED.most) * SPEED.width).toFixed(1)
  const wrong = (rate) => (WRONG.x + (Math.log10(Math.max(rate, 1)) / WRONG.decades) * WRONG.width).toFixed(1)
  const text = (x, y, anchor, words, kind = 't') =>
    `<text class="${kind}" x="${x}" y="${y}" text-anchor="${anchor}">${words}</text>`
  const grid = (x, label) => [
    `<line class="g" x1="${x}" x2="${x}" y1="${top - 6}" y2="${bottom}"/>`,
    text(x, bottom + 16, 'middle', label, 's'),
  ]
  const descriptions = shown.map(
    ({ name, qos }) =>
      `${name}: ${whole(qos.detection.meanMs)} ms on average, ${whole(qos.detection.maxMs)} ms at most, ${whole(qos.mistakesPerHour)} mistakes an hour`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 ${bottom + 44}" role="img" aria-labelledby="title desc">`,
    '<title id="title">Failure detectors on a rough network: detection time and mistakes</title>',
    `<desc id="desc">${descriptions.join('; ')}.</desc>`,
    '<style>',
    '  text { font: 13px system-ui, sans-serif; } .s { font-size: 11px; } .h { font-weight: 600; }',
    '  .t, .h { fill: #1f2328; } .s { fill: #59636e; } .g { stroke: #d1d9e0; }',
    '  .a { stroke: #0969da; fill: #0969da; } .b { fill: #bc4c00; }',
    '  @media (prefers-color-scheme: dark) {',
    '    .t, .h { fill: #f0f6fc; } .s { fill: #9198a1; } .g { stroke: #3d444d; }',
    '    .a { stroke: #4493f8; fill: #4493f8; } .b { fill: #f0883e; }',
    '  }',
    '</style>',
    text(SPEED.x, 22, 'start', 'Detection time T_D, ms', 'h'),
    text(SPEED.x, 40, 'start', 'dot: mean, bar: longest', 's'),
    text(WRONG.x, 22, 'start', 'Mistakes an hour', 'h'),
    text(WRONG.x, 40, 'start', 'logarithmic', 's'),
    ...[0, 200, 400, 600, 800].flatMap((ms) => grid(speed(ms), ms)),
    ...[1, 10, 100, 1000, 10_000].flatMap((rate) => grid(wrong(rate), rate.toLocaleString('en-US'))),
    ...shown.flatMap(({ name, qos }, index) => {
      const y = top + index * ROW + 10
      const mean = speed(qos.detection.meanMs)
      const max = speed(qos.detection.maxMs)
      const rate = qos.mistakesPerHour
      return [
        text(LEFT - 12, y + 4, 'end', name),
        `<line class="a" stroke-width="3" x1="${mean}" x2="${max}" y1="${y}" y2="${y}"/>`,
        `<circle class="a" cx="${mean}" cy="${y}" r="5"/>`,
        rate === 0
          ? text(WRONG.x + 4, y + 4, 'start', 'none', 's')
          : `<rect class="b" x="${WRONG.x}" y="${y - 6}" width="${(wrong(rate) - WRONG.x).toFixed(1)}" height="12" rx="2"/>`,
      ]
    }),
    '</svg>',
    '',
  ].join('\n')
}

/** Compares the measured rows with those of the page. */
function checkRows() {
  const shown = readFileSync(PAGE, 'utf8').replaceAll(/ +/g, ' ').split('\n')
  const missing = rows
    .map((row) => `| ${formatCells(row).join(' | ')} |`)
    .filter((row) => !shown.includes(row))
  for (const row of missing)
    console.error(`${PAGE.pathname} is out of date, it has no row ${row}: ${COMMAND}`)
  process.exitCode = missing.length === 0 ? 0 : 1
}

if (only === null) {
  publish({
    page: PAGE,
    begin: BEGIN,
    end: END,
    content: table(),
    picture: PLOT,
    drawn: plot(),
    command: COMMAND,
  })
} else checkRows()
