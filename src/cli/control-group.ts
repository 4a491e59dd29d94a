/**
 * A control group (cgroup v2) for a command: what a process starts stays in its group, whatever session or parent it
 * takes, and the kernel kills all of a group at once.
 *
 * Only Linux has them, and only who may write to its own one can make one below it: root, and services to which systemd
 * delegates theirs (`Delegate=yes`).
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
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
      if (parent === null) return null
      const group = new ControlGroup(join(parent, name))
      mkdirSync(group.folder)
      // Without this file a process that forks faster than it is killed would win.
      if (existsSync(join(group.folder, 'cgroup.kill')) && group.#canEnter(parent)) return group
      group.remove()
    } catch {
      // There are no such groups here, or not for this process.
    }
    return null
  }

  /** What `start` starts is in the group from its first instruction: this process goes in, starts it and comes out. */
  around<T>(start: () => T): T {
    const outside = ownFolder()
    this.#enter()
    try {
      return start()
    } finally {
      if (outside !== null) move(outside)
    }
  }

  /** Kills everything in it. */
  kill(): void {
    try {
      writeFileSync(join(this.folder, 'cgroup.kill'), '1')
    } catch {
      // It has been removed: then it was empty.
    }
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

  #canEnter(outside: string): boolean {
    try {
      this.#enter()
      return true
    } catch {
      return false
    } finally {
      move(outside)
    }
  }

  #enter(): void {
    move(this.folder)
  }
}

/** This process goes there. */
function move(folder: string): void {
  writeFileSync(join(folder, 'cgroup.procs'), String(process.pid))
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
