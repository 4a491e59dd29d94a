/** What the playground shows: going back, sizes, themes, accessibility. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { describeWithTool } from '../../support/servers.ts'
import { findAxeViolations, TestBrowser } from '../browser.ts'
import { openPlayground, openScenario, type Site, startSite } from './site.ts'

/** A busy machine needs time for a frame. */
const POLL = { timeout: 20_000 }

await describeWithTool('chromium', 'the pictures of the playground', (program) => {
  let browser: TestBrowser
  let site: Site
  beforeAll(async () => {
    browser = await TestBrowser.launch(program)
    site = await startSite()
  })
  afterAll(async () => {
    await browser.close()
    await site.close()
  })
  afterEach(() => {
    const problems = browser.problems.splice(0)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })

  it.each([
    ['light', 'dark', 1440, 790],
    ['dark', 'light', 390, 844],
  ] as const)('is accessible and fits, %s and %s, %d × %d pixels', async (theme, other, width, height) => {
    const page = await openPlayground(browser, site, { theme, width, height })
    await page.locator('.node-state .fields').first().waitFor()
    const { scrollWidth, scrollHeight } = await page.evaluate(() => {
      const root = document.documentElement
      return { scrollWidth: root.scrollWidth, scrollHeight: root.scrollHeight }
    })
    expect(scrollWidth).toBe(width)
    // On a laptop everything is visible without scrolling.
    if (width > 1000) expect(scrollHeight).toBe(height)
    expect(await findAxeViolations(page)).toEqual([])
    await page.emulateMedia({ colorScheme: other })
    expect(await findAxeViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Show the pictures as tables' }).click()
    expect(await page.locator('.tables').innerText()).toContain('Nodes at 560.000 ms')
    expect(await findAxeViolations(page, '.tables')).toEqual([])
    await page.emulateMedia({ colorScheme: theme })
    expect(await findAxeViolations(page, '.tables')).toEqual([])
    await page.context().close()
  })

  it('fits a lesson into every width of a laptop or a tablet', async () => {
    const page = await openPlayground(browser, site, { width: 1366, height: 760, hash: '#lesson=no-start' })
    await page.getByText('Task', { exact: true }).waitFor()
    for (const width of [1366, 1280, 1200, 1100, 768]) {
      // oxlint-disable-next-line no-await-in-loop -- one width after the other
      await page.setViewportSize({ width, height: 760 })
      const scrollWidth = () => page.evaluate(() => document.documentElement.scrollWidth)
      // oxlint-disable-next-line no-await-in-loop -- one width after the other
      await expect.poll(scrollWidth, POLL).toBe(width)
    }
    await page.context().close()
  })

  /** One page for all dialogs. */
  let withDialogs: Page | null = null

  it.each(['Lessons', 'Search', 'Scenario', 'Your protocol', 'Share', 'Keys'])(
    'has an accessible dialog: %s',
    async (name) => {
      withDialogs ??= await openPlayground(browser, site)
      const page = withDialogs
      await page.getByRole('banner').getByRole('button', { name, exact: true }).click()
      await page.getByRole('dialog').waitFor()
      expect(await findAxeViolations(page, 'dialog[open]')).toEqual([])
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
    },
  )

  it('shows the lease in true time and as its holder believes', async () => {
    const page = await openPlayground(browser, site)
    const row = page.locator('.lease-row[data-node="1"]')
    await row.waitFor()
    expect(await row.innerText()).toContain(
      'The lease has ended for all others, but node 1 believes that it still leads.',
    )
    expect(await page.locator('.banner').innerText()).toMatch(
      /Node 2 leads\s+node 1 believes that it still leads/,
    )
    await page.keyboard.press('End')
    await expect.poll(() => page.locator('.banner').getAttribute('data-level'), POLL).toBe('healthy')
    await page.context().close()
  })

  it('goes back to every record of a long run, and shows each as on the way forward', async () => {
    const page = await openPlayground(browser, site)
    await openScenario(page, {
      protocol: 'local-leader',
      nodes: [1, 2, 3, 4, 5],
      clocks: { driftPpm: 100 },
      events: [
        { atMs: 2000, crash: 1 },
        { atMs: 4000, recover: 1 },
        { atMs: 6000, suspend: 2, forMs: 900 },
      ],
      untilMs: 16_000,
    })
    // The whole run in view: then the picture does not depend on which part was shown before.
    await page.keyboard.press('0')
    const result = await page.evaluate(async () => {
      const frame = (): Promise<unknown> =>
        new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
      const drawn = (): string =>
        [...document.querySelectorAll('canvas')].map((canvas) => canvas.toDataURL()).join(' ')
      const count = playground.get().picture?.moments.length ?? 0
      const sample = 500
      const forward: string[] = []
      playground.seekStart()
      // The page is laid out again for the new run.
      for (let frames = 0, last = ''; frames < 100 && last !== drawn(); frames += 1) {
        last = drawn()
        // oxlint-disable-next-line no-await-in-loop -- one frame after the other
        for (let each = 0; each < 5; each += 1) await frame()
      }
      for (let moment = playground.get().cursor.moment; moment < count - 1; moment += 1) {
        playground.step('record', 1)
        if (playground.get().cursor.moment !== moment + 1) return { count, wrong: moment }
        if (moment % sample !== 0) continue
        // oxlint-disable-next-line no-await-in-loop -- one frame after the other
        await frame()
        forward.push(drawn())
      }
      const back: string[] = []
      for (let moment = count - 2; moment >= 0; moment -= 1) {
        playground.step('record', -1)
        if (playground.get().cursor.moment !== moment) return { count, wrong: moment }
        if ((moment - 1) % sample !== 0) continue
        // oxlint-disable-next-line no-await-in-loop -- one frame after the other
        await frame()
        back.push(drawn())
      }
      return {
        count,
        wrong: null,
        forward: forward.length,
        same: forward.toReversed().every((each, place) => each === back[place]),
      }
    })
    expect(result.count).toBeGreaterThanOrEqual(5000)
    expect(result.wrong).toBe(null)
    expect(result.forward).toBeGreaterThan(9)
    expect(result.same).toBe(true)
    await page.context().close()
  })

  it('plays, steps and changes its speed by keyboard', async () => {
    const page = await openPlayground(browser, site)
    const press = (key: string): Promise<void> => page.keyboard.press(key)
    const at = (): Promise<number> => page.evaluate(() => playground.get().cursor.at)
    await press('Home')
    expect(await at()).toBe(0)
    await press('l')
    const elected = await at()
    expect(elected).toBeGreaterThan(0)
    await press('ArrowRight')
    expect(await at()).toBeGreaterThanOrEqual(elected)
    await press('Shift+ArrowRight')
    await press('Shift+ArrowLeft')
    await press(']')
    await press('Space')
    await expect.poll(at, POLL).toBeGreaterThan(elected + 100_000)
    await press('Space')
    expect(await page.evaluate(() => playground.get().isPlaying)).toBe(false)
    await page.context().close()
  })
})
