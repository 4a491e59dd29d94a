/** A run in the page of the playground has the trace of `conclave sim`, byte for byte. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { catalogue, protocols } from '../../../src/protocols/index.ts'
import { parseScenario } from '../../../src/workbench/sim/index.ts'
import { drawnFile } from '../../../web/playground/src/engine/fixture.ts'
import { conclave } from '../../support/cli.ts'
import { describeWithTool } from '../../support/servers.ts'
import { TestBrowser } from '../browser.ts'
import { openPlayground, type Site, startSite } from './site.ts'

/** At least 50 scenarios over all protocols. */
const SEEDS = [11, 12, 13, 14, 15]
const folder = mkdtempSync(join(tmpdir(), 'conclave-playground-traces-'))
afterAll(() => rmSync(folder, { recursive: true }))

async function traceOfCommandLine(scenario: object): Promise<string> {
  const file = join(folder, 'scenario.json')
  const trace = join(folder, 'trace.ndjson')
  writeFileSync(file, JSON.stringify(scenario))
  await conclave(['sim', file, '--trace', trace, '--json'])
  return readFileSync(trace, 'utf8')
}

function traceOfPage(page: Page, scenario: object): Promise<string> {
  return page.evaluate(async (given) => {
    await playground.open(given as never)
    const { picture, problems } = playground.get()
    if (problems.length > 0 || picture === null || picture.cutShort !== null)
      throw new Error(JSON.stringify([problems, picture?.cutShort]))
    return playground.copy('trace')
  }, scenario)
}

/** Every kind of event that a person can cause. */
const EVERYTHING = {
  protocol: 'local-leader',
  nodes: ['a', 'b', 'c', 'd'],
  seed: 5,
  clocks: { driftPpm: 50, lateMs: [0, 1] },
  network: { delayMs: [0.5, 4] },
  events: [
    { atMs: 200, drop: 40 },
    { atMs: 210, delay: 60, forMs: 30 },
    { atMs: 211, copy: 61 },
    { atMs: 300, pause: 'a', forMs: 120 },
    { atMs: 400, drift: 'b', ppm: 900 },
    { atMs: 500, skew: 'c', byMs: -40 },
    { atMs: 600, suspend: 'a', forMs: 400 },
    { atMs: 900, cutOneWay: [['b', 'c']] },
    {
      atMs: 1000,
      partition: [
        ['a', 'b'],
        ['c', 'd'],
      ],
    },
    { atMs: 1400, heal: 'all' },
    { atMs: 1500, crash: 'b' },
    { atMs: 1600, loss: 0.2 },
    { atMs: 1700, duplicate: 0.2 },
    { atMs: 1800, loss: 0 },
    { atMs: 1850, duplicate: 0 },
    { atMs: 1900, recover: 'b' },
    { atMs: 2000, command: { node: 'a', do: 'stepDown' } },
    { atMs: 2100, unwritable: 'd' },
    { atMs: 2300, writable: 'd' },
    { atMs: 2400, load: ['b', 'c'], lateMs: [0, 40], delayMs: 2, overMs: 100, forMs: 300 },
    { atMs: 2500, copy: 700 },
  ],
  untilMs: 3000,
}

const SMALL = { protocol: 'local-leader', nodes: [1, 2, 3], untilMs: 100 }

/** Scenarios with mistakes of every kind. */
const WRONG: readonly object[] = [
  { ...SMALL, untilMs: -5, sed: 1 },
  { ...SMALL, nodes: [1, 1] },
  { ...SMALL, seed: 1.5, clocks: { driftPpm: -1 } },
  { ...SMALL, options: { mode: 'x', fastMs: 'a', nope: 1 } },
  { ...SMALL, network: { loss: 2, delayMs: [3, 1], rules: [{ kind: 'zz' }] } },
  {
    ...SMALL,
    events: [
      { atMs: 1, command: { node: 1, do: 'setPriority', priority: 1.5 } },
      { atMs: 1, command: { node: 1, do: 'zz' } },
      { atMs: 2, skew: 1, byMs: 'x' },
      { atMs: 3, pause: 7, forMs: 0 },
    ],
  },
  { protocol: 'bully', nodes: [1, 2], schedule: [{ do: 'x' }, { node: 1, do: 'timer' }] },
]

await describeWithTool('chromium', 'the trace of a run in the playground', (program) => {
  let browser: TestBrowser
  let site: Site
  let page: Page
  beforeAll(async () => {
    browser = await TestBrowser.launch(program)
    site = await startSite()
    page = await openPlayground(browser, site)
  })
  afterAll(async () => {
    await browser.close()
    await site.close()
  })

  it('is that of conclave sim for a scenario with every kind of event', async () => {
    const expected = await traceOfCommandLine(EVERYTHING)
    expect((await traceOfPage(page, EVERYTHING)) === expected).toBe(true)
  })

  it('is refused for a wrong scenario with the words of the command line', async () => {
    for (const scenario of WRONG) {
      // oxlint-disable-next-line no-await-in-loop -- the page runs one scenario at a time
      const problems = await page.evaluate(async (given) => {
        await playground.open(given as never)
        return playground.get().problems.map(({ place, message }) => `${place}: ${message}`)
      }, scenario)
      let expected: readonly string[] = []
      try {
        parseScenario(scenario, catalogue)
      } catch (error) {
        expected = (error as Error).message.split('\n')
      }
      expect(problems.length).toBeGreaterThan(0)
      expect(problems).toEqual(expected)
    }
  })

  it.each(protocols.map((definition) => [definition.name, definition] as const))(
    'is that of conclave sim, for five scenarios of %s with random faults',
    async (_, definition) => {
      for (const seed of SEEDS) {
        const scenario = drawnFile(definition, seed)
        // oxlint-disable-next-line no-await-in-loop -- the page runs one scenario at a time
        const [shown, expected] = await Promise.all([
          traceOfPage(page, scenario),
          traceOfCommandLine(scenario),
        ])
        expect(shown === expected, `seed ${seed}`).toBe(true)
      }
    },
  )
})
