/** The live page against an agent that says what the test wants. */
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import type { StatusResponse } from '../../src/service/client/index.ts'
import { describeWithTool } from '../support/servers.ts'
import { findAxeViolations, TestBrowser, untilLevel } from './browser.ts'
import { exampleStatus, measured } from './example.ts'
import { FakeAgent } from './fake-agent.ts'

const TIMING = {
  level: 12,
  levels: [9, 28],
  leaseMs: 119.2,
  renewalMs: 47.5,
  marginMs: 47,
  leaseMinMs: 60,
  leaseMaxMs: 5000,
  failoverMs: { typical: 116.4, worst: 220.7 },
  need: null,
  evidence: [],
  refusals: [],
} satisfies StatusResponse['timing']

const ASSETS = new URL('../../dist/web/assets/', import.meta.url)

it('has at most 120 kB of scripts and styles, compressed', () => {
  const sizes = readdirSync(ASSETS)
    .filter((name) => /\.(?:js|css)$/.test(name))
    .map((name) => gzipSync(readFileSync(new URL(name, ASSETS))).length)
  const size = sizes.reduce((sum, each) => sum + each, 0)
  expect(size).toBeGreaterThan(20_000)
  expect(size).toBeLessThanOrEqual(120_000)
})

await describeWithTool('chromium', 'the live page', (program) => {
  let browser: TestBrowser
  let agent: FakeAgent
  beforeAll(async () => {
    browser = await TestBrowser.launch(program)
  })
  afterAll(() => browser.close())
  beforeEach(async () => {
    agent = new FakeAgent()
    await agent.start()
  })
  afterEach(async () => {
    await agent.stop()
    const problems = browser.problems.splice(0)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })

  /** The stream of the page before may close late. */
  const STREAMS = { timeout: 20_000 }

  it.each([
    ['light', 1440, 790, 'pictures'],
    ['dark', 1440, 790, 'tables'],
    ['light', 390, 844, 'pictures'],
    ['dark', 390, 844, 'tables'],
  ] as const)('is accessible and fits, %s, %d × %d pixels, with %s', async (theme, width, height, form) => {
    agent.local = { url: agent.url, nodes: { n1: 'up', n2: 'up', n3: 'paused' }, cut: [] }
    const page = await browser.open(agent.url, { theme, width, height })
    await untilLevel(page, 'healthy')
    await page.getByRole('button', { name: 'Kill n2' }).waitFor()
    await page.locator('.chart canvas').first().waitFor()
    const { scrollWidth, scrollHeight } = await page.evaluate(() => {
      const root = document.documentElement
      return { scrollWidth: root.scrollWidth, scrollHeight: root.scrollHeight }
    })
    expect(scrollWidth).toBe(width)
    // On a laptop everything is visible without scrolling.
    if (width > 1000) expect(scrollHeight).toBe(height)
    // oxlint-disable-next-line no-await-in-loop -- one click after the other
    if (form === 'tables') {
      await page.getByRole('button', { name: 'Show the leadership history as a table' }).click()
      await page.getByRole('button', { name: 'Show who hears whom as a table' }).click()
      await page.getByRole('button', { name: 'Show the charts as a table' }).click()
    }
    expect(await findAxeViolations(page)).toEqual([])
    await page.context().close()
  })

  it('shows the leader and every caption in full at any width', async () => {
    agent.change({ timing: TIMING, measured: { ...measured(9.4), sigmaMs: 421.7 } })
    const page = await browser.open(agent.url)
    await untilLevel(page, 'healthy')
    await page.locator('.chart canvas').first().waitFor()
    const cut = (): Promise<object> =>
      page.evaluate(() => {
        const isCut = (element: Element): boolean => {
          const card = element.closest('.card')?.getBoundingClientRect()
          const { right } = element.getBoundingClientRect()
          return element.scrollWidth > element.clientWidth || right > (card?.right ?? 0)
        }
        const shown = [...document.querySelectorAll('.facts dd, .facts dt, .marks span, figcaption')]
        const captions = shown.filter(isCut).map((element) => element.textContent)
        return { captions, scrollWidth: document.documentElement.scrollWidth }
      })
    for (const width of [1920, 1440, 1280, 1200, 1120, 1100, 900, 768, 640, 390, 360, 320]) {
      // oxlint-disable-next-line no-await-in-loop -- one width after the other
      await page.setViewportSize({ width, height: 790 })
      // The charts follow the window a moment later.
      // oxlint-disable-next-line no-await-in-loop -- one width after the other
      await expect.poll(cut, { message: `${width} pixels` }).toEqual({ captions: [], scrollWidth: width })
    }
    await page.context().close()
  })

  it.each([
    ['light', 1440],
    ['dark', 1280],
    ['light', 1101],
    ['light', 900],
    ['dark', 390],
  ] as const)(
    'shows all actions on nodes without scrolling sideways, %s, %d pixels',
    async (theme, width) => {
      agent.local = {
        url: agent.url,
        nodes: { n1: 'up', n2: 'up', n3: 'paused', n4: 'down', n5: 'up' },
        cut: [],
      }
      const page = await browser.open(agent.url, { theme, width, height: 790 })
      await page.getByRole('button', { name: 'Kill n2' }).waitFor()
      const hidden = await page.evaluate(() => {
        const card = document.querySelector('.card.nodes')?.getBoundingClientRect()
        return [...document.querySelectorAll('.card.nodes button')]
          .filter((button) => {
            const { left, right, top, height } = button.getBoundingClientRect()
            const at = document.elementFromPoint((left + right) / 2, top + height / 2)
            const isOutside = right > (card?.right ?? 0) || left < (card?.left ?? 0)
            // What is below the window cannot be asked for.
            return isOutside || (at !== null && at !== button)
          })
          .map((button) => button.getAttribute('aria-label') ?? button.textContent)
      })
      expect(hidden).toEqual([])
      await page.context().close()
    },
  )

  it('answers the six questions of an operator', async () => {
    const page = await browser.open(agent.url)
    await untilLevel(page, 'healthy')
    const text = async (selector: string): Promise<string> =>
      (await page.locator(selector).innerText()).replaceAll(/\s+/g, ' ')
    expect(await text('.banner')).toContain(
      'Healthy n2 leads billing with token 7; all 5 voters are reachable',
    )
    expect(await text('.card.leader')).toMatch(/n2 token 7 leads for 3 min 1\d s .*81 ms left of 120 ms/)
    expect(await text('.card.tolerance')).toContain('2 nodes 5 of 5 voters reachable, 3 needed')
    // The history comes a moment after the status.
    const gap = 'No leader for 181 ms: n3 was late by 93 ms (σ is 30 ms)'
    await expect.poll(() => text('.gap-line')).toContain(gap)
    expect(await text('.observer')).toMatch(/seen by n1 \(follower, 0\.1\.0\).* live · data [\d.]+ m?s old/)
    expect(await page.locator('.gap').count()).toBe(2)
    expect(await page.title()).toBe('Healthy: billing')
    expect(await page.locator('.ribbon .term').count()).toBe(3)
    await page.context().close()
  })

  it('shows the length of leases that tune themselves, and why it is not shorter', async () => {
    const need = {
      level: 12,
      leaseMs: 119.2,
      cause: 'late',
      by: 'n3',
      text: 'n3 handled timers up to 11 ms late',
    }
    agent.change({ timing: TIMING })
    const page = await browser.open(agent.url, { width: 1440, height: 790 })
    await untilLevel(page, 'healthy')
    const leader = page.locator('.card.leader')
    const text = async (): Promise<string> => (await leader.innerText()).replaceAll(/\s+/g, ' ')
    expect(await text()).toMatch(/failover 116 ms at most 221 ms .*Level 12 60 ms 5\.0 s/)
    expect(await leader.getByRole('link', { name: 'its page' }).getAttribute('href')).toBe(
      'http://127.0.0.1:7481/',
    )
    agent.change({ timing: { ...TIMING, need: { ...need, cause: 'late' } } })
    await expect.poll(text).toContain('Why: n3 handled timers up to 11 ms late')
    await expect.poll(() => agent.streams, STREAMS).toBe(1)
    const reason = `lease 61 ms -> 119 ms: ${need.text}`
    agent.sendEvents([{ event: 'level', leader: 'n1', reason }])
    await page.locator('.log-row.kind-level').getByText(reason).waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(790)
    expect(await findAxeViolations(page)).toEqual([])
    await page.context().close()
  })

  it('turns grey when its agent stops, recovers by itself, and resumes the stream after the last event', async () => {
    const page = await browser.open(agent.url)
    await untilLevel(page, 'healthy')
    await expect.poll(() => agent.streams, STREAMS).toBe(1)
    agent.sendEvents([{ event: 'warning', reason: 'before the loss' }])
    await page.getByText('before the loss').waitFor()
    await agent.stop()
    await untilLevel(page, 'lost')
    expect(await page.locator('.page').getAttribute('class')).toContain('is-stale')
    expect(await page.locator('.banner').innerText()).toContain('The agent does not answer.')
    await agent.start()
    await untilLevel(page, 'healthy')
    await expect.poll(() => agent.resumed).toEqual(['0', 'fake-1'])
    await page.getByText('connected to n1 again').waitFor()
    await page.context().close()
  })

  it('says so if the agent stopped while the charts were loaded', async () => {
    const page = await browser.open(agent.url)
    await page.route(/chart-.*\.js/, (route) => route.abort())
    await page.reload()
    const charts = page.locator('.chart-grid')
    await charts
      .getByText('The agent stopped while this chart was loaded. Reload the page.')
      .first()
      .waitFor()
    await page.unroute(/chart-.*\.js/)
    await page.reload()
    await expect.poll(() => charts.locator('canvas').count()).toBeGreaterThan(0)
    await page.context().close()
  })

  it('can be used with the keyboard only', async () => {
    agent.local = { url: agent.url, nodes: { n1: 'up', n2: 'up' }, cut: [] }
    const page = await browser.open(agent.url)
    await page.getByRole('button', { name: 'Kill n2' }).waitFor()
    const press = async (...keys: readonly string[]): Promise<void> => {
      // oxlint-disable-next-line no-await-in-loop -- one key after the other
      for (const key of keys) await page.keyboard.press(key)
    }
    const focused = (): Promise<string> =>
      page.evaluate(
        () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '',
      )
    const tabTo = async (name: RegExp): Promise<void> => {
      for (let step = 0; step < 80; step += 1) {
        // oxlint-disable-next-line no-await-in-loop -- one key after the other
        await press('Tab')
        // oxlint-disable-next-line no-await-in-loop -- one key after the other
        if (name.test(await focused())) return
      }
      throw new Error(`the keyboard does not reach ${name}`)
    }
    await tabTo(/^Leadership ribbon/)
    await press('ArrowLeft')
    await expect.poll(() => page.locator('.gap-line').innerText()).toContain('n1 crashed')
    await tabTo(/^Kill n2$/)
    await press('Enter')
    expect(await page.locator('dialog[open] pre').innerText()).toBe('kill n2')
    await press('Escape')
    await expect.poll(() => page.locator('dialog[open]').count()).toBe(0)
    await expect.poll(focused).toBe('Kill n2')
    await press('Enter')
    await tabTo(/^Kill$/)
    await press('Enter')
    await expect.poll(() => agent.posted).toEqual([{ path: '/v1/local/kill', body: { id: 'n2' } }])
    await tabTo(/^Partition …$/)
    await press('Enter')
    await tabTo(/^Move n1 to the other side$/)
    await press('Space')
    await tabTo(/^Continue$/)
    await press('Enter')
    expect(await page.locator('dialog[open] pre').innerText()).toBe('partition n1,n2 n3,n4,n5')
    await press('Escape')
    await tabTo(/^Filter events$/)
    await page.keyboard.type('nothing like this')
    await page.getByText('No events.').waitFor()
    await page.context().close()
  })

  it('shows a long event in full, by the keyboard and by a tap', async () => {
    const page = await browser.open(agent.url, { width: 390, height: 844 })
    await expect.poll(() => agent.streams, STREAMS).toBe(1)
    const reason = `${'messages were slow; '.repeat(20)}leaseMaxMs >= 7200 would have held`
    agent.sendEvents([
      { event: 'warning', reason },
      { event: 'warning', reason: 'a later one' },
    ])
    await page.locator('.log-row').getByText('a later one').waitFor()
    const detail = page.locator('.log-detail')
    expect(await detail.count()).toBe(0)
    await page.locator('.log-rows').focus()
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => detail.innerText()).toContain('n1 warning a later one')
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => detail.innerText()).toContain(reason)
    expect(await detail.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0)
    expect(await findAxeViolations(page)).toEqual([])
    await page.keyboard.press('Escape')
    await expect.poll(() => detail.count()).toBe(0)
    await page.locator('.log-row').getByText('a later one').click()
    await expect.poll(() => detail.innerText()).toContain('a later one')
    await page.context().close()
  })

  it('separates nodes by dragging', async () => {
    agent.local = { url: agent.url, nodes: { n1: 'up', n2: 'up' }, cut: [] }
    const page = await browser.open(agent.url)
    await page.getByRole('button', { name: 'Partition …' }).click()
    const left = page.getByRole('group', { name: 'One side' })
    await page.getByRole('button', { name: 'Move n3 to the other side' }).dragTo(left)
    await left.getByRole('button', { name: 'Move n3' }).waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Partition', exact: true }).click()
    await expect
      .poll(() => agent.posted)
      .toEqual([
        {
          path: '/v1/local/partition',
          body: {
            sides: [
              ['n2', 'n3'],
              ['n1', 'n4', 'n5'],
            ],
          },
        },
      ])
    await page.context().close()
  })

  it('hands leadership over with the admin token, and says when it is wrong', async () => {
    agent.change({ leader: { id: 'n1', token: 7, expiresInMs: 80 } })
    const page = await browser.open(agent.url)
    await page.getByRole('button', { name: 'Hand leadership over to n3' }).click()
    expect(await page.locator('dialog[open] pre').innerText()).toMatch(
      /^conclave step-down --agent http:\S+ --group billing --admin-token-file FILE --to n3$/,
    )
    await page.getByLabel('Admin token').fill('wrong')
    await page.getByRole('button', { name: 'Hand over', exact: true }).click()
    await page.getByText('Not done: the admin token is missing, wrong or expired').waitFor()
    await page.getByLabel('Admin token').fill('right')
    await page.getByRole('button', { name: 'Hand over', exact: true }).click()
    await expect.poll(() => page.locator('dialog[open]').count()).toBe(0)
    expect(agent.posted.at(-1)).toEqual({ path: '/v1/step-down', body: { to: 'n3' } })
    await page.context().close()
  })

  it('downloads the black box with the admin token', async () => {
    const page = await browser.open(agent.url)
    await page.getByRole('button', { name: 'Black box …' }).click()
    expect(await page.locator('dialog[open] pre').innerText()).toContain('/v1/trace')
    await page.getByLabel('Admin token').fill('right')
    const downloaded = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download', exact: true }).click()
    const download = await downloaded
    expect(download.suggestedFilename()).toBe('billing-n1.ndjson')
    expect(readFileSync(await download.path(), 'utf8')).toBe('{"trace":1}')
    await page.context().close()
  })

  it('asks for a token where reading needs one', async () => {
    agent.readToken = 'reader'
    agent.statuses.set('mail', exampleStatus({ group: 'mail' }))
    const page = await browser.open(`${agent.url}?group=billing`)
    const enter = async (button: string, text: string): Promise<void> => {
      await page.getByRole('button', { name: button }).click()
      await page.getByLabel('Token', { exact: true }).fill(text)
      await page.getByRole('button', { name: 'Use token' }).click()
    }
    await untilLevel(page, 'lost')
    const banner = (): Promise<string> => page.locator('.banner').innerText()
    expect(await banner()).toMatch(/^Refused\s+The token is missing, wrong or expired\. Enter a token/)
    await enter('Enter token', 'schlüssel ✓')
    await expect.poll(banner).toContain('The token contains characters that HTTP cannot send.')
    await enter('Token entered', 'reader')
    await untilLevel(page, 'healthy')
    // The other groups could not be read before.
    await page.getByRole('link', { name: 'mail' }).waitFor()
    agent.readToken = 'changed'
    agent.adminToken = 'changed'
    agent.closeStreams()
    await untilLevel(page, 'lost')
    await page.context().close()
  })

  it('continues the log when a token is entered, instead of repeating it', async () => {
    const page = await browser.open(agent.url)
    await untilLevel(page, 'healthy')
    await expect.poll(() => agent.streams, STREAMS).toBe(1)
    agent.sendEvents([{ event: 'warning', reason: 'before the token' }])
    await page.getByText('before the token').waitFor()
    await page.getByRole('button', { name: 'Enter token' }).click()
    await page.getByLabel('Token', { exact: true }).fill('right')
    await page.getByRole('button', { name: 'Use token' }).click()
    await expect.poll(() => agent.resumed).toEqual(['0', 'fake-1'])
    await page.context().close()
  })

  it.each([390, 800, 1440])('fits names of any length, %d pixels', async (width) => {
    const id = 'billing-worker.'.repeat(5).slice(0, 64)
    const group = 'g'.repeat(120)
    const status = exampleStatus()
    agent.statuses.clear()
    agent.statuses.set(
      group,
      exampleStatus({
        group,
        self: { id, role: 'leader' },
        leader: { id, token: 7, expiresInMs: 80 },
        voters: [id, ...status.voters.slice(1)],
        banner: `healthy: ${id.replaceAll('.', '_')} leads ${group}`,
        warnings: [{ at: new Date().toISOString(), what: 'link', detail: 'x'.repeat(200), count: 1 }],
        nodes: status.nodes.map((node, index) => (index === 0 ? { ...node, id, leader: true } : node)),
      }),
    )
    agent.statuses.set('other', exampleStatus({ group: 'other' }))
    const page = await browser.open(agent.url, { width })
    await untilLevel(page, 'healthy')
    await expect.poll(() => agent.streams, STREAMS).toBe(1)
    agent.sendEvents([{ event: 'warning', reason: 'an event' }])
    await page.locator('.log-row').first().waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    // No part of an event covers the next one.
    const overlaps = await page.evaluate(() => {
      const parts = [...(document.querySelector('.log-row')?.children ?? [])].filter(
        (part) => getComputedStyle(part).display !== 'none',
      )
      const ends = parts.map((part) => {
        const { left, right } = part.getBoundingClientRect()
        const isClipped = getComputedStyle(part).overflowX === 'hidden'
        return { left, right: isClipped ? right : left + part.scrollWidth }
      })
      return ends.filter(({ right }, place) => right > (ends[place + 1]?.left ?? innerWidth) + 1).length
    })
    expect(overlaps).toBe(0)
    // The state of a node is visible beside its id.
    const state = await page.locator('.nodes tbody .state').first().boundingBox()
    expect((state?.x ?? width) + (state?.width ?? 0)).toBeLessThan(width)
    await page.context().close()
  })

  it('shows several groups, and says when there is no such group', async () => {
    agent.statuses.set(
      'mail',
      exampleStatus({ group: 'mail', level: 'degraded', banner: 'degraded: n1 leads mail' }),
    )
    const page = await browser.open(`${agent.url}?group=nothing`)
    await untilLevel(page, 'lost')
    expect(await page.locator('.banner').innerText()).toContain('it serves billing, mail.')
    await page.getByRole('link', { name: 'mail, Degraded' }).click()
    await untilLevel(page, 'degraded')
    expect(new URL(page.url()).searchParams.get('group')).toBe('mail')
    await page.getByRole('link', { name: 'billing' }).click()
    await untilLevel(page, 'healthy')
    await page.context().close()
  })

  it('survives junk on the stream and an agent of another version', async () => {
    const page = await browser.open(agent.url)
    await untilLevel(page, 'healthy')
    await expect.poll(() => agent.streams, STREAMS).toBe(1)
    agent.sendRaw(
      'event: change\ndata: {"at":\n\nevent: status\ndata: []\n\nevent: surprise\ndata: 7\n\n\0\u{ffff}\n\n',
    )
    await page.getByText('3 unreadable messages').waitFor()
    agent.sendEvents([{ event: 'alarm', reason: '<img src=x onerror="alert(1)">' }])
    await page.getByText('<img src=x onerror="alert(1)">').waitFor()
    const { version: _v, measured: _m, warnings: _w, ...older } = exampleStatus()
    agent.history = null
    agent.statuses.set('billing', older as ReturnType<typeof exampleStatus>)
    agent.sendStatus()
    await page.getByText('The agent is older and does not tell its version').waitFor()
    await untilLevel(page, 'healthy')
    await page.context().close()
  })

  it('never claims more than it knows: an alarm stays, and a lease shrinks without news', async () => {
    const page = await browser.open(agent.url)
    agent.change({ level: 'alarm', banner: 'SAFETY ALARM in billing: n1 and n2 lead with token 7' })
    await untilLevel(page, 'alarm')
    expect(await page.locator('.banner strong').innerText()).toBe('SAFETY ALARM')
    const certain = page.locator('.lease-certain')
    await expect.poll(() => certain.evaluate(({ style }) => style.transform)).toBe('scaleX(0)')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    agent.sendStatus()
    await expect.poll(() => certain.evaluate(({ style }) => style.transform)).toBe('scaleX(0.6783)')
    await page.context().close()
  })
})
