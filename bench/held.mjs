// What it costs to ask a term whether it is still held, with the election in a thread of its own and in the same one.
import { setImmediate } from 'node:timers/promises'
import { join } from 'conclave'

const ROUNDS = 100
const CALLS = 5_000
/** The target is that of the default, the thread of its own. */
const TARGET_NS = { worker: 1000, thread: null }

async function measure(isolation) {
  const node = await join({
    group: 'bench',
    id: 'a',
    listen: '127.0.0.1:0',
    peers: [],
    key: new Uint8Array(32).fill(1),
    isolation,
    options: { sigmaMs: 500 },
  })
  const rounds = []
  await node.lead(
    async (term) => {
      for (let round = 0; round < ROUNDS; round++) {
        const from = performance.now()
        for (let call = 0; call < CALLS; call++) term.assertHeld()
        rounds.push(((performance.now() - from) * 1e6) / CALLS)
        // oxlint-disable-next-line no-await-in-loop -- others have their turn, or the lease would not be renewed
        await setImmediate()
      }
    },
    { once: true },
  )
  await node.close()
  return rounds.sort((a, b) => a - b)
}

export async function printHeld() {
  for (const isolation of ['worker', 'thread']) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other, or they would disturb one another
    const rounds = await measure(isolation)
    const [best, median] = [rounds[0], rounds[ROUNDS / 2]].map((ns) => Math.round(ns))
    const target = TARGET_NS[isolation] === null ? '' : `  (target under ${TARGET_NS[isolation]} ns)`
    console.log(`term.assertHeld()  isolation ${isolation}: ${median} ns a call, best ${best} ns${target}`)
  }
}
