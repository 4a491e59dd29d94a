// A process that leads through the library: node conclave.mjs ID LISTEN KEY_FILE DATA PEER...
import { readFileSync } from 'node:fs'
import { join } from 'conclave'
import { onRelease, say } from './said.mjs'

const [id, listen, keyFile, data, ...peers] = process.argv.slice(2)
const node = await join({ group: 'bench', id, listen, peers, key: readFileSync(keyFile), data })
onRelease(() => node.stepDown())
say('ready')
await node.lead(async ({ signal }) => {
  say('led')
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
})
