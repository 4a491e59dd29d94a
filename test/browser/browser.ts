/** Chromium for tests of pages. */
import { AxeBuilder } from '@axe-core/playwright'
import { type Browser, chromium, type Page } from 'playwright-core'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

export type View = { readonly width?: number; readonly height?: number; readonly theme?: 'light' | 'dark' }

export class TestBrowser {
  readonly #browser: Browser
  /** What went wrong in any page: errors of scripts, refusals by the content security policy, foreign requests. */
  readonly problems: string[] = []

  constructor(browser: Browser) {
    this.#browser = browser
  }

  static async launch(program: string): Promise<TestBrowser> {
    return new TestBrowser(await chromium.launch({ executablePath: program, args: FLAGS }))
  }

  /** Opens the page of an agent in a fresh context. */
  async open(url: string, { width = 1440, height = 790, theme = 'light' }: View = {}): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: { width, height }, colorScheme: theme })
    const page = await context.newPage()
    page.setDefaultTimeout(40_000)
    page.on('pageerror', ({ message }) => this.problems.push(message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
        this.problems.push(message.text())
    })
    page.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url())
      if (hostname !== '127.0.0.1' && !['data:', 'blob:'].includes(protocol))
        this.problems.push(request.url())
    })
    await page.goto(url)
    return page
  }

  close(): Promise<void> {
    return this.#browser.close()
  }
}

/** Waits until the banner shows a level. */
export async function untilLevel(page: Page, level: string): Promise<void> {
  await page.locator(`.banner[data-level="${level}"]`).waitFor()
}

/**
 * What axe finds in a part of the page, or in all of it. Embedded pages are left out: so axe needs no further page for its
 * result, which takes longer than the search.
 */
export async function findAxeViolations(page: Page, part = 'html'): Promise<readonly string[]> {
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode(true)
    .include(part)
    .exclude('iframe')
    .analyze()
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}
