/** A protocol of the user's own in the playground: it runs, its mistakes have lines, and nothing it does hangs the page. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Problem } from '../../../web/playground/src/engine/messages.ts'
import { describeWithTool } from '../../support/servers.ts'
import { TestBrowser } from '../browser.ts'
import { openPlayground, type Site, startSite } from './site.ts'

const EXAMPLES = new URL('../../../examples/own-protocol/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, EXAMPLES), 'utf8')

/** The protocol of the tutorial in one file. */
const BALLOT = [
  read('one-winner.mjs')
    .replace(/^import \{ withId \}.*$/m, '')
    .replace('export const', 'const'),
  read('ballot.mjs').replace(/^import \{ oneWinner \}.*$/m, ''),
].join('\n')
const STAND = 'if (state.votedFor !== null) return unchanged(state)\n    const asked'

/** With another statement where a node stands for election. */
function ballotWith(statement: string): string {
  const text = BALLOT.replace(STAND, `${statement}\n    const asked`)
  expect(text).not.toBe(BALLOT)
  return text
}

function lineOf(text: string, part: string): string {
  return `line ${text.slice(0, text.indexOf(part)).split('\n').length}`
}

type Shown = {
  readonly problems: readonly Problem[]
  readonly protocol: string | undefined
  readonly cutShort: string | null | undefined
  readonly verdicts: readonly string[]
}

function openModule(page: Page, text: string): Promise<Shown> {
  return page.evaluate(async (given) => {
    await playground.openModule({ name: 'ballot.mjs', text: given })
    const { problems, picture } = playground.get()
    return {
      problems,
      protocol: picture?.protocol,
      cutShort: picture?.cutShort,
      verdicts: picture?.verdicts.map(({ name, verdict }) => `${name} ${verdict}`) ?? [],
    }
  }, text)
}

await describeWithTool('chromium', 'a module in the playground', (program) => {
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

  it('runs, and its own specification is judged', async () => {
    const shown = await openModule(page, BALLOT)
    expect(shown).toMatchObject({ problems: [], protocol: 'ballot', cutShort: null })
    expect(shown.verdicts).toEqual(['one-winner held'])
  })

  it('runs as the tutorial has it, dropped together with the file that it imports and a scenario', async () => {
    const fresh = await openPlayground(browser, site)
    const names = ['one-winner.mjs', 'ballot.mjs', 'crash-while-voting.json']
    await fresh
      .locator('input[type=file]')
      .setInputFiles(names.map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(read(name)) })))
    await fresh.waitForFunction(() => playground.get().picture?.protocol === 'ballot')
    const verdicts = await fresh.evaluate(() =>
      playground.get().picture?.verdicts.map(({ name, verdict }) => `${name} ${verdict}`),
    )
    expect(verdicts).toEqual(['one-winner violated'])
    await fresh.close()
  })

  it.each([
    [
      'is no JavaScript',
      BALLOT.replace('function stand(state) {', 'function stand(state {'),
      'function stand(state {',
    ],
    ['throws while it loads', `\n\nnull.x\n${BALLOT}`, 'null.x'],
    ['declares a name twice', `${BALLOT}\nconst NOTHING = 1\n`, 'const NOTHING = 1'],
    ['makes a request', `${BALLOT}\nfetch('/')\n`, "fetch('/')"],
    ['starts a worker', `${BALLOT}\nnew Worker('/')\n`, 'new Worker'],
    ['imports another file', `import { x } from './x.mjs'\n${BALLOT}`, "'./x.mjs'"],
  ])('that %s is refused with the line', async (_, text, part) => {
    const { problems } = await openModule(page, text)
    expect(problems.map(({ place }) => place)).toEqual([lineOf(text, part)])
  })

  it('that throws in a step shows the run up to there, and the line', async () => {
    const text = ballotWith('state.no.such()')
    const { problems, cutShort } = await openModule(page, text)
    expect(problems).toEqual([])
    expect(cutShort).toContain(`${lineOf(text, 'state.no.such()')}: TypeError`)
  })

  describe.each([
    ['while it loads', `for (;;);\n${BALLOT}`],
    ['in a step', ballotWith('for (;;);')],
  ])('that never returns %s', (_, text) => {
    it('is ended with words, and the page stays usable', async () => {
      const asked = openModule(page, text)
      // The page answers while the module loops.
      expect(await page.evaluate(() => playground.get().isRunning)).toBe(true)
      const { problems } = await asked
      expect(problems[0]?.message).toMatch(
        /^the engine was stopped: nothing happened for 6 s; a loop in ballot\.mjs may never end$/,
      )
      const protocol = await page.evaluate(async () => {
        await playground.openProtocol('bully')
        return playground.get().picture?.protocol
      })
      expect(protocol).toBe('bully')
    })
  })

  it('is explored, and the counterexample plays', async () => {
    await openModule(page, BALLOT)
    const found = await page.evaluate(async () => {
      const { scenario } = playground.get()
      await playground.open(
        { ...scenario, options: { persistFirst: false } },
        { module: playground.get().module },
      )
      await playground.explore({ crashes: 1, recoveries: 1, cuts: 0, depth: 100, maxStates: 100_000 })
      await playground.openFound()
      const { picture } = playground.get()
      return { isUntimed: picture?.isUntimed, violated: picture?.verdicts.map(({ verdict }) => verdict) }
    })
    expect(found).toEqual({ isUntimed: true, violated: ['violated'] })
  })

  it('causes no error in the page', () => {
    expect(browser.problems).toEqual([])
  })
})
