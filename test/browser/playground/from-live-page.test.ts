/** "Open in playground" on the live page: the recent history of the group, simulated. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWithTool } from '../../support/servers.ts'
import { TestBrowser, untilLevel } from '../browser.ts'
import { FakeAgent } from '../fake-agent.ts'

const ROOT = new URL('../../../dist/playground/', import.meta.url)

await describeWithTool('chromium', 'the playground from the live page', (program) => {
  let browser: TestBrowser
  let agent: FakeAgent
  beforeAll(async () => {
    browser = await TestBrowser.launch(program)
    agent = new FakeAgent()
    await agent.start()
  })
  afterAll(async () => {
    await browser.close()
    await agent.stop()
  })

  it('shows the nodes of the group, and a fault for each term that ended', async () => {
    const page = await browser.open(agent.url)
    await page.context().route(/\/playground\//, async (route) => {
      const name = new URL(route.request().url()).pathname.replace('/playground/', '')
      const path = name === '' ? 'index.html' : name
      const contentType = path.endsWith('.js')
        ? 'text/javascript'
        : path.endsWith('.css')
          ? 'text/css'
          : 'text/html'
      await route.fulfill({ body: readFileSync(new URL(path, ROOT)), contentType })
    })
    await untilLevel(page, 'healthy')
    const opening = page.context().waitForEvent('page')
    await page.getByRole('button', { name: 'Open in playground' }).click()
    const opened = await opening
    await opened.waitForFunction(() => (globalThis.playground?.get().picture ?? null) !== null)
    const { nodes, events, problems, name } = await opened.evaluate(() => {
      const { picture, scenario, problems: known, branches } = playground.get()
      return {
        nodes: picture?.nodes,
        events: scenario['events'],
        problems: known,
        name: branches[0]?.name,
      }
    })
    expect(problems).toEqual([])
    expect(nodes).toEqual([...agent.statuses.values()][0]?.nodes.map(({ id }) => id))
    expect(events).not.toHaveLength(0)
    expect(name).toMatch(/^recent history of /)
    expect(browser.problems).toEqual([])
  })
})
