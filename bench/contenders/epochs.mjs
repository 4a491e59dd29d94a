// A process that leads through the library, in a store: node epochs.mjs ID STORE
import { join } from 'conclave'
import { onRelease, say } from './said.mjs'

const [id, store] = process.argv.slice(2)
const node = await join({ group: 'bench', id, protocol: 'epochs', store })
onRelease(() => node.stepDown())
say('ready')
await node.lead(async ({ signal }) => {
  say('led')
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
})
