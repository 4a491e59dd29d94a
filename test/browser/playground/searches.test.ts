/** Searches in the playground: over seeds and over every interleaving, with progress, cancellation and a film. */
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWithTool } from '../../support/servers.ts'
import { TestBrowser } from '../browser.ts'
import { openPlayground, openScenario, type Site, startSite } from './site.ts'

/** Bully without the rules that the lecture lacks. */
const LITERAL = { protocol: 'bully', nodes: [1, 2, 3, 4], options: { repaired: false }, untilMs: 1000 }
const ENDLESS = { crashes: 3, recoveries: 3, cuts: 0, depth: 1000, maxStates: 50_000_000 }

await describeWithTool('chromium', 'a search in the playground', (program) => {
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

  /** Loads what was found: the specifications that it violates. */
  const openFound = (): Promise<readonly string[]> =>
    page.evaluate(async () => {
      await playground.openFound()
      const { picture, isPlaying, pace } = playground.get()
      if (!isPlaying || pace !== 'film') throw new Error('the film does not play')
      playground.pause()
      return picture?.verdicts.flatMap(({ name, verdict }) => (verdict === 'violated' ? [name] : [])) ?? []
    })

  it('over seeds finds a violation, and loads the smallest scenario for it', async () => {
    await openScenario(page, LITERAL)
    const found = await page.evaluate(async () => {
      await playground.trySeeds({ seeds: 2000, swarm: true })
      return playground.get().search
    })
    expect(found?.status).toBe('done')
    expect(found?.text).toMatch(/ is violated with seed \d+: /)
    const events = found?.found?.scenario['events'] as readonly unknown[]
    expect(events.length).toBeLessThan(8)
    expect(await openFound()).toContain(found?.found?.spec)
  })

  it('over every interleaving finds a shortest counterexample', async () => {
    await openScenario(page, { ...LITERAL, nodes: [1, 2, 3] })
    const found = await page.evaluate(async () => {
      await playground.explore({ crashes: 1, recoveries: 1, cuts: 0, depth: 100, maxStates: 100_000 })
      return playground.get().search?.found ?? null
    })
    expect(found?.schedule?.length).toBeGreaterThan(0)
    expect(await openFound()).toContain(found?.spec)
  })

  it('over every interleaving says so when there is nothing to find', async () => {
    await openScenario(page, { ...LITERAL, nodes: [1, 2, 3], options: {} })
    const text = await page.evaluate(async () => {
      await playground.explore({ crashes: 1, recoveries: 1, cuts: 0, depth: 1000, maxStates: 1_000_000 })
      return playground.get().search?.text
    })
    expect(text).toMatch(/^All interleavings were explored: no violation in [\d,]+ states/)
  })

  it.each(['seeds', 'explore'] as const)(
    '(%s) shows progress and ends at once when it is cancelled',
    async (type) => {
      await openScenario(page, { ...LITERAL, options: {} })
      await page.evaluate(
        ([kind, settings]) => {
          if (kind === 'seeds') void playground.trySeeds({ seeds: 1_000_000, swarm: true })
          else void playground.explore(settings)
        },
        [type, ENDLESS] as const,
      )
      await page.waitForFunction(() => (playground.get().search?.progress?.done ?? 0) > 0)
      expect(await page.evaluate(() => playground.get().search?.status)).toBe('running')
      await page.evaluate(() => playground.cancelSearch())
      expect(await page.evaluate(() => playground.get().search?.status)).toBe('cancelled')
      // The worker of the page was not touched.
      await openScenario(page, LITERAL)
      expect(await page.evaluate(() => playground.get().problems)).toEqual([])
    },
  )

  it('over the seeds of a schedule is refused in words', async () => {
    await openScenario(page, { protocol: 'bully', nodes: [1, 2, 3], schedule: [] })
    const problems = await page.evaluate(async () => {
      await playground.trySeeds({ seeds: 10, swarm: false })
      return playground.get().search?.problems
    })
    expect(problems?.[0]?.message).toBe('a schedule leaves nothing to chance: every seed gives the same run')
  })

  it('causes no error in the page', () => {
    expect(browser.problems).toEqual([])
  })
})
