/**
 * A control group (cgroup v2) for a command. Descendants stay in the group even if they change session or parent, and the
 * kernel can kill the whole group at once.
 *
 * Only Linux has control groups. A process can create one only if it can write to its own: root, and services to which
 * systemd delegates theirs (`Delegate=yes`).
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

  /** Creates a group below the one of this process; null where that is impossible. */
  static create(name: string): ControlGroup | null {
    try {
      const parent = findOwnFolder()
      if (parent === null || !existsSync(SHELL)) return null
      const group = new ControlGroup(join(parent, name))
      mkdirSync(group.folder)
      // Moving a process needs write access to both groups. cgroup.kill also kills processes that fork quickly.
      const mayWrite =
        canWrite(parent, 'cgroup.procs') && canWrite(group.folder, 'cgroup.procs', 'cgroup.kill')
      if (mayWrite && group.#canEnter()) return group
      group.remove()
    } catch {
      // Control groups are not available, or not to this process.
    }
    return null
  }

  /**
   * The command line that runs the command in the group from its first instruction: a shell enters the group and replaces
   * itself with the command. Moving a process from here could take as long as a lease on a loaded machine.
   * Shells drop variables with names that they cannot use (`a.b`, `BASH_FUNC_x%%`); `env` passes these on.
   */
  wrapCommand(
    command: readonly string[],
    environment: NodeJS.ProcessEnv,
  ): readonly [program: string, ...args: string[]] {
    const unusual = Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || name === '' || /^[A-Za-z_]\w*$/.test(name) ? [] : [`${name}=${value}`],
    )
    const prefix = unusual.length === 0 ? [] : ['env', '--', ...unusual]
    return [SHELL, '-c', ENTER, join(this.folder, 'cgroup.procs'), ...prefix, ...command]
  }

  /** Whether a process can enter: some kinds of groups refuse processes although they are writable. */
  #canEnter(): boolean {
    const procs = join(this.folder, 'cgroup.procs')
    return spawnSync(SHELL, ['-c', ENTER, procs, 'true'], { stdio: 'ignore' }).status === 0
  }

  /** Kills every process in the group. Does not wait. */
  kill(): void {
    // Fails only if the group was removed: then it was empty.
    writeFile(join(this.folder, 'cgroup.kill'), '1', () => {})
  }

  /** Whether the group contains a running process. */
  get isPopulated(): boolean {
    try {
      return /^populated 1$/m.test(readFileSync(join(this.folder, 'cgroup.events'), 'latin1'))
    } catch {
      return false
    }
  }

  /** Removes the group and the groups that the command created in it. Groups that are not empty stay. */
  remove(): void {
    removeFolders(this.folder)
  }
}

const SHELL = '/bin/sh'
/** `$0` is the file to write to. */
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
    // Removed already, or still in use.
  }
}

/** The folder of this process's control group; null if it is not visible. */
function findOwnFolder(): string | null {
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
