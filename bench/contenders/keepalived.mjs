// keepalived (VRRP version 3) with the shortest interval that it can have: node keepalived.mjs NAMESPACE FOLDER NUMBER COUNT
//
// Each contender has a network namespace of its own: keepalived refuses the loopback interface.
import { execFileSync, spawn } from 'node:child_process'
import { createReadStream, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { addressOf } from '../namespaces.mjs'
import { LEAVE_MS, onRelease, say } from './said.mjs'

/** Seconds. Version 3 counts in hundredths. */
const INTERVAL = '0.01'
const [namespace, folder, number, count] = process.argv.slice(2)
const own = join(folder, number)
const fifo = join(own, 'states')
const others = Array.from({ length: Number(count) }, (_, index) => index).filter(
  (index) => index !== Number(number),
)
rmSync(own, { recursive: true, force: true })
mkdirSync(own, { recursive: true })
execFileSync('mkfifo', [fifo])
writeFileSync(
  join(own, 'keepalived.conf'),
  `global_defs {
  vrrp_notify_fifo ${fifo}
  script_user root
}
vrrp_instance bench {
  version 3
  state BACKUP
  nopreempt
  interface eth0
  virtual_router_id 51
  priority ${100 + Number(number)}
  advert_int ${INTERVAL}
  unicast_src_ip ${addressOf(Number(number))}
  unicast_peer {
${others.map((index) => `    ${addressOf(index)}`).join('\n')}
  }
  virtual_ipaddress {
    ${addressOf(99)}/24 dev eth0
  }
}
`,
)

let server = null
function start() {
  const files = ['-f', join(own, 'keepalived.conf'), '-p', join(own, 'pid'), '-r', join(own, 'vrrp')]
  const words = ['netns', 'exec', namespace, 'keepalived', '--dont-fork', '--vrrp', '--log-console', ...files]
  server = spawn('ip', words, { stdio: 'ignore' })
}

// Open for writing too: otherwise the stream ends with the first server, and the states of the next one are lost.
createInterface({ input: createReadStream(fifo, { flags: 'r+' }) }).on('line', (line) => {
  if (line.includes('"bench" MASTER')) say('led')
  else if (line.includes('"bench" BACKUP')) say('lost')
})
// A server that ends properly announces that it no longer leads.
onRelease(async () => {
  const gone = new Promise((resolve) => server.once('exit', resolve))
  server.kill('SIGTERM')
  await gone
  await sleep(LEAVE_MS)
  start()
})
start()
say('ready')
