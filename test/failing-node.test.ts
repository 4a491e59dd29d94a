/** A node whose protocol breaks an invariant: its term ends first, then the node, and its black box replays to the step. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as pathJoin } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { main } from '../dist/cli/main.js'
import { localLeaderHosting as builtHosting } from '../dist/protocols/local-leader/hosting.js'
import { output, type Protocol } from '../src/core/index.ts'
import { localLeaderHosting } from '../src/protocols/local-leader/hosting.ts'
import { join } from '../src/service/node/index.ts'
import { conclave } from './support/cli.ts'

type Hosting = { group: typeof localLeaderHosting.group }

/** The bug: a node that receives this priority claims a second term during its first. */
const TRIGGER = 13
const ERROR = /^a term starts \(token \d+\) during another \(\d+\)$/

function withBug(protocol: Protocol): Protocol {
  return {
    ...protocol,
    step(state, input, now) {
      const step = protocol.step(state, input, now)
      if (input.type !== 'command' || input.command['priority'] !== TRIGGER) return step
      const { token } = protocol.view(step.state, now)
      const event = { type: 'elected', token: Number(token) + 1, cause: 'elected' }
      return { ...step, effects: [...step.effects, output(event)] }
    },
  }
}

const restore: (() => void)[] = []

/** Puts the bug into a copy of the code: the sources that the node runs, or the build that `conclave` runs. */
function plantBug(hosting: Hosting): void {
  const { group } = hosting
  hosting.group = (identity, options) => {
    const honest = group(identity, options)
    return { ...honest, protocol: withBug(honest.protocol) }
  }
  restore.push(() => {
    hosting.group = group
  })
}

let data: string

beforeEach(() => {
  data = mkdtempSync(pathJoin(tmpdir(), 'conclave-failing-'))
})

afterEach(() => {
  for (const each of restore.splice(0)) each()
  rmSync(data, { recursive: true, force: true })
})

/** The log of a node that leads, alone in its group, and then fails. */
async function failingNode(): Promise<readonly string[]> {
  const log: string[] = []
  const node = await join({
    group: 'g',
    id: 'a',
    listen: '127.0.0.1:0',
    peers: [],
    key: new Uint8Array(32).fill(3),
    data,
    isolation: 'thread',
    // A busy machine must not make the lease expire.
    options: { sigmaMs: 1000, renewalIntervalMs: 100 },
  })
  node.on('revoked', ({ reason }) => log.push(`revoked: ${reason}`))
  node.on('warning', ({ what, detail }) => log.push(`${what}: ${detail}`))
  const led = node
    .lead(async ({ signal }) => {
      log.length = 0
      const ended = once(signal, 'abort')
      signal.addEventListener('abort', () => log.push('the signal of the work is aborted'))
      await setImmediate()
      node.setPriority(TRIGGER).catch(() => {})
      await ended
    })
    .catch((error: Error) => log.push(`lead: ${error.name}`))
  await led
  await node.close()
  return log
}

describe('a node that breaks an invariant', () => {
  it('ends its term first, then itself, and leaves a trace that replays to the failing step', async () => {
    plantBug(localLeaderHosting)
    const log = await failingNode()
    const file = pathJoin(data, 'black-box.ndjson')
    expect(log[0]).toBe('the signal of the work is aborted')
    expect(log[1]).toBe('revoked: failed')
    const rest = log.slice(2).map((line) => line.split(': ')[0])
    expect(rest).toEqual(['black box', 'stopped', 'lead'])
    expect(log[2]).toContain(`conclave replay ${file}`)
    expect(log[3]?.replace('stopped: ', '')).toMatch(ERROR)
    expect(log[4]).toBe('lead: AssertionFailedError')

    const last = JSON.parse(readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '') as {
      readonly failed: { readonly error: string; readonly isFatal: boolean }
    }
    expect(last.failed).toEqual({ error: expect.stringMatching(ERROR), isFatal: true })

    plantBug(builtHosting)
    const replayed = await conclave(['replay', file], { main })
    expect(replayed.stdout).toMatch(/line \d+: node a fails and stops at this step: a term starts/)
    expect(replayed.stdout).toContain('all effects are identical')
    expect(replayed.stdout).toMatch(/verdict: node a failed: a term starts .*that is a bug/)
    expect(replayed.code).toBe(6)
    const transcript = await conclave(['replay', file, '--transcript'], { main })
    expect(transcript.stdout).toMatch(/a .*: fails \(a term starts .*\) and stops/)
  })

  it('replays as fixed in code without the bug', async () => {
    plantBug(localLeaderHosting)
    await failingNode()
    const { stdout, code } = await conclave(['replay', pathJoin(data, 'black-box.ndjson')])
    expect(stdout).toMatch(/node a failed at this step \(a term starts .*\); it succeeds now/)
    expect(code).toBe(1)
  })
})
