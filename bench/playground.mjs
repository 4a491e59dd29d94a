// npm run bench -- playground [ROUNDS]: the playground's worker in Chromium beside Node, with the same scenarios and searches:
// steps a second (target: 70 % of Node's) and states a second (target: 60 %). And its size (target: 260 kB gzipped), and
// how long a fresh profile waits for the first picture (target: 1 s), and the frames of a crowded picture (target: 60/s).
/* oxlint-disable no-await-in-loop -- one measurement after the other */
import { createReadStream, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import { catalogue } from '../dist/protocols/index.js'
import { explore } from '../dist/workbench/explore/index.js'
import { checkedOptions, parseScenario, runScenario } from '../dist/workbench/sim/index.js'
import { TOOLS } from '../scripts/servers/tools.mjs'

const ROOT = fileURLToPath(new URL('../dist/playground/', import.meta.url))
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' }

const numbered = (count) => Array.from({ length: count }, (_, index) => index + 1)

const SCENARIOS = {
  'local-leader, 5 nodes': {
    scenario: { protocol: 'local-leader', nodes: numbered(5), untilMs: 20_000 },
    seeds: 6,
  },
  'bully, 20 nodes': { scenario: { protocol: 'bully', nodes: numbered(20), untilMs: 20_000 }, seeds: 2 },
}

const SEARCHES = {
  'bully, 3 nodes': { protocol: 'bully', crashes: 2, recoveries: 2, cuts: 0 },
  'invitation, 3 nodes': { protocol: 'invitation', crashes: 1, recoveries: 1, cuts: 0 },
}
const STATES = 400_000

function nodeSteps({ scenario, seeds }) {
  const parsed = parseScenario(scenario, catalogue)
  const definition = catalogue.find(scenario.protocol)
  const began = performance.now()
  let steps = 0
  for (let seed = 1; seed <= seeds; seed++) steps += runScenario(definition, { ...parsed, seed }).steps
  return { count: steps, seconds: (performance.now() - began) / 1000 }
}

function nodeStates({ protocol, crashes, recoveries, cuts }) {
  const definition = catalogue.find(protocol)
  const nodes = numbered(3)
  const { exploration, order } = definition
  const began = performance.now()
  const { states } = explore(
    {
      definition,
      nodes,
      options: checkedOptions(definition, nodes, exploration.options),
      budget: { crashes, recoveries, flips: cuts, ticks: exploration.ticks },
      from: exploration.from,
      order,
      timers: exploration.timers,
      depth: 1000,
      maxStates: STATES,
      memoryMB: 1500,
      progress: exploration.progress,
    },
    { seconds: () => performance.now() / 1000, shouldContinue: () => true },
  )
  return { count: states, seconds: (performance.now() - began) / 1000 }
}

/** Asks a worker of the built page, in the page; the time is that of the page. */
function askWorker(page, request) {
  const worker = readdirSync(join(ROOT, 'assets')).find((name) => /^main-.*\.js$/.test(name))
  return page.evaluate(
    ([path, asked]) =>
      new Promise((resolve, reject) => {
        globalThis.benchWorker ??= new Worker(path, { type: 'module' })
        const began = performance.now()
        globalThis.benchWorker.addEventListener('message', function listen({ data }) {
          if (data.type === 'failed') reject(new Error(JSON.stringify(data.problems)))
          if (data.type !== 'done') return
          globalThis.benchWorker.removeEventListener('message', listen)
          resolve({ result: data.result, seconds: (performance.now() - began) / 1000 })
        })
        globalThis.benchWorker.postMessage({ id: 1, request: asked })
      }),
    [`./assets/${worker}`, request],
  )
}

async function pageSteps(page, { scenario, seeds }) {
  const request = { type: 'seeds', scenario, module: null, swarm: false, first: 1, last: seeds }
  const { result, seconds } = await askWorker(page, request)
  return { count: result.steps, seconds }
}

async function pageStates(page, form) {
  const settings = { ...form, nodes: numbered(3), options: {}, depth: 1000, maxStates: STATES }
  const { result } = await askWorker(page, { type: 'explore', settings, module: null })
  return { count: result.states, seconds: result.tookMs / 1000 }
}

function serve() {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, 'http://localhost').pathname)
    const file = join(ROOT, path === '/' ? 'index.html' : path)
    response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream')
    createReadStream(file)
      .on('error', () => response.writeHead(404).end())
      .pipe(response)
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

function gzippedBytes(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, { parentPath, path, name }) =>
        sum + gzipSync(readFileSync(join(parentPath ?? path, name))).length,
      0,
    )
}

async function firstPicture(browser, url) {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(url)
  await page.waitForFunction(() => (globalThis.playground?.get().picture ?? null) !== null)
  const took = await page.evaluate(() => performance.now())
  await context.close()
  return took
}

/** 20 nodes that ping each other; about 230 messages are in flight at any time. */
const CROWDED = {
  protocol: 'omega',
  nodes: numbered(20),
  options: { pingMs: 50, alphaMs: 200, timeoutMs: 600 },
  network: { delayMs: [20, 40] },
  untilMs: 4000,
}

/** The frames of a playing page, from Chromium's tracing: their intervals, and the script time of each. */
async function printFrames(page, seconds) {
  await page.evaluate(async (scenario) => {
    const { playground } = globalThis
    await playground.open(scenario)
    playground.setPace?.('time')
    playground.seek(2_000_000)
    playground.setSpeed(0.02)
    playground.play()
  }, CROWDED)
  const session = await page.context().newCDPSession(page)
  const events = []
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value))
  const ended = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve))
  const includedCategories = ['devtools.timeline', 'disabled-by-default-devtools.timeline.frame']
  await session.send('Tracing.start', { traceConfig: { includedCategories } })
  const inFlight = await page.evaluate(
    (length) =>
      new Promise((resolve) => {
        const { cursor, picture } = globalThis.playground.get()
        const flights = picture.flights.filter(
          ({ sentAt, endedAt }) => sentAt <= cursor.at && (endedAt ?? picture.endsAt) > cursor.at,
        )
        setTimeout(() => resolve(flights.length), length)
      }),
    seconds * 1000,
  )
  await session.send('Tracing.end')
  await ended
  await page.evaluate(() => globalThis.playground.pause())
  const ofFrames = (name) => events.filter((event) => event.name === name).toSorted((a, b) => a.ts - b.ts)
  const drawn = ofFrames('DrawFrame').map(({ ts }) => ts / 1000)
  const intervals = drawn.slice(1).map((at, index) => at - drawn[index])
  const scripts = ofFrames('FireAnimationFrame').map(({ dur = 0 }) => dur / 1000)
  console.log(
    `playground  ${inFlight} messages in flight: ${(drawn.length / seconds).toFixed(1)} frames/s (target 60); ` +
      `between frames ${spread(intervals)}; script ${spread(scripts)}`,
  )
}

function spread(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (part) => (sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN).toFixed(1)
  return `median ${at(0.5)}, 95 % ${at(0.95)}, 99 % ${at(0.99)}, most ${at(1)} ms`
}

export async function printPlayground(rounds) {
  const executablePath = TOOLS.chromium.program()
  if (executablePath === null) {
    console.log('playground: Chromium is missing; install it with: apt-get install chromium')
    return
  }
  console.log(`playground  all files ${Math.ceil(gzippedBytes(ROOT) / 1000)} kB gzipped (target 260 kB)`)
  const server = await serve()
  const url = `http://127.0.0.1:${server.address().port}/`
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  try {
    const waits = []
    for (let round = 0; round < rounds; round++) waits.push(await firstPicture(browser, url))
    waits.sort((a, b) => a - b)
    const median = Math.round(waits[Math.floor(waits.length / 2)])
    console.log(
      `playground  first picture after ${median} ms, at most ${Math.round(waits.at(-1))} ms (target 1000 ms)`,
    )
    const page = await (await browser.newContext()).newPage()
    await page.goto(url)
    await page.waitForFunction(() => (globalThis.playground?.get().picture ?? null) !== null)
    await printFrames(page, 10)
    const processorSeconds = await renderers(browser)
    for (const [name, work] of Object.entries(SCENARIOS))
      await compare(
        `steps   ${name}`,
        rounds,
        70,
        () => nodeSteps(work),
        () => pageSteps(page, work),
        processorSeconds,
      )
    for (const [name, form] of Object.entries(SEARCHES))
      await compare(
        `states  ${name}`,
        rounds,
        60,
        () => nodeStates(form),
        () => pageStates(page, form),
        processorSeconds,
      )
  } finally {
    await browser.close()
    server.close()
  }
}

/**
 * The best of several rounds, in turns; the first round warms the compilers up. Also the work per second of processor
 * time, with the collector's and compiler's threads, which a busy machine changes less.
 */
async function compare(name, rounds, target, inNode, inPage, processorSeconds) {
  const best = { node: 0, page: 0, nodeWork: 0, pageWork: 0 }
  for (let round = 0; round <= rounds; round++) {
    const began = process.cpuUsage()
    const node = inNode()
    const { user, system } = process.cpuUsage(began)
    const before = await processorSeconds()
    const page = await inPage()
    const used = (await processorSeconds()) - before
    if (round === 0) continue
    best.node = Math.max(best.node, node.count / node.seconds)
    best.page = Math.max(best.page, page.count / page.seconds)
    best.nodeWork = Math.max(best.nodeWork, node.count / ((user + system) / 1e6))
    best.pageWork = Math.max(best.pageWork, page.count / used)
  }
  const rate = (value) => `${(value / 1000).toFixed(0)} k/s`
  const part = (page, node) => `${Math.round((100 * page) / node)} %`
  console.log(
    `playground  ${name}: ${rate(best.page)} in the page, ${rate(best.node)} in Node: ` +
      `${part(best.page, best.node)} (target ${target} %); by processor time ${part(best.pageWork, best.nodeWork)}`,
  )
}

/** The processor time of all pages of the browser. */
async function renderers(browser) {
  const session = await browser.newBrowserCDPSession()
  return async () => {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    return processInfo
      .filter(({ type }) => type === 'renderer')
      .reduce((sum, { cpuTime }) => sum + cpuTime, 0)
  }
}
