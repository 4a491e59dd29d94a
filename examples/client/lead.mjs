import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout } from 'node:timers/promises'
import { AgentUnreachableError, claim, RequestRefusedError, release } from 'conclave/client'

const agent = process.env['CONCLAVE_AGENT'] ?? 'http://127.0.0.1:7480'
const adminToken = readFileSync(process.env['CONCLAVE_ADMIN_TOKEN_FILE'], 'utf8').trim()
const PIECE_MS = 20
let isStopping = false
process.once('SIGTERM', () => (isStopping = true))

/** Claims the term, or renews the claim. Null if the agent does not lead or does not answer. */
async function hold(id) {
  const before = performance.now() // the claim is counted from before the request
  try {
    const answer = await claim({ agent, adminToken, claim: id, signal: AbortSignal.timeout(1000) })
    return { ...answer, until: before + answer.expiresInMs }
  } catch (error) {
    const isOver = error instanceof RequestRefusedError && error.status === 409
    if (isOver || error instanceof AgentUnreachableError) return null
    throw error
  }
}

while (!isStopping) {
  let held = await hold(null)
  if (held === null) await setTimeout(100)
  while (held !== null) {
    // A piece of work starts only if the claim outlasts it.
    if (performance.now() + PIECE_MS < held.until) console.log(`works with token ${held.token}`)
    await setTimeout(PIECE_MS)
    if (isStopping || held.ending) {
      await release({ agent, adminToken, claim: held.claim }) // the work has ended
      break
    }
    held = await hold(held.claim)
  }
}
