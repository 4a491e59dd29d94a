// Takes docs/pictures/live-page.png, live-page-dark.png and playground.png: npm run docs:screenshots. Starts a real group,
// kills its leader, makes the next leader step down, and cuts a node off for the second picture. Then shows the first
// run of the playground; with the word playground, only that.
/* oxlint-disable no-await-in-loop -- one step of the story after the other */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { TOOLS } from './servers/tools.mjs'

const CONCLAVE = fileURLToPath(new URL('../bin/conclave', import.meta.url))
const FOLDER = new URL('../docs/pictures/', import.meta.url)
const VIEW = { width: 1440, height: 790 }
/** On a busy machine the pictures show long leases and warnings. */
const FLAGS = ['--nodes', '5', '--http-port', '0', '--json']
const TERM_MS = 25_000

async function untilLevel(url, level) {
  for (let tries = 0; tries < 300; tries++) {
    const status = await fetch(`${url}/v1/status`).then(
      (response) => response.json(),
      () => null,
    )
    if (status?.level === level) return
    await sleep(200)
  }
  throw new Error(`${url} is not ${level} after a minute`)
}

/** The page of the leader shows the most. */
async function leaderAmong(nodes) {
  const { leader } = await (await fetch(`${nodes[4].url}/v1/leader`)).json()
  return nodes.find(({ id }) => id === leader.id).url
}

async function shoot(browser, url, colorScheme, name) {
  const page = await browser.newPage({ viewport: VIEW, colorScheme })
  await page.goto(url)
  await page.locator('.chart canvas').first().waitFor()
  // The rows of other nodes and the newest sample arrive every 5 s.
  await sleep(6000)
  await page.screenshot({ path: fileURLToPath(new URL(name, FOLDER)) })
  await page.close()
}

async function shootPlayground(browser) {
  const serving = spawn(CONCLAVE, ['playground', '--port', '0', '--no-open', '--json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    const [line] = await once(serving.stdout, 'data')
    const page = await browser.newPage({ viewport: VIEW, colorScheme: 'light' })
    await page.goto(JSON.parse(line.toString()).url)
    await page.waitForFunction(() => (globalThis.playground?.get().inspection ?? null) !== null)
    // The pictures are drawn in the next frames.
    await sleep(500)
    await page.screenshot({ path: fileURLToPath(new URL('playground.png', FOLDER)) })
    await page.close()
  } finally {
    serving.kill('SIGTERM')
  }
}

async function shootGroup(browser) {
  const up = spawn(CONCLAVE, ['up', ...FLAGS], { stdio: ['pipe', 'pipe', 'ignore'] })
  try {
    const [first] = await once(up.stdout, 'data')
    const { nodes } = JSON.parse(first.toString().split('\n')[0])
    const { url } = nodes[4]
    const say = (line) => up.stdin.write(`${line}\n`)
    await untilLevel(url, 'healthy')
    await sleep(TERM_MS)
    say('kill leader')
    await untilLevel(url, 'degraded')
    await sleep(3000)
    say('restart all')
    await untilLevel(url, 'healthy')
    await sleep(TERM_MS)
    say('step-down')
    await sleep(TERM_MS)
    await untilLevel(url, 'healthy')
    const leading = await leaderAmong(nodes)
    await shoot(browser, leading, 'light', 'live-page.png')
    const [killed, cut] = nodes.filter((node) => node.url !== leading)
    say(`kill ${killed.id}`)
    say(`partition ${cut.id}`)
    await untilLevel(leading, 'at-risk')
    await shoot(browser, leading, 'dark', 'live-page-dark.png')
  } finally {
    up.kill('SIGTERM')
  }
}

const browser = await chromium.launch({
  executablePath: TOOLS.chromium.program() ?? undefined,
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  if (process.argv[2] !== 'playground') await shootGroup(browser)
  await shootPlayground(browser)
} finally {
  await browser.close()
}
