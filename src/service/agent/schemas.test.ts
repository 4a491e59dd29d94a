import { expect, it } from 'vitest'
import type { z } from 'zod'
import type {
  AgentEvent,
  ErrorAnswer,
  LeaderAnswer,
  MembersAnswer,
  StatusAnswer,
  SteppedDown,
} from '../client/index.ts'
import type {
  agentEvent,
  errorAnswer,
  leaderAnswer,
  membersAnswer,
  statusAnswer,
  steppedDown,
} from './schemas.ts'

/** Plain is what JSON makes of it: without `readonly`, deeply. */
type Writable<T> = T extends object ? { -readonly [K in keyof T]: Writable<T[K]> } : T
type Same<A, B> = [A, Writable<B>] extends [Writable<B>, A] ? true : false
type Agreed = {
  leader: Same<z.infer<typeof leaderAnswer>, LeaderAnswer>
  members: Same<z.infer<typeof membersAnswer>, MembersAnswer>
  status: Same<z.infer<typeof statusAnswer>, StatusAnswer>
  steppedDown: Same<z.infer<typeof steppedDown>, SteppedDown>
  event: Same<z.infer<typeof agentEvent>, AgentEvent>
  error: Same<z.infer<typeof errorAnswer>, ErrorAnswer>
}
/** Does not compile when one of them is false. */
const agreed: Agreed = {
  leader: true,
  members: true,
  status: true,
  steppedDown: true,
  event: true,
  error: true,
}

it('the types of the client are those of the schemas', () => {
  expect(Object.values(agreed)).not.toContain(false)
})
