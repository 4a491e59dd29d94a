// Draws docs/pictures/architecture.svg: npm run docs:architecture. The picture follows the reader's choice of light or
// dark, holds no script, and refers to nothing outside itself. With --check it compares and writes nothing.
import { readFileSync, writeFileSync } from 'node:fs'

const FILE = new URL('../docs/pictures/architecture.svg', import.meta.url)
const WIDTH = 960
const HEIGHT = 540

/** [x, y, width, height, class, title, lines below the title] */
const BOXES = [
  [20, 20, 290, 70, 'use', 'cli: run, agent, up, status', ['the command line']],
  [20, 110, 140, 80, 'service', 'agent, client', ['HTTP, events,', 'metrics, page']],
  [170, 110, 140, 80, 'service', 'supervise', ['guardian,', 'process groups']],
  [20, 210, 140, 70, 'service', 'node', ['the library:', 'join, lead, terms']],
  [170, 210, 140, 70, 'service', 'recovery', ['jobs that', 'survive nodes']],
  [20, 300, 290, 70, 'service', 'runtime', ['loop, UDP, clocks, storage, black box']],
  [20, 390, 140, 60, 'service', 'registers', ['store backends']],
  [170, 390, 140, 60, 'service', 'fencing', ['refuses old tokens']],

  [360, 110, 240, 100, 'core', 'protocols', ['local-leader, epochs, omega,', 'ring, bully, invitation, ...']],
  [360, 230, 240, 50, 'core', 'recovery', ['erasure codes, fault manager']],
  [360, 300, 240, 60, 'core', 'links', ['datagrams, links, detectors']],
  [360, 380, 240, 70, 'core', 'core', ['the contract: step(state, input,', 'now) -> { state, effects }']],

  [650, 20, 290, 70, 'use', 'cli: sim, explore, plan, replay', ['the command line']],
  [650, 110, 140, 80, 'bench', 'sim', ['timed world,', 'campaigns']],
  [800, 110, 140, 80, 'bench', 'explore', ['every', 'interleaving']],
  [650, 210, 140, 70, 'bench', 'guarantees', ['computed bounds,', 'simulated times']],
  [800, 210, 140, 70, 'bench', 'untimed', ['the world', 'without time']],
  [650, 300, 290, 70, 'bench', 'forensics', ['black boxes of real nodes -> verdict']],
  [650, 390, 140, 60, 'bench', 'specs', ['what is promised']],
  [800, 390, 140, 60, 'bench', 'trace', ['what happened']],
]

/** [x1, y1, x2, y2]: both halves execute the protocols. */
const ARROWS = [
  [310, 320, 354, 190],
  [650, 150, 606, 150],
  [650, 330, 606, 190],
]

const HEADINGS = [
  [165, 505, 'service', 'runs it for real'],
  [480, 505, 'pure code', 'the same in every world'],
  [795, 505, 'workbench', 'checks it'],
]

const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2933; text-anchor: middle }
  .title { font-weight: 600; font-size: 15px }
  .heading { font-weight: 600; font-size: 17px }
  rect { stroke-width: 1.5 }
  .use { fill: #eef1f4; stroke: #7b8794 }
  .service { fill: #e3f0fb; stroke: #2b6cb0 }
  .core { fill: #fdf3d8; stroke: #b7791f }
  .bench { fill: #e6f5ea; stroke: #2f855a }
  path { stroke: #52606d; stroke-width: 1.5; fill: none }
  .head { fill: #52606d; stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb }
    .use { fill: #2a323c; stroke: #9aa5b1 }
    .service { fill: #16324a; stroke: #63b3ed }
    .core { fill: #3f3215; stroke: #ecc94b }
    .bench { fill: #163826; stroke: #68d391 }
    path { stroke: #cbd2d9 }
    .head { fill: #cbd2d9 }
  }`

function box([x, y, width, height, kind, title, lines]) {
  const top = y + height / 2 - (lines.length * 17) / 2
  const texts = lines.map(
    (line, index) => `<text x="${x + width / 2}" y="${top + 22 + index * 17}">${escape(line)}</text>`,
  )
  return [
    `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>`,
    `<text class="title" x="${x + width / 2}" y="${top + 5}">${escape(title)}</text>`,
    ...texts,
  ].join('\n')
}

function arrow([x1, y1, x2, y2]) {
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI
  return [
    `<path d="M${x1} ${y1} L${x2} ${y2}"/>`,
    `<path class="head" d="M0 0 L-9 -4.5 L-9 4.5 Z" transform="translate(${x2} ${y2}) rotate(${angle.toFixed(1)})"/>`,
  ].join('\n')
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const drawn = `${[
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title desc">`,
  '<title id="title">The architecture of Conclave</title>',
  '<desc id="desc">In the middle the pure code: core, links, recovery and protocols. On the left the service half runs it: runtime, registers, fencing, node, recovery, agent, client, supervise and the command line. On the right the workbench checks the same code: sim, explore, untimed, guarantees, forensics, specs and trace. Black boxes of the runtime go to forensics.</desc>',
  `<style>${STYLE}\n</style>`,
  ...ARROWS.map(arrow),
  ...BOXES.map(box),
  ...HEADINGS.map(
    ([x, y, title, text]) =>
      `<text class="heading" x="${x}" y="${y - 18}">${title}</text>\n<text x="${x}" y="${y + 2}">${text}</text>`,
  ),
  '</svg>',
].join('\n')}\n`

if (process.argv.includes('--check')) {
  if (readFileSync(FILE, 'utf8') !== drawn) {
    console.error('docs/pictures/architecture.svg is out of date: npm run docs:architecture')
    process.exitCode = 1
  }
} else writeFileSync(FILE, drawn)
