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
/** A group that stays calm on a busy machine. */
const FLAGS = ['--nodes', '5', '--http-port', '0', '--json', '--profile', 'wan', '--option', 'sigmaMs=300']
const TERM_MS = 20_000

async function untilLevel(url, level) {
  for (;;) {
    const status = await fetch(`${url}/v1/status`).then(
      (response) => response.json(),
      () => null,
    )
    if (status?.level === level) return
    await sleep(200)
  }
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
    const { url } = JSON.parse(first.toString().split('\n')[0]).nodes[4]
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
    await shoot(browser, url, 'light', 'live-page.png')
    say('kill n2')
    say('partition n1')
    await untilLevel(url, 'at-risk')
    await shoot(browser, url, 'dark', 'live-page-dark.png')
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
