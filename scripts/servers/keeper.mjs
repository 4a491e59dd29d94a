// Starts servers on request and stops each by its process id, also when the requester crashes. If this process is killed,
// the kernel kills the servers (setpriv --pdeathsig).
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePorts } from '../../dist/service/chaos/free-ports.js'
import { install } from './install.mjs'
import { RECIPES } from './recipes.mjs'

const TIMEOUT_MS = 60_000
const POLL_MS = 20

function idOf(user) {
  const id = (flag) => Number(spawnSync('id', [flag, user], { encoding: 'utf8' }).stdout)
  return { uid: id('-u'), gid: id('-g') }
}

/** Runs a command as another user, and lets the kernel kill it with this process. */
function wrapped(command, owner) {
  const asOwner = owner === null ? [] : ['--reuid', owner.uid, '--regid', owner.gid, '--clear-groups']
  if (spawnSync('setpriv', ['--version']).status !== 0) return command
  return ['setpriv', ...asOwner.map(String), '--pdeathsig', 'KILL', '--', ...command]
}

/** Why the program of a server or a tool cannot be used; null if it can. */
export function whyMissing(recipe) {
  if (recipe.program() !== null) return null
  const problem = install(recipe.package)
  if (problem !== null) return problem
  return recipe.program() === null ? `${recipe.package} is installed, but its program was not found` : null
}

/** Starts a separate server with an empty folder. `more`: further arguments. */
export async function startServer(name, more = []) {
  const recipe = RECIPES[name]
  const folder = mkdtempSync(join(tmpdir(), `conclave-${name}-`))
  const log = join(folder, 'server.log')
  const owner = recipe.user !== undefined && process.getuid?.() === 0 ? idOf(recipe.user) : null
  if (owner !== null) chownSync(folder, owner.uid, owner.gid)
  const ports = await findFreePorts(recipe.ports, 'tcp')
  let child = null

  const run = async () => {
    const output = openSync(log, 'a')
    const [program, ...words] = wrapped(recipe.command(folder, ports, more), owner)
    // Its own process group: an interrupt at the terminal ends the tests, which then end the servers.
    const mine = spawn(program, words, { stdio: ['ignore', output, output], cwd: folder, detached: true })
    child = mine
    closeSync(output)
    const ended = () => mine.exitCode !== null || mine.signalCode !== null
    for (let waited = 0; !ended() && waited < TIMEOUT_MS; waited += POLL_MS) {
      // oxlint-disable-next-line no-await-in-loop -- until it answers
      if (await recipe.isReady(ports)) return
      // oxlint-disable-next-line no-await-in-loop -- until it answers
      await sleep(POLL_MS)
    }
    throw new Error(`${name} did not come up:\n${readFileSync(log, 'utf8').slice(-2000)}`)
  }

  const end = async (signal) => {
    const mine = child
    if (mine === null || mine.exitCode !== null || mine.signalCode !== null) return
    const gone = new Promise((resolve) => mine.once('exit', resolve))
    mine.kill('SIGCONT')
    mine.kill(signal)
    const late = setTimeout(() => mine.kill('SIGKILL'), 5000)
    await gone
    clearTimeout(late)
  }

  const server = {
    name,
    url: recipe.url(ports),
    folder,
    kill: () => end('SIGKILL'),
    restart: run,
    pause: () => pauseAll(child.pid),
    resume: () => signalAll(child.pid, 'SIGCONT'),
    async end() {
      await end(recipe.quit)
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }

  try {
    if (recipe.prepare !== undefined) {
      const { files, command } = recipe.prepare(folder)
      for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content)
      const [program, ...words] = wrapped(command, owner)
      const { status, stderr } = spawnSync(program, words, { encoding: 'utf8', cwd: folder })
      if (status !== 0) throw new Error(`${command[0]} failed: ${stderr}`)
    }
    await run()
  } catch (error) {
    await server.end()
    throw error
  }
  return server
}

/** A server and the processes that it has started: PostgreSQL has one a connection, and each must stop. */
function processesOf(pid) {
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return [pid, ...stdout.split('\n').flatMap((line) => (line.trim() === '' ? [] : [Number(line)]))]
}

function signalAll(pid, signal) {
  for (const each of processesOf(pid)) {
    try {
      process.kill(each, signal)
    } catch (error) {
      // A connection's process may have ended since it was listed.
      if (error.code !== 'ESRCH') throw error
    }
  }
}

/** A process has stopped when each of its threads has, and on a busy machine that takes a while. */
async function pauseAll(pid) {
  signalAll(pid, 'SIGSTOP')
  const isRunning = () => {
    const { stdout } = spawnSync('ps', ['-L', '-o', 'state=', '-p', processesOf(pid).join(',')], {
      encoding: 'utf8',
    })
    return stdout.split('\n').some((state) => /^[RSD]/.test(state))
  }
  // oxlint-disable-next-line no-await-in-loop -- until they have
  while (isRunning()) await sleep(POLL_MS)
}
