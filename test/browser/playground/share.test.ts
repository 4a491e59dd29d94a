/** Links and files: a shared run is the same in a fresh profile, and bad input is said in words. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { present } from '../../../src/core/index.ts'
import { protocolNamed } from '../../../src/protocols/index.ts'
import { parseScenario, runScenario, traceHeader } from '../../../src/workbench/sim/index.ts'
import { traceLine } from '../../../src/workbench/trace/index.ts'
import { describeWithTool } from '../../support/servers.ts'
import { TestBrowser } from '../browser.ts'
import { openPlayground, openScenario, type Site, startSite } from './site.ts'

const SCENARIO = {
  protocol: 'local-leader',
  nodes: [1, 2, 3],
  network: { delayMs: [0.5, 3] },
  clocks: { driftPpm: 100 },
  untilMs: 1200,
}

/** What `conclave sim --trace` writes. */
function traceOf(scenario: unknown): string {
  const find = protocolNamed
  const parsed = parseScenario(scenario, { names: ['local-leader'], find })
  const lines = [traceLine(traceHeader(parsed))]
  runScenario(present(find(parsed.protocol), 'protocol'), parsed, {
    record: (record) => lines.push(traceLine(record)),
  })
  return lines.map((line) => `${line}\n`).join('')
}

await describeWithTool('chromium', 'sharing a run of the playground', (program) => {
  let browser: TestBrowser
  let site: Site
  beforeAll(async () => {
    browser = await TestBrowser.launch(program)
    site = await startSite()
  })
  afterEach(() => {
    const problems = browser.problems.splice(0)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })
  afterAll(async () => {
    await browser.close()
    await site.close()
  })

  const problemText = (page: Page): Promise<string> => page.getByRole('alert').innerText()

  describe('a link', () => {
    it('shows the same run at the same place in a fresh profile', async () => {
      const page = await openPlayground(browser, site)
      await openScenario(page, SCENARIO, 400)
      const { link, at, trace, scenario } = await page.evaluate(async () => {
        await playground.act({ suspend: 1, forMs: 200 })
        playground.seek(700_000)
        await playground.act({ cut: [[2, 3]] })
        return {
          link: await playground.copy('link'),
          trace: await playground.copy('trace'),
          at: playground.get().cursor.at,
          scenario: playground.get().scenario,
        }
      })
      const other = await openPlayground(browser, site, { hash: new URL(link).hash })
      const seen = await other.evaluate(async () => ({
        trace: await playground.copy('trace'),
        at: playground.get().cursor.at,
        made: playground.get().branches[0]?.made,
      }))
      expect(seen.trace).toBe(trace)
      expect(seen.at).toBe(at)
      expect(seen.made).toHaveLength(2)
      expect(trace).toBe(traceOf(scenario))
      await page.context().close()
      await other.context().close()
    })

    it.each([
      ['cut off', '#1.abc.eJx', /The link is damaged: .*its end is missing/],
      ['made by a newer version', '#2.abc.xyz', /newer version of the playground/],
      ['of no lesson', '#lesson=quicksort', /no lesson "quicksort"/],
    ])('that is %s says so, and the page stays usable', async (_, hash, message) => {
      const page = await openPlayground(browser, site, { hash })
      expect(await problemText(page)).toMatch(message)
      await page.evaluate(() => {
        playground.seek(300_000)
        return playground.act({ crash: 1 })
      })
      expect(await page.evaluate(() => playground.get().problems)).toEqual([])
      await page.context().close()
    })

    it('that is opened while another run is shown replaces it', async () => {
      const page = await openPlayground(browser, site, { hash: '#protocol=ring' })
      await page.evaluate(() => {
        location.hash = '#protocol=bully'
      })
      await page.waitForFunction(() => playground.get().picture?.protocol === 'bully')
      expect(await page.evaluate(() => playground.get().branches)).toHaveLength(1)
      await page.context().close()
    })
  })

  describe('a dropped file', () => {
    const drop = (page: Page, name: string, text: string): Promise<void> =>
      page.evaluate(
        ([file, content]) => {
          const data = new DataTransfer()
          data.items.add(new File([content], file))
          const event = new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true })
          document.body.dispatchEvent(event)
        },
        [name, text] as const,
      )

    it('opens a scenario, and the trace of it', async () => {
      const page = await openPlayground(browser, site)
      await drop(page, 'mine.json', JSON.stringify(SCENARIO))
      await page.waitForFunction(() => playground.get().branches[0]?.name === 'mine.json')
      const moments = await page.evaluate(() => playground.get().picture?.moments.length)
      await drop(page, 'mine.ndjson', traceOf(SCENARIO))
      await page.waitForFunction(() => {
        const { source, problems } = playground.get()
        return source === 'trace' || problems.length > 0
      })
      expect(await page.evaluate(() => playground.get().problems)).toEqual([])
      expect(await page.evaluate(() => playground.get().picture?.moments.length)).toBe(moments)
      await page.context().close()
    })

    it('with errors says where they are', async () => {
      const page = await openPlayground(browser, site)
      await drop(page, 'bad.json', JSON.stringify({ ...SCENARIO, events: [{ atMs: 1, crash: 9 }], sed: 1 }))
      await page.getByRole('alert').waitFor()
      expect(await problemText(page)).toMatch(/events\[0\]\.crash[^]*9 is not one of the nodes/)
      await drop(page, 'worse.json', '{\n "nodes": [1, 2\n}')
      await page.getByText('This is not JSON').waitFor()
      expect(await page.evaluate(() => playground.get().picture)).not.toBeNull()
      await page.context().close()
    })

    it('of more than 50 MB is refused without being read', async () => {
      const page = await openPlayground(browser, site)
      await page.evaluate(async () => {
        const file = new File([new Uint8Array(51_000_000)], 'huge.ndjson')
        await playground.openFiles([file])
      })
      expect(await problemText(page)).toMatch(
        /huge\.ndjson is 51\.0 MB; this page opens files of at most 50 MB/,
      )
      await page.context().close()
    })
  })
})
