// Brings a Debian package to this machine if it may: as root, with apt-get. Otherwise says why not.
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

const POLICY = '/usr/sbin/policy-rc.d'
const PATIENCE_MS = 240_000

function apt(...words) {
  const { status, stderr, error } = spawnSync('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...words], {
    encoding: 'utf8',
    timeout: PATIENCE_MS,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  if (status === 0) return null
  return error?.message ?? stderr.trim().split('\n').at(-1) ?? `it ended with ${status}`
}

/** A package of a server starts it at once, at its usual port. It shall only be installed: this is Debian's way to say so. */
function withoutStarting(task) {
  if (existsSync(POLICY)) return task()
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    return task()
  } finally {
    rmSync(POLICY, { force: true })
  }
}

/** Null when the package is there now; else why not, and what to do. */
export function install(name) {
  const doIt = `install it with: apt-get install ${name}`
  if (process.getuid?.() !== 0) return `${name} is not installed and only root can change that; ${doIt}`
  if (spawnSync('apt-get', ['--version']).status !== 0)
    return `${name} is not installed and there is no apt-get`
  const words = ['install', '-y', '--no-install-recommends', name]
  const problem = withoutStarting(() => {
    if (apt(...words) === null) return null
    // The lists of packages are old, or there are none, as in a fresh container.
    return apt('update') ?? apt(...words)
  })
  return problem === null ? null : `${name} could not be installed: ${problem}`
}
