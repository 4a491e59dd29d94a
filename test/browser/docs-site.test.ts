/** The website of the documents in a real browser: a lesson runs inside its page. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { ROOT } from '../support/documents.ts'
import { describeWithTool } from '../support/servers.ts'
import { findAxeViolations, TestBrowser } from './browser.ts'
import { startSite } from './playground/site.ts'

await describeWithTool('chromium', 'the website of the documents', (program) => {
  it('shows a lesson in its page', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-site-'))
    execFileSync(process.execPath, ['scripts/site.mjs', folder], { cwd: ROOT })
    const site = await startSite(pathToFileURL(`${folder}/`))
    const browser = await TestBrowser.launch(program)
    try {
      const page = await browser.open(`${site.url}docs/explanation/papers/epochs.html`)
      const lesson = page.frameLocator('iframe[title="Lesson: ballot-tie"]')
      await page.locator('iframe[title="Lesson: ballot-tie"]').scrollIntoViewIfNeeded()
      await lesson.getByRole('group', { name: 'Actions' }).or(lesson.getByText('Task')).first().waitFor()
      expect(await findAxeViolations(page)).toEqual([])
      expect(browser.problems).toEqual([])
    } finally {
      await browser.close()
      await site.close()
      rmSync(folder, { recursive: true })
    }
  })
})
