/** The page of `conclave demo fractal`: with real processes, and with states that the test makes up. */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished } from 'vitest'
import { DemoRefusedError } from '../../src/service/demo/demo.ts'
import { Observed } from '../../src/service/demo/observed.ts'
import { cutIntoTiles } from '../../src/service/demo/picture/tiles.ts'
import { type ServedDemo, serveDemo } from '../../src/service/demo/server.ts'
import type { DemoState, NodeState, TileState } from '../../src/service/demo/state.ts'
import { openDemo } from '../support/demo.ts'
import { describeWithTool } from '../support/servers.ts'
import { findAxeViolations, TestBrowser } from './browser.ts'

const TEST_MS = 240_000
/** On a busy machine, a tile needs this long for its checkpoints. */
const POLL = { timeout: 180_000, interval: 250 }
const PICTURE = { width: 240, height: 160, iterations: 10 }
const IDENTICAL = 'Identical to the picture without failures, bit for bit.'

const NODES: readonly NodeState[] = [
  { id: 'n1', status: 'up', keepReason: null },
  { id: 'n2', status: 'up', keepReason: 'it restores a tile' },
  { id: 'n3', status: 'joining', keepReason: 'it is joining' },
  { id: 'n4', status: 'down', keepReason: null },
  { id: 'n5', status: 'up', keepReason: null },
]

const STATUSES = ['running', 'running', 'done', 'submitted', 'lost', 'running'] as const
const OWNERS = ['n1', 'n2', 'n5', null, null, 'n5'] as const

function exampleState(tiles: readonly TileState[]): DemoState {
  return {
    phase: 'rendering',
    picture: PICTURE,
    seconds: 12.3,
    tolerated: 2,
    nodes: NODES,
    view: { token: 40_002, leader: 'n1', members: ['n1', 'n2', 'n5'] },
    step: { step: 5, token: 40_002 },
    tiles,
    counts: { kills: 2, revivals: 1, resumed: 3, checkpoints: 21, duplicates: 4, fenced: 1, views: 6 },
    identical: null,
    events: Array.from({ length: 40 }, (_, index) => ({
      seconds: index / 3,
      text: index % 2 === 0 ? `kill -9 n${index}` : `n1 installs view 4000${index} with n1, n2, n3 and n5`,
    })),
  }
}

/** A demonstration that says what the test wants. */
class FakeDemo implements ServedDemo {
  readonly observed: Observed
  readonly asked: string[] = []
  #state: DemoState

  constructor() {
    const named = cutIntoTiles(PICTURE, STATUSES.length).map((tile, index) => ({
      ...tile,
      name: `tile-${index + 1}`,
    }))
    this.observed = new Observed(PICTURE, named, 2)
    this.#state = exampleState(
      named.map((tile, index) => ({
        ...tile,
        rows: 0,
        status: STATUSES[index] ?? 'running',
        node: OWNERS[index] ?? null,
        epoch: index === 3 ? null : index,
        holders: index === 3 ? [] : ['n1', 'n2', null, 'n4', 'n5'],
      })),
    )
  }

  readonly state = (): DemoState => this.#state

  change(changed: Partial<DemoState>): void {
    this.#state = { ...this.#state, ...changed }
  }

  onChange(): () => void {
    return () => {}
  }

  async kill(id: string): Promise<void> {
    this.asked.push(`kill ${id}`)
    if (id === 'n5') throw new DemoRefusedError('n5 must not be killed now: n4 must return first')
  }

  revive(id: string): void {
    this.asked.push(`revive ${id}`)
  }
}

/** Serves it on a free port, until the test ends. */
async function serve(demo: ServedDemo): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const closing = new AbortController()
  const server = await serveDemo(demo, 0, closing.signal)
  let isStopped = false
  const stop = async (): Promise<void> => {
    if (isStopped) return
    isStopped = true
    closing.abort()
    await server.close()
  }
  onTestFinished(stop)
  return { url: server.url, stop }
}

const widthOf = (page: Page): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth)

/** What the page says about each node. */
async function readNodes(page: Page): Promise<{ readonly [id: string]: string }> {
  const items = await page.locator('#nodes li').all()
  const pairs = items.map(
    async (item): Promise<[string, string]> => [
      await item.locator('b').innerText(),
      await item.locator('.what').innerText(),
    ],
  )
  return Object.fromEntries(await Promise.all(pairs))
}

/** The tiles that the text about a node names. */
const tilesIn = (text = ''): readonly string[] => text.match(/tile-\d+/g) ?? []

/** Red, green and blue of every pixel of the canvas. */
async function readCanvas(page: Page): Promise<Buffer> {
  const rgb = await page.evaluate(() => {
    const { width, height } = document.querySelector('canvas') as HTMLCanvasElement
    const drawing = document.querySelector('canvas')?.getContext('2d')
    const data = drawing?.getImageData(0, 0, width, height).data ?? []
    return Array.from(data).filter((_, index) => index % 4 !== 3)
  })
  return Buffer.from(rgb)
}

await describeWithTool('chromium', 'the page of the fractal', (program) => {
  let browser: TestBrowser
  beforeAll(async () => {
    browser = await TestBrowser.launch(program)
  })
  afterAll(() => browser.close())
  afterEach(() => {
    const problems = browser.problems.splice(0)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  })

  it(
    'shows how the tiles of a killed node move, and completes an identical picture',
    async () => {
      const { demo, end } = await openDemo({ nodes: 5, tiles: 8, pauseMs: 1500 })
      try {
        const { url } = await serve(demo)
        const running = demo.run(AbortSignal.timeout(TEST_MS))
        running.catch(() => {})
        const page = await browser.open(url)
        // Every tile has the colour and the name of its node, and columns of its checkpoint at all nodes.
        const frames = page.locator('.tile.running')
        await expect.poll(() => frames.count(), POLL).toBeGreaterThan(3)
        const [label, colour] = await frames
          .first()
          .evaluate((frame) => [frame.textContent, /own-\d/.exec(frame.className)?.[0]])
        expect(colour).toBe(`own-${label?.slice(1)}`)
        const full = page.locator('#checkpoints li').first().locator('.columns i:not(.missing)')
        await expect.poll(() => full.count(), POLL).toBe(5)

        const before = await readNodes(page)
        const victim = Object.keys(before).find(
          (id) => tilesIn(before[id]).length > 0 && !before[id]?.includes('fault manager'),
        ) as string
        const orphans = tilesIn(before[victim])
        const kill = page.getByRole('button', { name: `kill ${victim}` })
        const killAndRead = async (): Promise<string | undefined> => {
          // While the view changes, kills are refused.
          if ((await kill.count()) === 1 && (await kill.isEnabled())) await kill.click()
          return (await readNodes(page))[victim]
        }
        await expect.poll(killAndRead, POLL).toBe('down')
        const adopted = new Set<string>()
        const readAdopted = async (): Promise<readonly string[]> => {
          const { [victim]: _, ...others } = await readNodes(page)
          for (const tile of Object.values(others).flatMap(tilesIn)) adopted.add(tile)
          return [...adopted]
        }
        // Its tiles appear at other nodes, and continue from their checkpoints.
        await expect.poll(readAdopted, POLL).toEqual(expect.arrayContaining([...orphans]))
        await page.locator('#events').getByText(`kill -9 ${victim}`).first().waitFor()

        await page.getByRole('button', { name: `revive ${victim}` }).click()
        expect(await findAxeViolations(page)).toEqual([])
        await expect.poll(async () => (await readNodes(page))[victim], POLL).toMatch(/columns?$/)
        // A busy page may click twice before it shows that the node is down.
        const { identical, kills, revivals } = await running
        expect([identical, kills > 0, revivals > 0]).toEqual([true, true, true])
        await page.getByText(IDENTICAL).waitFor()
        await expect
          .poll(
            async () => Buffer.compare(await readCanvas(page), Buffer.from(demo.observed.canvas.pixels)),
            POLL,
          )
          .toBe(0)
        await page.context().close()
      } finally {
        await end()
      }
    },
    TEST_MS,
  )

  it.each([
    ['light', 'dark', 1440, 900],
    ['dark', 'light', 390, 844],
  ] as const)('is accessible and fits, %s and %s, %d × %d pixels', async (theme, other, width, height) => {
    const demo = new FakeDemo()
    const { url } = await serve(demo)
    const page = await browser.open(url, { theme, width, height })
    await page.locator('#nodes li').nth(4).waitFor()
    expect(await widthOf(page)).toBe(width)
    expect(await findAxeViolations(page)).toEqual([])
    await page.emulateMedia({ colorScheme: other })
    for (const identical of [true, false]) {
      demo.change({ phase: 'done', identical })
      // oxlint-disable-next-line no-await-in-loop -- one state after the other
      await page.getByText(identical ? IDENTICAL : 'DIFFERENT from the picture').waitFor()
      // oxlint-disable-next-line no-await-in-loop -- one state after the other
      expect(await findAxeViolations(page)).toEqual([])
    }
    await page.emulateMedia({ colorScheme: theme })
    expect(await findAxeViolations(page)).toEqual([])
    await page.context().close()
  })

  it('names the nodes, their tiles, their columns, and the step of recovery', async () => {
    const demo = new FakeDemo()
    const { url } = await serve(demo)
    const page = await browser.open(url)
    await page.locator('#nodes li').nth(4).waitFor()
    expect(await readNodes(page)).toEqual({
      n1: 'fault manager · tile-1 · 5 columns',
      n2: 'tile-2 · 5 columns',
      n3: 'joining',
      n4: 'down',
      n5: 'tile-6 · 5 columns',
    })
    expect(await page.locator('#view').innerText()).toBe('View 40002: n1, n2, n5 (3 of 5)')
    expect(await page.locator('#steps [aria-current="step"]').innerText()).toContain('assign jobs to nodes')
    const checkpoints = page.locator('#checkpoints li')
    expect(await checkpoints.nth(0).innerText()).toContain('columns at n1, n2, n5')
    // The columns of a node that is down cannot be read.
    expect(await checkpoints.nth(0).locator('.columns i:not(.missing)').count()).toBe(3)
    expect(await checkpoints.nth(3).innerText()).toContain('no checkpoint')
    const tolerated = page.locator('#tolerated')
    expect(await tolerated.innerText()).toBe('Any two columns may be lost.')
    demo.change({ tolerated: 0 })
    await expect.poll(() => tolerated.innerText(), POLL).toBe('No column may be lost.')
    const labels = page.locator('.tile span')
    expect(await labels.allInnerTexts()).toEqual(['n1', 'n2', '', '', 'lost', 'n5'])
    // Dark text needs a ground, also where no node gives its colour.
    const grounds = await labels.evaluateAll((spans) =>
      spans
        .filter(({ textContent }) => textContent !== '')
        .map((span) => getComputedStyle(span).backgroundColor),
    )
    expect(grounds).not.toContain('rgba(0, 0, 0, 0)')
    expect(await page.getByRole('button', { name: 'kill n2' }).isDisabled()).toBe(true)
    await page.context().close()
  })

  it('sends what is clicked, and shows why it was refused', async () => {
    const demo = new FakeDemo()
    const { url, stop } = await serve(demo)
    const page = await browser.open(url)
    await page.getByRole('button', { name: 'revive n4' }).click()
    await page.getByRole('button', { name: 'kill n5' }).click()
    await page.getByRole('alert').getByText('n5 must not be killed now: n4 must return first').waitFor()
    expect(demo.asked).toEqual(['revive n4', 'kill n5'])
    await page.getByRole('button', { name: 'kill n1' }).click()
    await expect.poll(() => page.getByRole('alert').innerText()).toBe('')
    await stop()
    await page.getByText('The demonstration does not answer. Trying again …').waitFor()
    await page.context().close()
  })
})
