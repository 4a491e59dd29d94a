/**
 * Each misconfiguration produces one clear warning: real processes, compared word for word with the table in
 * docs/troubleshooting.md.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { freePorts } from '../../../../test/support/ports.ts'
import { Program } from '../../../../test/support/program.ts'

/** Joins all nodes that it is given, in one process, and prints their warnings. */
const NODES = `
import { join } from 'conclave'
import { readFileSync } from 'node:fs'
const all = JSON.parse(readFileSync(process.argv[2], 'utf8'))
if (process.argv[3] === 'jump') {
  const now = Date.now
  let by = 0
  setTimeout(() => (by = 3_600_000), 2000)
  Date.now = () => now() + by
}
await Promise.all(all.map(async ({ key, cut, ...options }) => {
  const node = await join({ key: new Uint8Array(32).fill(key), isolation: 'thread', ...options })
  if (cut !== undefined) node.injectFaults({ [cut]: { cut: true } })
  node.on('warning', ({ what, detail }) => console.log('warning ' + JSON.stringify([options.group, options.id, what, detail])))
}))
console.log('ready now')
`

type NodeOptions = {
  readonly group: string
  readonly id: string
  readonly listen: string
  readonly peers: readonly string[]
  readonly key: number
  readonly cut?: string
  readonly data?: string
  readonly protocol?: string
  readonly options: { readonly sigmaMs?: number }
}

type Warned = readonly [group: string, id: string, what: string, detail: string]

/** The rows of the table: what is wrong, the kind of the warning, and its text. */
function documented(): readonly (readonly [string, string, string])[] {
  const page = readFileSync(new URL('../../../../docs/troubleshooting.md', import.meta.url), 'utf8')
  const [, rest = ''] = page.split('## A node warns of its configuration')
  const [section = ''] = rest.split('\n## ')
  return section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => {
      const [, wrong = '', what = '', text = ''] = line.split('|').map((cell) => cell.trim())
      return [wrong, what.replaceAll('`', ''), text] as const
    })
}

const folder = mkdtempSync(join(tmpdir(), 'conclave-misconfiguration-'))
let programs: Program[] = []
let ports: readonly number[] = []
/** The address in the page for each port. */
const shown = new Map<number, string>()

const at = (place: number): string => `127.0.0.1:${ports[place] ?? 0}`

function start(name: string, nodes: readonly NodeOptions[], ...words: readonly string[]): Program {
  const file = join(folder, `${name}.json`)
  writeFileSync(file, JSON.stringify(nodes))
  const program = new Program(NODES, [file, ...words])
  programs.push(program)
  return program
}

/** Every case has four places: of a, of b, of another node, and an address without a listener. */
function placesOf(index: number): { a: string; b: string; c: string; nowhere: string } {
  const first = 4 * index
  for (const [offset, address] of ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.9'].entries())
    shown.set(ports[first + offset] ?? 0, `${address}:7400`)
  return { a: at(first), b: at(first + 1), c: at(first + 2), nowhere: at(first + 3) }
}

const warnings = (): readonly Warned[] =>
  programs.flatMap((program) => program.said('warning')).map((text) => JSON.parse(text) as Warned)

/** The text as in the page: its addresses, its folder, and any number of datagrams. */
function asDocumented(detail: string): string {
  return detail
    .replaceAll(/127\.0\.0\.1:(\d+)/g, (text, port) => shown.get(Number(port)) ?? text)
    .replaceAll(join(folder, 'data'), '/var/lib/conclave')
    .replace(/\(\d+ datagrams?\)$/, '(2 datagrams)')
    .replace('EAI_AGAIN', 'ENOTFOUND')
    .replace(/by 3(599|600)\.\d s/, 'by 3600.0 s')
}

beforeAll(async () => {
  ports = await freePorts(44)
  const here: NodeOptions[] = []
  const there: NodeOptions[] = []
  const node = (
    list: NodeOptions[],
    group: string,
    id: string,
    listen: string,
    peers: readonly string[],
    more: Partial<NodeOptions> = {},
  ): void => void list.push({ group, id, listen, peers, key: 7, options: { sigmaMs: 300 }, ...more })

  const resolve = placesOf(0)
  node(here, 'resolve', 'a', resolve.a, ['b=nowhere.invalid:7400'])
  const silent = placesOf(1)
  node(here, 'silent', 'a', silent.a, [`b=${silent.nowhere}`])
  const wrong = placesOf(2)
  node(here, 'wrong', 'a', wrong.a, [`b=${wrong.c}`])
  node(there, 'wrong', 'c', wrong.c, [`a=${wrong.a}`])
  const same = placesOf(3)
  node(here, 'same', 'a', same.a, [`b=${same.b}`])
  node(there, 'same', 'b', same.b, [`a=${same.a}`])
  node(there, 'same', 'b', same.c, [`a=${same.a}`])
  const moved = placesOf(4)
  node(here, 'moved', 'a', moved.a, [`b=${moved.nowhere}`])
  node(there, 'moved', 'b', moved.b, [`a=${moved.a}`])
  const key = placesOf(5)
  node(here, 'key', 'a', key.a, [`b=${key.b}`])
  node(there, 'key', 'b', key.b, [`a=${key.a}`], { key: 8 })
  const constants = placesOf(6)
  node(here, 'constants', 'a', constants.a, [`b=${constants.b}`])
  node(there, 'constants', 'b', constants.b, [`a=${constants.a}`], { options: { sigmaMs: 400 } })
  const protocol = placesOf(10)
  node(here, 'protocol', 'a', protocol.a, [`b=${protocol.b}`])
  node(there, 'protocol', 'b', protocol.b, [`a=${protocol.a}`], {
    protocol: 'omega',
    data: join(folder, 'omega'),
    options: {},
  })
  const link = placesOf(7)
  node(here, 'link', 'a', link.a, [`b=${link.b}`, `c=${link.c}`], { cut: 'b' })
  node(there, 'link', 'b', link.b, [`a=${link.a}`, `c=${link.c}`])
  node(there, 'link', 'c', link.c, [`a=${link.a}`, `b=${link.b}`])
  const data = placesOf(8)
  node(here, 'data', 'a', data.a, [], { data: join(folder, 'data') })
  const clock = placesOf(9)
  start(
    'clock',
    [{ group: 'clock', id: 'a', listen: clock.a, peers: [], key: 7, options: { sigmaMs: 300 } }],
    'jump',
  )
  const first = start('here', here)
  start('there', there)
  await vi.waitUntil(() => first.said('ready').length > 0, { timeout: 60_000, interval: 10 })
  rmSync(join(folder, 'data'), { recursive: true })
}, 90_000)

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill()))
  programs = []
  rmSync(folder, { recursive: true, force: true })
})

/** In the order of the table: the group and the node that warns. */
const CASES = [
  ['resolve', 'a'],
  ['silent', 'a'],
  ['wrong', 'c'],
  ['same', 'a'],
  ['moved', 'a'],
  ['key', 'a'],
  ['constants', 'a'],
  ['protocol', 'a'],
  ['link', 'b'],
  ['link', 'a'],
  ['clock', 'a'],
  ['data', 'a'],
] as const

describe('a misconfigured node warns once, as documented:', () => {
  const rows = documented()

  it('the table has one row for each case', () => {
    expect(rows).toHaveLength(CASES.length)
  })

  it.each(
    rows.map(([wrong, what, text], index) => [wrong, what, text, ...(CASES[index] ?? ['', ''])] as const),
  )(
    '%s',
    async (_wrong, what, text, group, id) => {
      const given = (): readonly string[] =>
        warnings()
          .filter(([of, by, kind]) => of === group && by === id && kind === what)
          .map(([, , , detail]) => asDocumented(detail))
      await expect.poll(given, { timeout: 30_000 }).toContain(text)
      // Counts of datagrams are repeated at a limited rate; everything else is said once.
      if (what !== 'key' && what !== 'address')
        expect(given().filter((each) => each === text)).toHaveLength(1)
    },
    40_000,
  )

  it('two processes with one id are one warning: their datagrams are no further one', {
    timeout: 60_000,
  }, async () => {
    const given = (): readonly string[] =>
      warnings()
        .map(([of, by, what]) => (of === 'same' && by === 'a' ? what : ''))
        .filter((what) => what === 'conflict' || what === 'dropped')
    await expect.poll(given, { timeout: 30_000 }).toContain('conflict')
    // Dropped datagrams are reported every ten seconds.
    await setTimeout(12_000)
    expect(given()).toEqual(['conflict'])
  })
})
