// Network namespaces that reach each other and nothing else, for programs that refuse the loopback interface.
import { spawnSync } from 'node:child_process'

export const addressOf = (index) => `10.77.0.${index + 1}`

function ip(...words) {
  const { status, stderr, error } = spawnSync('ip', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${error?.message ?? stderr.trim()}`)
}

/** Calls back with their names, and removes them afterwards. */
export async function withNamespaces(count, task) {
  const names = Array.from({ length: count }, (_, index) => `conclave-${process.pid}-${index}`)
  const hub = `conclave-${process.pid}-hub`
  const made = []
  const make = (name) => {
    ip('netns', 'add', name)
    made.push(name)
  }
  try {
    make(hub)
    ip('-n', hub, 'link', 'add', 'hub', 'type', 'bridge')
    ip('-n', hub, 'link', 'set', 'hub', 'up')
    for (const [index, name] of names.entries()) {
      make(name)
      ip('-n', hub, 'link', 'add', `port${index}`, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
      ip('-n', hub, 'link', 'set', `port${index}`, 'master', 'hub', 'up')
      ip('-n', name, 'addr', 'add', `${addressOf(index)}/24`, 'dev', 'eth0')
      ip('-n', name, 'link', 'set', 'eth0', 'up')
      ip('-n', name, 'link', 'set', 'lo', 'up')
    }
    return await task(names)
  } finally {
    for (const name of made) ip('netns', 'delete', name)
  }
}
