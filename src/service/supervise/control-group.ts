/**
 * A control group (cgroup v2) for a command: what a process starts stays in its group, whatever session or parent it
 * takes, and the kernel kills all of a group at once.
 *
 * Only Linux has them, and only who may write to its own one can make one below it: root, and services to which systemd
 * delegates theirs (`Delegate=yes`).
 */
import { spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFile,
} from 'node:fs'
import { join } from 'node:path'

export class ControlGroup {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  /** Below the one of this process; null where that cannot be. */
  static make(name: string): ControlGroup | null {
    try {
      const parent = ownFolder()
      if (parent === null || !existsSync(SHELL)) return null
      const group = new ControlGroup(join(parent, name))
      mkdirSync(group.folder)
      // Who moves a process must be able to write to both. (This kills what forks faster than it is killed.)
      const mayWrite =
        canWrite(parent, 'cgroup.procs') && canWrite(group.folder, 'cgroup.procs', 'cgroup.kill')
      if (mayWrite && group.#takes()) return group
      group.remove()
    } catch {
      // There are no such groups here, or not for this process.
    }
    return null
  }

  /**
   * The same command, in the group from its first instruction. A shell goes in and becomes the command: to be moved may
   * take as long as a lease lasts on a busy machine, and whoever watches the lease must not wait for that.
   * Shells drop variables whose names they could not use (`a.b`, `BASH_FUNC_x%%`): those are handed on as words.
   */
  entering(
    command: readonly string[],
    environment: NodeJS.ProcessEnv,
  ): readonly [program: string, ...words: string[]] {
    const odd = Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || name === '' || /^[A-Za-z_]\w*$/.test(name) ? [] : [`${name}=${value}`],
    )
    const handing = odd.length === 0 ? [] : ['env', '--', ...odd]
    return [SHELL, '-c', ENTER, join(this.folder, 'cgroup.procs'), ...handing, ...command]
  }

  /** Whether a process can go in: some kinds of groups take none, though anybody may write there. */
  #takes(): boolean {
    const procs = join(this.folder, 'cgroup.procs')
    return spawnSync(SHELL, ['-c', ENTER, procs, 'true'], { stdio: 'ignore' }).status === 0
  }

  /** Kills everything in it. Nobody has to wait for that. */
  kill(): void {
    // What cannot be written to was removed: then it was empty.
    writeFile(join(this.folder, 'cgroup.kill'), '1', () => {})
  }

  /** Whether anything in it runs. */
  get isPopulated(): boolean {
    try {
      return /^populated 1$/m.test(readFileSync(join(this.folder, 'cgroup.events'), 'latin1'))
    } catch {
      return false
    }
  }

  /** Gives it back, with those that the command made in it. Those that are not empty stay. */
  remove(): void {
    removeFolders(this.folder)
  }
}

const SHELL = '/bin/sh'
/** The shell's own name is the file to write to. */
const ENTER = 'echo 0 > "$0" && exec "$@"'

function canWrite(folder: string, ...files: readonly string[]): boolean {
  try {
    for (const file of files) accessSync(join(folder, file), constants.W_OK)
    return true
  } catch {
    return false
  }
}

function removeFolders(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) removeFolders(join(folder, entry.name))
    rmdirSync(folder)
  } catch {
    // It is gone already, or still in use.
  }
}

/** The folder of this process's own control group; null when there is none to be seen. */
function ownFolder(): string | null {
  const own = /^0::(?<path>\/.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.groups?.['path']
  if (own === undefined || own.includes('/..')) return null
  for (const line of readFileSync('/proc/self/mountinfo', 'utf8').split('\n')) {
    const [mount = '', file = ''] = line.split(' - ')
    if (!file.startsWith('cgroup2 ')) continue
    const [, , , root = '/', at = ''] = mount.split(' ')
    if (root === '/') return join(at, own)
    if (own === root || own.startsWith(`${root}/`)) return join(at, own.slice(root.length))
  }
  return null
}
