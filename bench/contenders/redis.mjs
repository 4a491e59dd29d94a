// The lock recipe of Redis: SET NX PX, renewed by its holder at a third of its time, tried again at short intervals.
// node redis.mjs HOST PORT TTL_MS RETRY_MS
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { LEAVE_MS, onRelease, say } from './said.mjs'

const [host, port, ttl, retry] = process.argv.slice(2)
const me = String(process.pid)
const socket = connect(Number(port), host)
const waiting = []
let heard = ''
// All answers here are one line: +OK, :1, $-1.
socket.on('data', (data) => {
  heard += data.toString()
  const lines = heard.split('\r\n')
  heard = lines.pop()
  for (const line of lines) waiting.shift()?.(line)
})
await new Promise((resolve) => socket.once('connect', resolve))

function redis(...words) {
  socket.write(
    `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`,
  )
  return new Promise((resolve) => waiting.push(resolve))
}
const IF_MINE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call"
const renew = () =>
  redis('EVAL', `${IF_MINE}('pexpire', KEYS[1], ARGV[2]) else return 0 end`, '1', 'leader', me, ttl)
const release = () => redis('EVAL', `${IF_MINE}('del', KEYS[1]) else return 0 end`, '1', 'leader', me)

let renewing = null
async function campaign() {
  while ((await redis('SET', 'leader', me, 'NX', 'PX', ttl)) !== '+OK') await sleep(Number(retry))
  say('led')
  renewing = setInterval(renew, Number(ttl) / 3)
}

onRelease(async () => {
  if (renewing === null) return
  clearInterval(renewing)
  renewing = null
  await release()
  await sleep(LEAVE_MS)
  await campaign()
})
say('ready')
await campaign()
