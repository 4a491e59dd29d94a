/** Every lesson is completed by its script in the browser, and the page says so. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { LESSONS } from '../../../web/playground/src/lessons/index.ts'
import { type Move, SOLUTIONS } from '../../../web/playground/src/lessons/solutions.ts'
import { describeWithTool } from '../../support/servers.ts'
import { TestBrowser } from '../browser.ts'
import { openPlayground, type Site, startSite } from './site.ts'

async function perform(page: Page, move: Move): Promise<void> {
  const picture = await page.evaluate(() => playground.get().picture)
  if (picture === null) throw new Error('the lesson did not run')
  if ('moment' in move) {
    await page.evaluate((moment) => playground.seekMoment(moment), move.moment(picture))
    return
  }
  const event = typeof move.event === 'function' ? move.event(picture) : move.event
  await page.evaluate(
    async ([at, text]) => {
      playground.seek(at)
      await playground.act(JSON.parse(text))
    },
    [move.atMs * 1000, JSON.stringify(event)] as const,
  )
}

await describeWithTool('chromium', 'lessons in the playground', (program) => {
  let browser: TestBrowser
  let site: Site
  let page: Page
  beforeAll(async () => {
    browser = await TestBrowser.launch(program)
    site = await startSite()
    page = await openPlayground(browser, site)
  })
  afterEach(() => {
    const problems = browser.problems.splice(0)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })
  afterAll(async () => {
    await browser.close()
    await site.close()
  })

  it.each(LESSONS.map(({ id, title }) => [id, title]))('%s is completed', async (id, title) => {
    await page.evaluate((lesson) => playground.openLesson(lesson), id)
    const strip = page.getByRole('region', { name: 'Lesson' })
    await strip.getByRole('heading', { name: title }).waitFor()
    expect(await strip.locator('.check-text').textContent()).not.toContain('Done.')
    for (const move of SOLUTIONS[id] ?? []) {
      // oxlint-disable-next-line no-await-in-loop -- moves build on each other
      await perform(page, move)
    }
    await strip.getByText('Done.').waitFor()
    const kept = await page.evaluate(() => localStorage.getItem('conclave-lessons'))
    expect(kept?.split(' ')).toContain(id)
  })

  it('remembers what was done, in this browser', async () => {
    await page.reload()
    await page.waitForFunction(() => (globalThis.playground?.get().picture ?? null) !== null)
    const done = await page.evaluate(() => playground.get().lessonsDone)
    expect(done).toHaveLength(LESSONS.length)
  })
})
