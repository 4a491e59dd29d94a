/** The short form of `npm run chaos`: every case once, with constants for a loaded machine. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { CASES } from './index.ts'

const CONCLAVE = new URL('../../../bin/conclave', import.meta.url).pathname

type Report = {
  readonly cases: readonly {
    readonly name: string
    readonly problems: readonly string[]
    readonly limited: string | null
  }[]
}

const SHORT = ['--nodes', '3', '--times', '1', '--datagrams', '10000', '--json']
const slackOf = (sigmaMs: number): readonly string[] =>
  `--option sigmaMs=${sigmaMs} --option renewalIntervalMs=100 --kill-before-ms 100`.split(' ')
const SLACK = slackOf(150)
/** The flood occupies a core, so the nodes wait longer for the other. */
const FLOODED = slackOf(800)

async function chaos(...args: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(CONCLAVE, ['chaos', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, WITNESS_SECONDS: '0.05' },
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await ended, out, err }
}

describe('conclave chaos, real processes', () => {
  it.each(Object.keys(CASES))(
    'never shows two leaders at once: %s',
    async (name) => {
      const { code, out } = await chaos(name, ...SHORT, ...(name === 'garbage' ? FLOODED : SLACK))
      const { cases } = JSON.parse(out) as Report
      // Times are not checked here: exit code 1 means that a bound was exceeded.
      expect([cases[0]?.name, cases[0]?.problems, code === 6]).toEqual([name, [], false])
    },
    120_000,
  )

  it.each<[readonly string[], string]>([
    [['dance'], '"dance": unknown case; use kill, '],
    [['--nodes', '2'], '--nodes 2: must be at least 3'],
    [['--option', 'deltaMs=50'], 'breaks the bound'],
  ])('refuses %j with a message that says what to change', async (args, message) => {
    const { code, err } = await chaos(...args)
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })
})
