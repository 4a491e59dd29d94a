// Generates HTTP load on an agent over plain sockets, which cost little CPU. Receives one order after the other by IPC,
// and replies with the number of responses with and without status 200.
import { connect } from 'node:net'

/** Number of sockets for constant rates. */
const SOCKETS = 50
const LONGEST_MS = 30_000
/** How long a watcher stays connected. */
const WATCH_MS = 1000

const requestFor = ({ path, headers = '' }, connection) =>
  `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: ${connection}\r\n${headers}\r\n`

/** Opens a connection and counts the status of every response. */
function opened(port, sum, onAnswer = () => {}) {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay(true)
  const ended = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => {})
  let tail = ''
  socket.on('data', (data) => {
    const text = tail + data.toString('latin1')
    const statuses = text.match(/HTTP\/1\.1 \d{3} /g) ?? []
    // Keeps a possible start of the next status line.
    tail = text.slice(-12).replace(/^.*HTTP\/1\.1 \d{3} /s, '')
    for (const status of statuses) {
      if (status.endsWith(' 200 ')) sum.ok += 1
      else sum.other += 1
      onAnswer()
    }
  })
  return { socket, ended }
}

async function burst({ port, count, ...load }, sum, leaveAfterMs) {
  const text = requestFor(load, leaveAfterMs === null ? 'close' : 'keep-alive')
  const all = Array.from({ length: count }, () => {
    const { socket, ended } = opened(port, sum)
    socket.setTimeout(LONGEST_MS, () => socket.destroy())
    socket.write(text)
    if (leaveAfterMs !== null) setTimeout(() => socket.destroy(), leaveAfterMs)
    return ended
  })
  await Promise.all(all)
}

/** Pipelines all requests over a few sockets. */
async function pipeline({ port, count, ...load }, sum) {
  const text = requestFor(load, 'keep-alive')
  await Promise.all(
    Array.from({ length: SOCKETS }, () => {
      let missing = count / SOCKETS
      const { socket, ended } = opened(port, sum, () => {
        missing -= 1
        if (missing === 0) socket.destroy()
      })
      socket.setTimeout(LONGEST_MS, () => socket.destroy())
      socket.write(text.repeat(missing))
      return ended
    }),
  )
}

/** A constant rate, limited by the number of pending responses. */
async function rate({ port, seconds, rate: wanted, ...load }, sum) {
  const text = requestFor(load, 'keep-alive')
  let unanswered = 0
  const sockets = Array.from({ length: SOCKETS }, () =>
    opened(port, sum, () => {
      unanswered -= 1
    }),
  )
  const began = performance.now()
  let sent = 0
  for (;;) {
    const passed = performance.now() - began
    if (passed > seconds * 1000) break
    const due = (passed / 1000) * wanted
    while (sent < due && unanswered < SOCKETS * 4) {
      sockets[sent % SOCKETS].socket.write(text)
      sent += 1
      unanswered += 1
    }
    // oxlint-disable-next-line no-await-in-loop -- one burst after the other
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  for (const { socket } of sockets) socket.destroy()
}

process.on('message', async (order) => {
  const sum = { ok: 0, other: 0 }
  if (order.ask === 'nothing') await new Promise((resolve) => setTimeout(resolve, order.seconds * 1000))
  if (order.ask === 'watch') await burst(order, sum, WATCH_MS)
  if (order.ask === 'connect') await burst(order, sum, WATCH_MS)
  if (order.ask === 'pipeline') await pipeline(order, sum)
  if (order.ask === 'burst') await burst(order, sum, null)
  if (order.ask === 'rate') await rate(order, sum)
  process.send(sum)
})
