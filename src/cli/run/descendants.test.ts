/** A command of `conclave run` leaves no process behind, in spite of the escapes of its descendants. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePorts } from '../../../test/support/ports.ts'
import { until } from '../../../test/support/wait.ts'
import { ControlGroup } from '../../service/supervise/control-group.ts'
import { createTrail, Descendants, MARK_VARIABLE } from '../../service/supervise/descendants.ts'
import { isAlive } from '../../service/supervise/processes.ts'

const CONCLAVE = new URL('../../../bin/conclave', import.meta.url).pathname

/** Writes its pid, ignores signals, and stays. */
const STAY = 'trap "" TERM HUP INT; echo $$ >> "$PIDS"; while :; do sleep 1; done'
/** Repeatedly starts a successor in a new session, and exits. */
const RUNNER = 'echo $$ >> "$PIDS"; sleep 0.02; setsid sh -c "$RUNNER" > /dev/null 2>&1 &'

/** How descendants escape; each is a line of shell. */
const ESCAPES: Readonly<Record<string, string>> = {
  'a session of its own': 'setsid sh -c "$STAY" &',
  'a daemon: forked twice, in a session of its own, with its files closed':
    '(setsid sh -c "$STAY" < /dev/null > /dev/null 2>&1 &)',
  'a daemon of a daemon': '(setsid sh -c "(setsid sh -c \\"\\$STAY\\" &)" &)',
}
/** Only a control group catches these. */
const HARDER: Readonly<Record<string, string>> = {
  'a chain of short-lived processes': '(setsid sh -c "$RUNNER" > /dev/null 2>&1 &)',
  'a daemon that began with an empty environment':
    '(env -i PATH="$PATH" PIDS="$PIDS" STAY="$STAY" setsid sh -c "$STAY" < /dev/null > /dev/null 2>&1 &)',
}

let folder: string
let started: ChildProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'conclave-descendants-'))
})

afterEach(() => {
  for (const child of started) child.kill('SIGKILL')
  // Processes that a failed test left.
  for (const pid of pids()) if (isAlive(pid) && isOurs(pid)) process.kill(pid, 'SIGKILL')
  started = []
  rmSync(folder, { recursive: true, force: true })
})

function isOurs(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(folder)
  } catch {
    return false
  }
}

function pids(): readonly number[] {
  const file = join(folder, 'pids')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).map(Number) : []
}

/** Every process that has the folder of this test in its environment. */
function living(): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    return Number.isInteger(pid) && pid !== process.pid && isOurs(pid) && isAlive(pid) ? [pid] : []
  })
}

const environment = (): NodeJS.ProcessEnv => ({ ...process.env, PIDS: join(folder, 'pids'), STAY, RUNNER })

function script(escapes: Readonly<Record<string, string>>, last: string): string {
  return `${Object.values(escapes).join('\n')}\n${last}`
}

const own = ControlGroup.create(`conclave-test-${process.pid}`)
own?.remove()
const WITH_GROUP = { ...ESCAPES, ...HARDER }
const EXPECTED = own === null ? ESCAPES : WITH_GROUP

async function run(last: string): Promise<ChildProcess> {
  const [port] = await freePorts(1)
  writeFileSync(join(folder, 'key'), 'a key that is long enough for this')
  const node = ['--group', 'g', '--id', 'a', '--listen', `127.0.0.1:${port}`, '--option', 'sigmaMs=100']
  const words = ['run', ...node, '--key-file', join(folder, 'key'), '--once', '--quiet', '--grace-ms', '100']
  const child = spawn(CONCLAVE, [...words, '--', 'sh', '-c', script(EXPECTED, last)], {
    stdio: 'ignore',
    env: environment(),
  })
  started.push(child)
  await until(() => new Set(pids()).size >= Object.keys(EXPECTED).length)
  return child
}

const ended = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(null)
    else child.once('exit', resolve)
  })

describe.skipIf(process.platform !== 'linux')(
  'conclave run ends all processes that its command has started',
  () => {
    it('when the node is killed', async () => {
      const node = await run(STAY)
      node.kill('SIGKILL')
      await until(() => living().length === 0)
      expect(living()).toEqual([])
    }, 60_000)

    it('when the node receives SIGTERM, before it exits', async () => {
      const node = await run(STAY)
      node.kill('SIGTERM')
      await ended(node)
      expect(living()).toEqual([])
    }, 60_000)

    it('when the command ends by itself, before the node exits', async () => {
      const node = await run('while [ ! -e "$PIDS.end" ]; do sleep 0.02; done; exit 3')
      writeFileSync(join(folder, 'pids.end'), '')
      await ended(node)
      expect([node.exitCode, living()]).toEqual([3, []])
    }, 60_000)

    it('when the guardian is killed, before the node hands leadership over', async () => {
      const node = await run(STAY)
      const guardian = readdirSync('/proc').find((name) => {
        try {
          const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
          const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
          return parent === node.pid && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes('guardian')
        } catch {
          return false
        }
      })
      process.kill(Number(guardian), 'SIGKILL')
      await ended(node)
      expect(living()).toEqual([])
    }, 60_000)
  },
)

describe.skipIf(process.platform !== 'linux')('without a control group', () => {
  it.each(Object.entries(ESCAPES))(
    'finds %s by its mark and its parents',
    async (_what, escape) => {
      const mark = 'a mark of this test alone'
      const command = spawn('sh', ['-c', `${escape}\n${STAY}`], {
        detached: true,
        stdio: 'ignore',
        env: { ...environment(), [MARK_VARIABLE]: mark },
      })
      started.push(command)
      await until(() => pids().length > 1)
      await new Descendants(createTrail(command.pid as number, mark, null)).killAll()
      expect(living()).toEqual([])
    },
    60_000,
  )

  it('finds a process without the mark that was seen with its parents', async () => {
    const command = spawn('sh', ['-c', `env -i PIDS="$PIDS" PATH="$PATH" setsid sh -c '${STAY}' & ${STAY}`], {
      detached: true,
      stdio: 'ignore',
      env: environment(),
    })
    started.push(command)
    await until(() => pids().length > 1)
    const descendants = new Descendants(createTrail(command.pid as number, 'another', null))
    descendants.recordProcesses(Number.POSITIVE_INFINITY)
    command.kill('SIGKILL')
    await ended(command)
    expect(living().length).toBeGreaterThan(0)
    await descendants.killAll()
    expect(living()).toEqual([])
  }, 60_000)

  it('does not scan for processes if little time is left', async () => {
    const command = spawn('sh', ['-c', `env -i PIDS="$PIDS" PATH="$PATH" setsid sh -c '${STAY}' & ${STAY}`], {
      detached: true,
      stdio: 'ignore',
      env: environment(),
    })
    started.push(command)
    await until(() => pids().length > 1)
    const descendants = new Descendants(createTrail(command.pid as number, 'another', null))
    descendants.recordProcesses(Number.POSITIVE_INFINITY)
    const late = new Descendants(createTrail(command.pid as number, 'another', null))
    late.recordProcesses(0)
    command.kill('SIGKILL')
    await ended(command)
    // `late` has not seen the process that left its parents.
    await late.killAll()
    expect(living().length).toBeGreaterThan(0)
    await descendants.killAll()
    expect(living()).toEqual([])
  }, 60_000)

  it('does not signal a process that reuses the pid of an ended command', async () => {
    const foreign = spawn('sh', ['-c', STAY], { detached: true, stdio: 'ignore', env: environment() })
    started.push(foreign)
    await until(() => pids().length > 0)
    const { pid, startedAt } = createTrail(foreign.pid as number, '', null)
    const before = { pid, startedAt: `${Number(startedAt) - 1}`, mark: 'of a command before', group: null }
    const descendants = new Descendants(before)
    descendants.recordProcesses(Number.POSITIVE_INFINITY)
    await descendants.killAll()
    expect([foreign.exitCode, foreign.signalCode, isAlive(pid)]).toEqual([null, null, true])
    expect(readFileSync(`/proc/${pid}/stat`, 'latin1')).not.toMatch(/\) [TZX] /)
  }, 60_000)
})

describe.skipIf(own === null)('with a control group', () => {
  it('passes the environment and the arguments unchanged', async () => {
    const group = ControlGroup.create(`conclave-test-words-${process.pid}`) as ControlGroup
    const show =
      'console.log(JSON.stringify([process.env["a.b"], process.env["-x%%"], process.env.PLAIN, process.argv.slice(1)]))'
    const env = { ...process.env, 'a.b': 'with = and\nlines', '-x%%': '() { :; }', PLAIN: 'yes' }
    const [program, ...words] = group.wrapCommand([process.execPath, '-e', show, '--', '-n', 'a=b', ''], env)
    const { stdout } = spawnSync(program, words, { env, encoding: 'utf8' })
    group.remove()
    expect(JSON.parse(stdout)).toEqual(['with = and\nlines', '() { :; }', 'yes', ['-n', 'a=b', '']])
    expect(existsSync(group.folder)).toBe(false)
  }, 60_000)
})
