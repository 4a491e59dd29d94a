// A process that leads through the library: node conclave.mjs SETTINGS ID LISTEN KEY_FILE DATA PEER...
// SETTINGS: further options of `join`, as JSON, and `witness`, the file into which a leader writes its token all the time.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'conclave'
import { onRelease, say } from './said.mjs'

const [given, id, listen, keyFile, data, ...peers] = process.argv.slice(2)
const { witness, ...settings } = JSON.parse(given)
const node = await join({ group: 'bench', id, listen, peers, key: readFileSync(keyFile), data, ...settings })
// Appends of several processes to one file have an order.
const file = witness === undefined ? null : openSync(witness, 'a')
node.on('level', ({ leaseMs }) => say(`lease ${leaseMs}`))
onRelease(() => node.stepDown())
say('ready')
await node.lead(async (term) => {
  say('led')
  const write = () => {
    if (term.remaining() > 0) writeSync(file, `${id} ${term.token}\n`)
  }
  const writing = file === null ? null : setInterval(write, 1)
  if (file !== null) write()
  await new Promise((resolve) => term.signal.addEventListener('abort', resolve))
  clearInterval(writing)
})
