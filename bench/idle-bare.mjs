// One of the bare processes of bench/idle.mjs: node idle-bare.mjs PORT RATE SIZE OTHER_PORT...
// Sends RATE datagrams of SIZE bytes per second to the other ports in turn, and reads incoming ones. Nothing else.
import { createSocket } from 'node:dgram'
import { isIP } from 'node:net'

const [port, rate, size, ...others] = process.argv.slice(2).map(Number)
const datagram = Buffer.alloc(size)
const socket = createSocket({ type: 'udp4', lookup: (host, _options, done) => done(null, host, isIP(host)) })
socket.on('message', () => {})
socket.on('error', () => {})
socket.bind(port, '127.0.0.1')
const everyMs = (1000 * others.length) / rate
let next = performance.now() + everyMs

function talk() {
  for (const other of others) socket.send(datagram, other, '127.0.0.1')
  next += everyMs
  setTimeout(talk, Math.max(1, next - performance.now()))
}
setTimeout(talk, everyMs)
