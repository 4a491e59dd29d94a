/** The playground as `conclave playground` and agents serve it: under a content security policy. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { servePlayground } from '../../../src/cli/playground/server.ts'
import { findFiles, fragmentOf } from '../../../src/cli/playground.ts'
import { describeWithTool } from '../../support/servers.ts'
import { TestBrowser } from '../browser.ts'
import { openPlayground } from './site.ts'

const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url))
/** A module of one file that tries to reach the server in which it was pasted. */
const CURIOUS = `${readFileSync(`${EXAMPLES}own-protocol/ballot.mjs`, 'utf8')
  .replace(/^import \{ oneWinner \}.*$/m, '')
  .replace(/^export const specs.*$/m, '')}
const ask = async () => fetch(new URL('/', self.location.origin))
const answer = await ask().then(() => 'reached', () => 'refused')
if (answer === 'reached') throw new Error('the server was reached')
`

await describeWithTool('chromium', 'the playground on loopback', (program) => {
  let browser: TestBrowser
  beforeAll(async () => {
    browser = await TestBrowser.launch(program)
  })
  afterAll(() => browser.close())

  it('opens the file that was named', async () => {
    const files = findFiles([`${EXAMPLES}first-election.json`])
    const server = await servePlayground(files, 0)
    const page = await openPlayground(
      browser,
      { url: `${server.url}/`, close: () => server.close() },
      { hash: fragmentOf(files) },
    )
    expect(await page.evaluate(() => playground.get().branches[0]?.name)).toBe('first-election.json')
    expect(await page.evaluate(() => playground.get().problems)).toEqual([])
    expect(browser.problems).toEqual([])
    await page.context().close()
    await server.close()
  })

  it('runs a pasted module, which cannot send requests', async () => {
    const server = await servePlayground([], 0)
    const page = await openPlayground(browser, { url: `${server.url}/`, close: () => server.close() })
    const problems = await page.evaluate(
      async (text) => {
        await playground.openModule({ name: 'curious.mjs', text })
        return playground.get().problems.map(({ message }) => message)
      },
      CURIOUS.replace(/specs: .*$/m, ''),
    )
    expect(problems.join(' ')).not.toContain('the server was reached')
    await page.context().close()
    await server.close()
  })
})
