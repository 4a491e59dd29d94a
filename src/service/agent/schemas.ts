/**
 * The response bodies as schemas: the source of /v1/openapi.json and of the HTTP reference. The TypeScript types are in
 * client/responses.ts, which imports nothing. schemas.test.ts makes the compiler compare the two.
 */
import { z } from 'zod'

const id = z.union([z.string(), z.number()])
const group = z.string().describe('name of the group')
const token = z.number().nullable()

const leader = z
  .strictObject({
    id,
    token: token.describe('fencing token; grows with every term; null in local mode'),
    expiresInMs: z
      .number()
      .nullable()
      .describe(
        'time until the lease expires unless the leader renews it; exact if the agent itself leads; null under a protocol without leases',
      ),
  })
  .nullable()
  .describe('null if the agent knows of no leader')

const self = z
  .strictObject({
    id,
    role: z
      .string()
      .describe('leader, follower, candidate or observer; under a protocol with views also dead'),
  })
  .describe('the node of this agent')

const viewFields = {
  id: z.tuple([z.number(), id.nullable()]).describe('number and leader of the view'),
  members: z.array(id),
  incarnations: z.array(z.number()).describe('incarnation of each member, in the same order'),
}

const leaderFields = { group, leader, self }

const node = z.strictObject({
  id,
  voter: z.boolean().describe('whether its vote counts'),
  leader: z.boolean(),
  reachable: z
    .boolean()
    .describe('whether the agent has recent evidence that it can exchange messages with it'),
  evidenceMsAgo: z
    .number()
    .nullable()
    .describe(
      'age of the newest evidence that it is reachable: a timely message, or a report of the leader; null: no evidence',
    ),
  heardMsAgo: z
    .number()
    .nullable()
    .describe('time since the agent last received a message from it; null: never'),
})

export const leaderSchema = z.strictObject(leaderFields)
export const membersSchema = z.strictObject({ group, self, nodes: z.array(node) })
export const statusSchema = z.strictObject({
  ...leaderFields,
  banner: z.string().describe('one sentence about the condition of the group'),
  level: z.enum(['healthy', 'degraded', 'at-risk', 'no-leader', 'alarm']),
  mode: z.enum(['local', 'majority', 'store']),
  voters: z.array(id).describe('nodes whose votes count'),
  failureTolerance: z
    .number()
    .describe('number of further voters that can fail, in the worst case, before the group loses its leader'),
  evidenceTtlMs: z
    .number()
    .nullable()
    .describe(
      'a node is reachable for this long after the newest evidence; null where the protocol has no such limit',
    ),
  leaderlessMs: z
    .number()
    .nullable()
    .describe('time since the agent last knew of a leader; null while it knows one'),
  lease: z
    .strictObject({
      lengthMs: z.number().describe('length of a lease that is not renewed'),
      marginMs: z
        .number()
        .describe('what remains of the lease after the slowest renewal that succeeds at the first attempt'),
    })
    .describe(
      'computed from the constants; the same for every leader of the group; under a protocol without leases: of the replies of a peer',
    ),
  nodes: z.array(node),
  view: z
    .strictObject(viewFields)
    .nullable()
    .optional()
    .describe('only under a protocol with views: the view that the agent is in; null while it is in none'),
  incarnation: z
    .number()
    .optional()
    .describe('only under a protocol with views: incarnation of the node of this agent'),
  inQuorum: z
    .boolean()
    .optional()
    .describe(
      'only under a protocol with views: whether more than half of the view (with a static quorum: of all nodes) respond in it',
    ),
  waitingFor: z
    .strictObject({
      view: viewFields.id
        .nullable()
        .describe('the view that lacks a majority; null: a majority of all nodes is unreachable'),
      members: z.array(id),
      mayHaveFormed: z
        .boolean()
        .describe(
          'true if the unreachable members may have formed that view; the return of any of them settles it',
        ),
      unreachable: z.array(id).describe('the members that are unreachable'),
    })
    .nullable()
    .optional()
    .describe(
      'only under a protocol with views: what a group without a quorum waits for; null while it has a quorum',
    ),
  primary: z
    .boolean()
    .optional()
    .describe(
      'only in a store with fencing: whether the node knows that it leads its epoch and that all others are fenced off',
    ),
  at: z.string().describe('time of the response, on the wall clock of the agent'),
})
export const stepDownSchema = z.strictObject({ group, steppedDown: z.strictObject({ id, token }) })
export const claimBodySchema = z.strictObject({ claim: z.string().max(100).nullable() })
export const claimSchema = z.strictObject({
  group,
  id,
  claim: z.string().describe('id of the claim, for renewal and release'),
  token,
  expiresInMs: z
    .number()
    .describe('how long the claim is valid, counted from the moment before the request was sent'),
  ending: z
    .boolean()
    .describe('whether the agent wants to end its term and waits for the release of this claim'),
})
export const removeBodySchema = z.strictObject({ id: z.string().min(1).max(200) })
export const removeSchema = z.strictObject({ group, removing: id })
export const releaseSchema = z.strictObject({ group })
export const eventSchema = z.strictObject({
  at: z.string(),
  group,
  self: id,
  event: z.enum(['elected', 'revoked', 'change', 'view', 'warning', 'alarm']),
  leader: id.nullable(),
  token,
  term: z.number().nullable().describe('elected and revoked: number of the term in this process, from 1'),
  reason: z.string().nullable(),
  view: z
    .strictObject({ ...viewFields, joined: z.array(id), left: z.array(id) })
    .optional()
    .describe('view only; a node that returns with a new incarnation is in both left and joined'),
})
export const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.string().describe('stable: programs can rely on it'),
    message: z.string(),
    field: z.string().nullable().describe('the field or header that is wrong, if there is one'),
  }),
})
export const healthSchema = z.strictObject({ ok: z.boolean(), reason: z.string().nullable() })
export const readySchema = z.strictObject({ ready: z.boolean(), reason: z.string().nullable() })
export const sidecarSchema = z.strictObject({
  name: z.string().describe('id of the leader; empty without a leader'),
})
