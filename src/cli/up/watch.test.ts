/** Keys and lines of `conclave up`, with streams that the test plays. */
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type * as Commands from './commands.ts'
import type { LocalAgent } from './local-agent.ts'
import { LocalGroup } from './local-group.ts'
import { watchAsLines, watchInTerminal } from './watch.ts'

const executed: string[] = []
vi.mock('./commands.ts', async (importOriginal) => {
  const { UsageError } = await import('../errors.ts')
  return {
    ...(await importOriginal<typeof Commands>()),
    execute: (_group: unknown, line: string) => {
      executed.push(line)
      return line === 'bad' ? Promise.reject(new UsageError('"bad": unknown command')) : Promise.resolve()
    },
  }
})

class FakeInput extends PassThrough {
  readonly modes: boolean[] = []
  setRawMode(isRaw: boolean): this {
    this.modes.push(isRaw)
    return this
  }
}

let input = new FakeInput()
let [stdout, stderr] = ['', '']
beforeEach(() => {
  executed.length = 0
  stdout = ''
  stderr = ''
  input = new FakeInput()
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(input as unknown as typeof process.stdin)
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => ((stdout += String(text)), true))
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((stderr += String(text)), true))
})
afterEach(() => void vi.restoreAllMocks())

function groupOf(...states: readonly string[]): LocalGroup {
  return new LocalGroup(
    () =>
      states.map((state, index) => ({
        id: `n${index + 1}`,
        url: `http://127.0.0.1:${7480 + index}`,
        state,
        isLeader: index === 0,
        status: null,
        refresh: () => Promise.resolve(),
      })) as unknown as readonly LocalAgent[],
  )
}

/** Presses keys, one after the other, then quits unless they do. */
async function press(group: LocalGroup, ...keys: readonly string[]): Promise<AbortController> {
  const ended = new AbortController()
  const watching = watchInTerminal(group, ended)
  for (const key of keys) input.write(key)
  await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  const isEnded = ended.signal.aborted
  ended.abort()
  await watching
  return isEnded ? ended : new AbortController()
}

describe('keys in a terminal', () => {
  it.each<[readonly string[], readonly string[]]>([
    [['k'], ['kill n1']],
    [['2', 'k'], ['kill n2']],
    [['r'], ['restart n1']],
    [['p'], ['pause n1']],
    // The third node is paused.
    [['3', 'p'], ['resume n3']],
    [['x'], ['cut n1-all']],
    [['h'], ['heal']],
    [['l'], ['kill leader']],
    [['d'], ['step-down']],
    // There are three nodes: 9 selects the last.
    [['9', 'k'], ['kill n3']],
    [['z', '0', ' '], []],
    // An arrow key is one sequence, not the keys [ and A.
    [['\u001B[B', '\u001B[B', '\u001B[B', '\u001B[A', 'k'], ['kill n2']],
    [['\u001B[A', '\u001B[99~', 'k'], ['kill n1']],
    // In the help, keys do nothing but close it.
    [['?', 'k', '\u001B[6~', '?', 'r'], ['restart n1']],
    [['?', '\u001B', 'k'], ['kill n1']],
    [['\u001B[5~', '\u001B[6~', 'k'], ['kill n1']],
    [
      ['2', '1', 'kx'],
      ['kill n1', 'cut n1-all'],
    ],
  ])('%j run %j', async (keys, commands) => {
    await press(groupOf('up', 'up', 'paused'), ...keys)
    expect(executed).toEqual(commands)
  })

  it.each<[string, readonly string[], readonly string[]]>([
    ['a command is typed', [':', 'heal', '\r'], ['heal']],
    ['a key is text', [':', 'k', '\n'], ['k']],
    ['the last letter is deleted', [':', 'healx', '\u007F', '\r'], ['heal']],
    ['deleting everything leaves the line', [':', '\b', 'h'], ['heal']],
    ['escape leaves the line', [':', 'kill n2', '\u001B', 'h'], ['heal']],
    ['control characters are not typed', [':', 'he\u0001al', '\r'], ['heal']],
  ])('after a colon: %s', async (_what, keys, commands) => {
    await press(groupOf('up', 'up'), ...keys)
    expect(executed).toEqual(commands)
  })

  it.each([['q'], ['?q'], ['\u0003'], [':quit\r'], [': quit \r'], [':x\u0003']])(
    '%j ends the group',
    async (keys) => {
      expect((await press(groupOf('up'), keys)).signal.aborted).toBe(true)
      expect(executed).toEqual([])
    },
  )

  it('reports bad input in the log', async () => {
    const group = groupOf('up')
    await press(group, ':bad\r')
    expect(group.log.map(({ text }) => text)).toEqual(['"bad": unknown command'])
  })

  it('restores the terminal', async () => {
    await press(groupOf('up'))
    expect(input.modes).toEqual([true, false])
    expect(input.listenerCount('data')).toBe(0)
    expect(stdout).toContain('\u001B[?1049h')
    expect(stdout).toContain('\u001B[?1049l')
    expect(stderr).toBe('stopping the agents\n')
  })
})

describe('lines without a terminal', () => {
  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20))

  it('run commands in their order until "quit", and ignore what follows', async () => {
    const ended = new AbortController()
    const watching = watchAsLines(groupOf('up', 'up'), ended, false)
    input.write('kill n1\nheal\n  quit  \nkill n2\n')
    await watching
    expect(executed).toEqual(['kill n1', 'heal'])
    expect(ended.signal.aborted).toBe(true)
  })

  it('print the state once per change', async () => {
    const ended = new AbortController()
    const watching = watchAsLines(groupOf('up', 'down'), ended, false)
    await settle()
    ended.abort()
    await watching
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(stdout).toMatch(/^ {4}0\.\d s {2}/)
    expect(stdout).toContain('n2')
  })

  it('print one JSON object per change with --json', async () => {
    const ended = new AbortController()
    const watching = watchAsLines(groupOf('up', 'paused'), ended, true)
    await settle()
    ended.abort()
    await watching
    expect(JSON.parse(stdout)).toEqual({
      atMs: expect.any(Number),
      leaders: [{ id: 'n1', token: null }],
      failoverMs: null,
      nodes: [
        { id: 'n1', standing: 'up', url: 'http://127.0.0.1:7480' },
        { id: 'n2', standing: 'paused', url: 'http://127.0.0.1:7481' },
      ],
    })
  })

  it('continue after the end of standard input', async () => {
    const ended = new AbortController()
    const watching = watchAsLines(groupOf('up'), ended, false)
    input.end('bad\n')
    await settle()
    expect(ended.signal.aborted).toBe(false)
    ended.abort()
    await watching
    expect(executed).toEqual(['bad'])
  })
})
