/** `conclave demo fractal` as a command: its flags, its result, and its end. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { conclave } from '../../../test/support/cli.ts'
import { childrenOf, isAlive } from '../../service/supervise/processes.ts'

const TIMEOUT_MS = 240_000
const CONCLAVE = fileURLToPath(new URL('../../../bin/conclave', import.meta.url))
const SMALL = '--width 96 --height 64 --tiles 6 --iterations 300 --timeout-ms 2000 --pause-ms 100'.split(' ')
const folder = mkdtempSync(join(tmpdir(), 'conclave-demo-cli-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs the command as a process of its own, with its temporary files in `folder`. */
function start(...words: readonly string[]) {
  const child = spawn(process.execPath, [CONCLAVE, 'demo', 'fractal', ...SMALL, ...words], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (data: Buffer) => {
    stdout += data.toString()
  })
  child.stderr.on('data', (data: Buffer) => {
    stderr += data.toString()
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const saying = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const match = pattern.exec(stderr)
        if (match !== null) resolve(match)
      }
      child.stderr.on('data', check)
      void ended.then(() => reject(new Error(`ended without ${pattern.source}: ${stderr}`)))
    })
  return { child, ended, saying, stdout: () => stdout }
}

const leftovers = (): readonly string[] =>
  readdirSync(folder).filter((name) => name.startsWith('conclave-demo-'))

describe('bad flags', () => {
  it.each([
    ['--nodes 1', '--nodes 1: must be at least 2'],
    ['--nodes 17', '--nodes 17: must be at most 16'],
    ['--nodes 2 --kill 1', '--kill 1: a group of 2 nodes tolerates no loss; use --nodes 3 or more'],
    ['--tiles 300', '--tiles 300: must be at most 256'],
    ['--tiles 20 --height 10', '--tiles 20: must be at most the width and the height of the picture'],
    ['--width none', '--width none: write a whole number'],
    ['--iterations 0', '--iterations 0: must be at least 1'],
    ['--timeout-ms 10', '--timeout-ms 10: must be from 300 to 60000'],
    ['--pause-ms 1e9', '--pause-ms 1e9: write a number of milliseconds'],
    ['--port 70000', '--port 70000: must be at most 65535'],
    ['--stay --no-page', '--stay: needs the page; remove --no-page'],
    ['--out /nowhere/picture.png', '--out /nowhere/picture.png: there is no folder /nowhere'],
    ['--out /', '--out /: is a folder; name a file'],
    ['--seed x', '--seed x: write a whole number'],
  ])('%s are refused', async (flags, message) => {
    const { code, stderr } = await conclave(['demo', 'fractal', ...flags.split(' ')])
    expect(stderr).toContain(message)
    expect(code).toBe(2)
  })

  it('name an unknown demonstration', async () => {
    const { code, stderr } = await conclave(['demo', 'sculpture'])
    expect(stderr).toContain("unknown command 'sculpture'")
    expect(code).toBe(2)
  })
})

describe('conclave demo fractal', () => {
  it(
    'prints that the picture is identical although two nodes were killed',
    async () => {
      const out = join(folder, 'picture.png')
      const { ended, stdout } = start('--kill', '2', '--seed', '4', '--json', '--no-page', '--out', out)
      expect(await ended).toBe(0)
      const result = JSON.parse(stdout()) as { readonly [field: string]: unknown }
      expect(result).toMatchObject({ identical: true, kills: 2, nodes: 5, tiles: 6, width: 96, height: 64 })
      expect(readFileSync(out).subarray(1, 4).toString()).toBe('PNG')
      expect(leftovers()).toEqual([])
    },
    TIMEOUT_MS,
  )

  it(
    'ends all processes on Ctrl-C, and serves the page until then',
    async () => {
      const { child, ended, saying } = start('--nodes', '3', '--port', '0', '--pause-ms', '2000')
      const [, url = ''] = await saying(/page: (http:\S+)/)
      await saying(/view \d+: n1, n2, n3/)
      expect((await fetch(url)).headers.get('Content-Security-Policy')).toContain("default-src 'none'")
      const state = (await (await fetch(`${url}/state`)).json()) as { readonly nodes: readonly unknown[] }
      expect(state.nodes).toHaveLength(3)
      const children = childrenOf(child.pid ?? 0)
      expect(children.length).toBeGreaterThanOrEqual(3)
      child.kill('SIGINT')
      expect(await ended).toBe(1)
      expect(children.filter((pid) => isAlive(pid))).toEqual([])
      expect(leftovers()).toEqual([])
    },
    TIMEOUT_MS,
  )
})
