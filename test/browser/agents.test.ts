/** The live page of real agents, started and harmed by `conclave up`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { describeWithTool } from '../support/servers.ts'
import { TestBrowser, untilLevel } from './browser.ts'

const CONCLAVE = new URL('../../bin/conclave', import.meta.url).pathname
/** On a busy machine processes start slowly, and are late. */
const START_MS = 60_000
const TEST_MS = 150_000
/** The group shall not flap because of the other tests. */
const CALM = ['--profile', 'wan', '--option', 'sigmaMs=300']

type Status = { readonly level: string; readonly leader: { readonly id: string } | null }
type History = { readonly terms: readonly { readonly leader: string | null; readonly from: string }[] }
type Seen = { readonly shownAtMs: number; readonly gap: string; readonly leader: string }

/**
 * Clicks a button of the page, and reads the page's own clock when the page shows a new gap, its cause and another
 * leader.
 */
function actAndMeasure(page: Page, button: string): Promise<Seen> {
  return page.evaluate(
    (name) =>
      new Promise<Seen>((resolve) => {
        const read = (selector: string): string => document.querySelector(selector)?.textContent ?? ''
        const before = { gap: read('.gap-line'), leader: read('.leader-id dd') }
        const confirm = [...document.querySelectorAll('dialog[open] button')].find(
          ({ textContent }) => textContent === name,
        ) as HTMLButtonElement
        const look = (): void => {
          const gap = read('.gap-line')
          const leader = read('.leader-id dd')
          const isOver = leader !== 'none' && leader !== before.leader
          if (isOver && gap !== before.gap && !gap.includes('so far') && !gap.includes('not known yet'))
            resolve({ shownAtMs: Date.now(), gap, leader })
          else requestAnimationFrame(look)
        }
        confirm.click()
        look()
      }),
    button,
  )
}

/** Moves nodes in the dialog until this node is alone on its side. */
async function separate(page: Page, alone: string): Promise<void> {
  const side = page.getByRole('group', { name: 'One side' })
  const moves = await side.getByRole('button').allInnerTexts()
  const wrong = [...moves.filter((id) => id !== alone), ...(moves.includes(alone) ? [] : [alone])]
  // oxlint-disable-next-line no-await-in-loop -- one click after the other
  for (const id of wrong) await page.getByRole('button', { name: `Move ${id} to the other side` }).click()
}

await describeWithTool('chromium', 'the live page of real agents', (program) => {
  let browser: TestBrowser
  let up: ChildProcess
  let urls: { readonly [id: string]: string } = {}

  beforeAll(async () => {
    up = spawn(CONCLAVE, ['up', '--nodes', '3', '--http-port', '0', '--json', ...CALM], {
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    browser = await TestBrowser.launch(program)
    const [first] = (await once(up.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    const { nodes } = JSON.parse(first.toString().split('\n')[0] ?? '') as {
      readonly nodes: readonly { readonly id: string; readonly url: string }[]
    }
    urls = Object.fromEntries(nodes.map(({ id, url }) => [id, url]))
  })
  afterAll(async () => {
    const ended = once(up, 'exit')
    up.kill('SIGTERM')
    await Promise.all([browser.close(), ended])
  })

  const leaderOf = async (): Promise<string> => {
    const answers = await Promise.all(
      Object.values(urls).map(async (url) => {
        const status = await fetch(`${url}/v1/status`).then(
          (response) => response.json() as Promise<Status>,
          () => null,
        )
        return status?.level === 'healthy' ? (status.leader?.id ?? null) : null
      }),
    )
    const [leader, ...others] = answers
    if (typeof leader === 'string' && others.every((each) => each === leader)) return leader
    throw new Error(`the nodes follow ${answers.join(', ')}`)
  }

  /** Opens the page of a node that does not lead. */
  const openFollower = async (): Promise<{ page: Page; leader: string; follower: string }> => {
    const leader = await vi.waitFor(leaderOf, { timeout: START_MS, interval: 50 })
    const follower = Object.keys(urls).find((id) => id !== leader) ?? ''
    const page = await browser.open(`${urls[follower]}`)
    await untilLevel(page, 'healthy')
    return { page, leader, follower }
  }

  it('shows the gap, its cause and the new leader within a second after the leader was killed', {
    timeout: TEST_MS,
  }, async () => {
    const { page, leader, follower } = await openFollower()
    await page.getByRole('button', { name: `Kill ${leader}` }).click()
    await page.locator('dialog[open]').waitFor()
    const { shownAtMs, gap, leader: next } = await actAndMeasure(page, 'Kill')
    expect(gap).toMatch(new RegExp(`No leader for .* m?s: .*${leader}`))
    expect(next).not.toBe(leader)
    // How long the election itself takes depends on the timing of the group; the page may add a second.
    const { terms } = (await fetch(`${urls[follower]}/v1/history`).then((response) =>
      response.json(),
    )) as History
    const elected = terms.findLast((term) => term.leader === next)
    expect(shownAtMs - Date.parse(elected?.from ?? '')).toBeLessThan(1000)
    await untilLevel(page, 'at-risk')
    await page.getByRole('button', { name: `Restart ${leader}` }).click()
    await page.locator('dialog[open]').getByRole('button', { name: 'Restart' }).click()
    await untilLevel(page, 'healthy')
    expect(browser.problems).toEqual([])
    await page.context().close()
  })

  it('says in its banner what a partition takes away', { timeout: TEST_MS }, async () => {
    const { page, leader, follower } = await openFollower()
    const alone = await browser.open(`${urls[leader]}`)
    await page.getByRole('button', { name: 'Partition …' }).click()
    await separate(page, leader)
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Partition', exact: true }).click()
    await untilLevel(page, 'at-risk')
    expect(await page.locator('.banner').innerText()).toContain(
      `${leader} is unreachable; the group cannot survive another failure`,
    )
    await untilLevel(alone, 'no-leader')
    expect(await alone.locator('.banner').innerText()).toContain('1 of 3 voters is reachable, 2 are needed')
    const silent = page.locator('.cell.is-silent')
    await expect.poll(() => silent.count()).toBeGreaterThan(0)
    expect(await silent.first().getAttribute('title')).toContain(`${follower} does not hear ${leader}`)
    await page.getByRole('button', { name: 'Heal' }).click()
    await page.locator('dialog[open]').getByRole('button', { name: 'Heal' }).click()
    await untilLevel(page, 'healthy')
    await untilLevel(alone, 'healthy')
    await Promise.all([page.context().close(), alone.context().close()])
    expect(browser.problems).toEqual([])
  })

  it('turns grey when the agent that serves it is killed, and recovers when it restarts it', {
    timeout: TEST_MS,
  }, async () => {
    const { page, follower } = await openFollower()
    await page.getByRole('button', { name: `Kill ${follower}` }).click()
    await page.locator('dialog[open]').getByRole('button', { name: 'Kill' }).click()
    await untilLevel(page, 'lost')
    expect(await page.locator('.page').getAttribute('class')).toContain('is-stale')
    await page.getByRole('button', { name: `Restart ${follower}` }).click()
    await page.locator('dialog[open]').getByRole('button', { name: 'Restart' }).click()
    await untilLevel(page, 'healthy')
    await page.getByText(`connected to ${follower} again`).waitFor()
    await page.context().close()
    expect(browser.problems).toEqual([])
  })
})
