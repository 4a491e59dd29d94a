/** Transcripts of the protocols that real processes run: one line per event, in words. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { conclave } from '../../../test/support/cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-transcripts-'))
afterAll(() => rmSync(folder, { recursive: true }))

/** Two seconds with one crash of a follower: the leader renews its lease dozens of times. */
async function transcript(protocol: string, ...words: readonly string[]): Promise<readonly string[]> {
  const file = join(folder, `${protocol}.json`)
  const events = [
    { atMs: 1000, crash: 'c' },
    { atMs: 1500, recover: 'c' },
  ]
  writeFileSync(file, JSON.stringify({ protocol, nodes: ['a', 'b', 'c'], seed: 1, events, untilMs: 2000 }))
  const { stdout } = await conclave(['sim', file, '--transcript', ...words])
  return stdout.slice(0, stdout.indexOf('\n\n')).split('\n')
}

describe.each([
  [
    'local-leader',
    /c receives Election\(asks for support in epoch 1\) from a: persists; Reply\(c supports a\) to a$/,
  ],
  [
    'omega',
    /receives cand\(proposes view \d+ with a, b, c\) from a: persists; accept\(accepts view \d+\) to a$/,
  ],
  ['epochs', /b reads the register of a \(epoch 2, ballot 1 for a\): follows a$/],
])('the transcript of %s', (protocol, line) => {
  let lines: readonly string[] = []
  beforeAll(async () => {
    lines = await transcript(protocol)
  })

  it('says each event in words, in short lines', () => {
    expect(lines.filter((each) => line.test(each)).length).toBeGreaterThan(0)
    expect(lines.filter((each) => each.includes('{"') || each.length > 160)).toEqual([])
    expect(lines.length).toBeLessThan(100)
  })

  it('says once per term that a node leads', () => {
    const led = lines.flatMap(
      (each) => /(\w) [^:]*: .*LEADS with token (\d+)/.exec(each)?.slice(1).join(' ') ?? [],
    )
    expect(led.length).toBeGreaterThan(0)
    expect(led).toEqual([...new Set(led)])
  })
})

it('shows renewals and heartbeats with --all', async () => {
  const lines = await transcript('local-leader', '--all')
  expect(lines.filter((line) => line.includes('Election(renews epoch 1)')).length).toBeGreaterThan(10)
})
