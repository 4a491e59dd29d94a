/** Each thing that a person can do to the world, by mouse and by keyboard. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { describeWithTool } from '../../support/servers.ts'
import { TestBrowser } from '../browser.ts'
import { eventsMade, openPlayground, openScenario, type Site, startSite } from './site.ts'

const SCENARIO = {
  protocol: 'local-leader',
  nodes: [1, 2, 3, 4, 5],
  network: { delayMs: 4 },
  untilMs: 2000,
}

/** A busy machine needs time for a run. */
const POLL = { timeout: 20_000 }
const HOOK_MS = 60_000

type Point = { readonly x: number; readonly y: number }

await describeWithTool('chromium', 'acting in the playground', (program) => {
  let browser: TestBrowser
  let site: Site
  let page: Page
  beforeAll(async () => {
    browser = await TestBrowser.launch(program)
    site = await startSite()
    page = await openPlayground(browser, site)
  }, HOOK_MS)
  afterAll(async () => {
    await browser.close()
    await site.close()
  })
  beforeEach(async () => {
    await page.keyboard.press('Escape')
    await openScenario(page, SCENARIO, 1000)
  }, HOOK_MS)
  afterEach(() => {
    const problems = browser.problems.splice(0)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })

  const centreOf = async (node: number): Promise<Point> => {
    const box = await page.getByRole('button', { name: new RegExp(`^Node ${node}:`) }).boundingBox()
    if (box === null) throw new Error(`node ${node} is not visible`)
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  }
  const clickAt = ({ x, y }: Point): Promise<void> => page.mouse.click(x, y)
  const drag = async (points: readonly Point[]): Promise<void> => {
    const [first, ...rest] = points
    if (first === undefined) return
    await page.mouse.move(first.x, first.y)
    await page.mouse.down()
    // oxlint-disable-next-line no-await-in-loop -- one movement after the other
    for (const { x, y } of rest) await page.mouse.move(x, y, { steps: 4 })
    await page.mouse.up()
  }
  const press = async (...keys: readonly string[]): Promise<void> => {
    // oxlint-disable-next-line no-await-in-loop -- one key after the other
    for (const key of keys) await page.keyboard.press(key)
  }
  const action = (name: string | RegExp) =>
    page.getByRole('group', { name: 'Actions' }).getByRole('button', { name })
  /** The newest event that was made by hand, once it has run without problems. */
  const made = async (): Promise<unknown> => {
    const { problems } = await page.evaluate(() => playground.get())
    return problems.length > 0 ? problems : (await eventsMade(page)).at(-1)
  }
  /** Goes to an instant at which a message has half of its way behind it. */
  const seekToMessage = (): Promise<void> =>
    page.evaluate(() => {
      const flight = playground.get().picture?.flights.find(({ sentAt }) => sentAt > 1_000_000)
      if (flight === undefined) throw new Error('no message is sent after one second')
      playground.seek(flight.sentAt + 2000)
    })
  /** Selects a message in flight, and returns its number. */
  const selectMessage = async (): Promise<number> => {
    await press('Escape', 'm')
    const chosen = await page.evaluate(() => playground.get().selection)
    if (chosen?.type !== 'message') throw new Error('no message is in flight')
    return chosen.message
  }

  it('crashes and restarts a node by mouse', async () => {
    await clickAt(await centreOf(2))
    await action(/^Crash/).click()
    await expect.poll(made, POLL).toMatchObject({ crash: 2 })
    await page.evaluate(() => playground.seek(1_500_000))
    await action(/^Restart/).click()
    await expect.poll(made, POLL).toMatchObject({ recover: 2 })
  })

  it('crashes and restarts a node by keyboard', async () => {
    await press('2', 'c')
    await expect.poll(made, POLL).toMatchObject({ crash: 2 })
    await page.evaluate(() => playground.seek(1_500_000))
    await press('c')
    await expect.poll(made, POLL).toMatchObject({ recover: 2 })
  })

  it.each([
    ['Pause', 'p', '250', { pause: 3, forMs: 250 }],
    ['Suspend', 's', '300', { suspend: 3, forMs: 300 }],
    ['Skew', 'k', '-40', { skew: 3, byMs: -40 }],
    ['Drift', 'd', '5000', { drift: 3, ppm: 5000 }],
    ['Load', 'o', '60', { load: [3], lateMs: [0, 60] }],
  ] as const)('asks for the amount of: %s', async (name, key, amount, event) => {
    await clickAt(await centreOf(3))
    await action(new RegExp(`^${name}`)).click()
    await page.locator('.amount input').fill(amount)
    await page.locator('.amount .primary').click()
    await expect.poll(made, POLL).toMatchObject(event)
    await press('z')
    await expect.poll(async () => (await eventsMade(page)).length, POLL).toBe(0)
    await press('Escape', '3', key)
    await page.locator('.amount input:focus').waitFor()
    await page.keyboard.type(amount)
    await press('Enter')
    await expect.poll(made, POLL).toMatchObject(event)
  })

  it('ends the load on a node, by mouse and by keyboard', async () => {
    for (const end of [() => action(/^End load/).click(), () => press('o')]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await press('Escape', '3', 'o')
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await page.locator('.amount .primary').click()
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect.poll(made, POLL).toMatchObject({ load: [3] })
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await end()
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await expect.poll(made, POLL).toMatchObject({ load: [3], lateMs: 0 })
    }
  })

  it('isolates a node, and heals all links', async () => {
    await press('4', 'x')
    await expect.poll(made, POLL).toMatchObject({ partition: [[4], [1, 2, 3, 5]] })
    await press('Escape', 'h')
    await expect.poll(made, POLL).toMatchObject({ heal: 'all' })
    await clickAt(await centreOf(2))
    await action(/^Isolate/).click()
    await expect.poll(made, POLL).toMatchObject({ partition: [[2], [1, 3, 4, 5]] })
    await press('Escape')
    await action(/^Heal all/).click()
    await expect.poll(made, POLL).toMatchObject({ heal: 'all' })
  })

  it.each([
    ['Cut', 'c', { cut: [[1, 3]] }],
    ['Cut 1 → 3', 'o', { cutOneWay: [[1, 3]] }],
    ['Cut 3 → 1', 'i', { cutOneWay: [[3, 1]] }],
  ] as const)('harms a link by dragging from node to node, or by keyboard: %s', async (name, key, event) => {
    await drag([await centreOf(1), await centreOf(3)])
    await action(new RegExp(`^${name}( ?${key})?$`)).click()
    await expect.poll(made, POLL).toMatchObject(event)
    await press('z')
    await expect.poll(async () => (await eventsMade(page)).length, POLL).toBe(0)
    await press('Escape', '1')
    await page.getByLabel('Link to').selectOption('3')
    await press(key)
    await expect.poll(made, POLL).toMatchObject(event)
    await press('h')
    await expect.poll(made, POLL).toMatchObject({ heal: [[1, 3]] })
  })

  it('slows a link', async () => {
    await drag([await centreOf(2), await centreOf(5)])
    await press('s')
    await page.locator('.amount input').fill('90')
    await press('Enter')
    await expect.poll(made, POLL).toMatchObject({ slow: [[2, 5]], delayMs: 90 })
    await action(/^Slow/).click()
    await page.locator('.amount input').fill('70')
    await page.locator('.amount .primary').click()
    await expect.poll(made, POLL).toMatchObject({ slow: [[2, 5]], delayMs: 70 })
    await action(/^Heal/).click()
    await expect.poll(made, POLL).toMatchObject({ heal: [[2, 5]] })
  })

  it('partitions the network by a lasso', async () => {
    const [three, four] = [await centreOf(3), await centreOf(4)]
    const bottom = Math.max(three.y, four.y) + 40
    const top = Math.min(three.y, four.y) - 34
    await drag([
      { x: four.x - 40, y: top },
      { x: four.x - 40, y: bottom },
      { x: three.x + 40, y: bottom },
      { x: three.x + 40, y: top },
    ])
    await expect.poll(made, POLL).toMatchObject({
      partition: [
        [3, 4],
        [1, 2, 5],
      ],
    })
  })

  it('partitions the network by keyboard', async () => {
    await press('g')
    const dialog = page.getByRole('dialog', { name: 'Partition the network' })
    await dialog.getByRole('button', { name: 'Move node 2' }).press('Enter')
    await dialog.getByRole('button', { name: 'Partition', exact: true }).press('Enter')
    await expect.poll(made, POLL).toMatchObject({
      partition: [
        [1, 2],
        [3, 4, 5],
      ],
    })
  })

  it.each([
    ['Drop', 'd', null, 'drop'],
    ['Delay', 'l', '70', 'delay'],
    ['Duplicate', 'u', null, 'copy'],
  ] as const)('changes a message in flight: %s', async (name, key, amount, field) => {
    await seekToMessage()
    const message = await selectMessage()
    await action(new RegExp(`^${name}`)).click()
    if (amount !== null) {
      await page.locator('.amount input').fill(amount)
      await press('Enter')
    }
    await expect.poll(made, POLL).toMatchObject({ [field]: message })
    await press('z')
    await expect.poll(async () => (await eventsMade(page)).length, POLL).toBe(0)
    await press('Escape')
    expect(await selectMessage()).toBe(message)
    await press(key)
    if (amount !== null) {
      await page.locator('.amount input:focus').waitFor()
      await page.keyboard.type(amount)
      await press('Enter')
    }
    await expect.poll(made, POLL).toMatchObject({ [field]: message })
  })

  it('selects a message by a click on it', async () => {
    await seekToMessage()
    await press('r')
    const message = await selectMessage()
    await press('Escape')
    const ends = await page.evaluate((number) => {
      const flight = playground.get().picture?.flights.find((each) => each.message === number)
      const { at } = playground.get().cursor
      if (flight === undefined || flight.endedAt === null) throw new Error('no such message')
      return { ...flight, share: (at - flight.sentAt) / (flight.endedAt - flight.sentAt) }
    }, message)
    const from = await centreOf(Number(ends.from))
    const to = await centreOf(Number(ends.to))
    await clickAt({ x: from.x + (to.x - from.x) * ends.share, y: from.y + (to.y - from.y) * ends.share })
    const chosen = await page.evaluate(() => playground.get().selection)
    expect(chosen?.type).toBe('message')
  })

  const chooseCommand = async (title: RegExp): Promise<void> => {
    const commands = page.getByLabel('Command')
    const value = await commands.locator('option', { hasText: title }).first().getAttribute('value')
    await commands.selectOption(value)
  }

  it('gives a command of the protocol to a node', async () => {
    await press('1')
    await chooseCommand(/^stepDown:/)
    await expect.poll(made, POLL).toMatchObject({ command: { node: 1, do: 'stepDown' } })
  })

  it.each([
    [/^setPriority/, 'priority', '7', { do: 'setPriority', priority: 7 }],
    [/^addVoter/, 'voter', '5', { do: 'addVoter', voter: 5 }],
    [/^removeVoter/, 'voter', '2', { do: 'removeVoter', voter: 2 }],
  ] as const)('asks for the fields of a command: %s', async (title, field, value, command) => {
    await press('1')
    await chooseCommand(title)
    const input = page.locator(`.amount [name=${field}]`)
    await input.fill(value)
    await page.locator('.amount .primary').click()
    await expect.poll(made, POLL).toMatchObject({ command: { node: 1, ...command } })
    await press('Escape', 'z')
    await expect.poll(async () => (await eventsMade(page)).length, POLL).toBe(0)
    await press('1')
    await chooseCommand(title)
    await input.press('Control+a')
    await page.keyboard.type(value)
    await press('Enter')
    await expect.poll(made, POLL).toMatchObject({ command: { node: 1, ...command } })
  })

  it('loses messages by chance', async () => {
    await page.getByRole('button', { name: 'Loss' }).click()
    const loss = page.locator('input[name=loss]')
    await loss.fill('25')
    await page.getByRole('button', { name: 'Lose messages' }).click()
    await expect.poll(made, POLL).toMatchObject({ loss: 0.25 })
    await press('Escape')
    await page.getByRole('button', { name: 'Loss' }).press('Enter')
    // The dialog opens a moment after it is rendered. Until then its input cannot take the focus.
    await loss.waitFor()
    await loss.press('Control+a')
    await page.keyboard.type('40')
    await press('Enter')
    await expect.poll(made, POLL).toMatchObject({ loss: 0.4 })
  })

  it('keeps the branch that was left, and compares the two', async () => {
    await press('1', 'c')
    await expect.poll(made, POLL).toMatchObject({ crash: 1 })
    await page.evaluate(() => playground.seekEnd())
    await page.evaluate(() => playground.seek(800_000))
    await press('2', 'c')
    await expect.poll(made, POLL).toMatchObject({ crash: 2 })
    const branches = page.getByRole('navigation', { name: 'Branches' })
    await branches.getByRole('listitem').nth(1).waitFor()
    await branches.getByLabel('Compare with').selectOption({ index: 1 })
    await page.locator('.time-picture').nth(1).waitFor()
    expect(await page.locator('.comparison').innerText()).toContain('the same up to 800 ms')
  })
})
