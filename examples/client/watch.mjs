import { setTimeout } from 'node:timers/promises'
import { AgentUnreachableError, watch } from 'conclave/client'

const agent = process.env['CONCLAVE_AGENT'] ?? 'http://127.0.0.1:7480'
let after = null
for (;;) {
  try {
    for await (const seen of watch({ agent, after })) {
      if (seen.type === 'event') after = seen.id
      console.log(seen.type === 'event' ? seen.event.event : seen.type)
    }
  } catch (error) {
    if (!(error instanceof AgentUnreachableError)) throw error
  }
  // The agent was stopped, or the connection was lost.
  await setTimeout(500)
}
