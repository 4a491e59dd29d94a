import { expect, it } from 'vitest'
import type { z } from 'zod'
import type {
  AgentEvent,
  ErrorResponse,
  HistoryResponse,
  LeaderResponse,
  LocalResponse,
  MembersResponse,
  StatusResponse,
  StepDownResponse,
  TermResponse,
} from '../client/index.ts'
import type {
  errorSchema,
  eventSchema,
  historySchema,
  leaderSchema,
  localSchema,
  membersSchema,
  statusSchema,
  stepDownSchema,
  termSchema,
} from './schemas.ts'

/** Removes `readonly` deeply. */
type Writable<T> = T extends object ? { -readonly [K in keyof T]: Writable<T[K]> } : T
type Same<A, B> = [A, Writable<B>] extends [Writable<B>, A] ? true : false
type Agreed = {
  leader: Same<z.infer<typeof leaderSchema>, LeaderResponse>
  members: Same<z.infer<typeof membersSchema>, MembersResponse>
  status: Same<z.infer<typeof statusSchema>, StatusResponse>
  steppedDown: Same<z.infer<typeof stepDownSchema>, StepDownResponse>
  event: Same<z.infer<typeof eventSchema>, AgentEvent>
  history: Same<z.infer<typeof historySchema>, HistoryResponse>
  term: Same<z.infer<typeof termSchema>, TermResponse>
  local: Same<z.infer<typeof localSchema>, LocalResponse>
  error: Same<z.infer<typeof errorSchema>, ErrorResponse>
}
/** Fails to compile when a type differs from its schema. */
const agreed: Agreed = {
  leader: true,
  members: true,
  status: true,
  steppedDown: true,
  event: true,
  history: true,
  term: true,
  local: true,
  error: true,
}

it('matches the types of the client with the schemas', () => {
  expect(Object.values(agreed)).not.toContain(false)
})
