/**
 * What an agent answers, as schemas: the source of /v1/openapi.json. The types are the client's, which imports nothing; tests
 * hold the two together, and answers to their schemas.
 */
import { z } from 'zod'

const id = z.union([z.string(), z.number()])
const group = z.string().describe('the group that this is about')
const token = z.number().nullable()

const leader = z
  .strictObject({
    id,
    token: token.describe('grows with every leadership; null in local mode'),
    expiresInMs: z
      .number()
      .nullable()
      .describe(
        'how long it goes on leading unless it renews; sure when the asked agent leads itself; null under omega, which has no leases',
      ),
  })
  .nullable()
  .describe('null when the asked agent knows of none')

const self = z
  .strictObject({
    id,
    role: z.string().describe('leader, follower, candidate or observer; under omega also dead'),
  })
  .describe('the asked agent itself')

const viewFields = {
  id: z.tuple([z.number(), id.nullable()]).describe('its number, and its leader'),
  members: z.array(id),
  lives: z.array(z.number()).describe('of each member, which of its lives'),
}

const leaderFields = { group, leader, self }

const member = z.strictObject({
  id,
  voter: z.boolean().describe('whether its vote counts'),
  leader: z.boolean(),
  there: z.boolean().describe('whether the asked agent hears it in time'),
  evidenceMsAgo: z
    .number()
    .nullable()
    .describe(
      'how old the evidence is that it is there: a timely message of its own, or the word of the leader; null: none',
    ),
  heardMsAgo: z.number().nullable().describe('when the asked agent last heard it; null: never'),
})

export const leaderAnswer = z.strictObject(leaderFields)
export const membersAnswer = z.strictObject({ group, self, members: z.array(member) })
export const statusAnswer = z.strictObject({
  ...leaderFields,
  banner: z.string().describe('one sentence that says how the group is'),
  level: z.enum(['healthy', 'degraded', 'at-risk', 'no-leader', 'alarm']),
  mode: z.enum(['local', 'majority', 'store']),
  voters: z.array(id).describe('whose votes count'),
  spareFailures: z.number().describe('how many more voters may fail, whichever they are'),
  evidenceForMs: z
    .number()
    .nullable()
    .describe(
      'a node is called there for this long after the last evidence, and no longer; null under omega and epochs',
    ),
  leaderlessMs: z.number().nullable().describe('for how long no leader is known; null while one is'),
  lease: z
    .strictObject({
      lengthMs: z.number().describe('how long it lasts unless it is renewed'),
      marginMs: z
        .number()
        .describe(
          'what is left of it when it has been renewed by the first try, which took as long as it may',
        ),
    })
    .describe(
      'of every leader of the group, by the constants; under omega, which has no leases: of the answers of a peer',
    ),
  members: z.array(member),
  view: z
    .strictObject(viewFields)
    .nullable()
    .optional()
    .describe('only under omega: the view that the asked agent is in, null while in none'),
  life: z.number().optional().describe('only under omega: which life of the asked agent it is'),
  inQuorum: z
    .boolean()
    .optional()
    .describe(
      'only under omega: whether more than half of the view (with a static quorum: of all nodes) answer from it',
    ),
  waitsFor: z
    .strictObject({
      view: viewFields.id
        .nullable()
        .describe('the view whose majority is missing; null: a majority of all nodes is missing'),
      members: z.array(id),
      isAttempt: z
        .boolean()
        .describe('true if the missing nodes may have formed that view; any one of them can tell'),
      missing: z.array(id).describe('the members that are unreachable'),
    })
    .nullable()
    .optional()
    .describe(
      'only under omega: the nodes that a group without a quorum waits for; null while it has a quorum',
    ),
  primary: z
    .boolean()
    .optional()
    .describe(
      'only under epochs with fencing: whether the asked agent knows that it leads its epoch, all others cut off',
    ),
  at: z.string().describe('when this was said, on the wall clock of the asked agent'),
})
export const steppedDown = z.strictObject({ group, steppedDown: z.strictObject({ id, token }) })
export const claimBody = z.strictObject({ claim: z.string().max(100).nullable() })
export const claimed = z.strictObject({
  group,
  id,
  claim: z.string().describe('by which name it is renewed and given back'),
  token,
  expiresInMs: z.number().describe('how long it may be acted on, counted from before it was asked for'),
  ending: z.boolean().describe('whether the agent waits for it to be given back, to hand the lead over'),
})
export const removeBody = z.strictObject({ id: z.string().min(1).max(200) })
export const removing = z.strictObject({ group, removing: id })
export const released = z.strictObject({ group })
export const agentEvent = z.strictObject({
  at: z.string(),
  group,
  self: id,
  event: z.enum(['elected', 'revoked', 'change', 'view', 'warning', 'alarm']),
  leader: id.nullable(),
  token,
  term: z.number().nullable().describe('elected and revoked: which leadership of this process it is, from 1'),
  reason: z.string().nullable(),
  view: z
    .strictObject({ ...viewFields, joined: z.array(id), left: z.array(id) })
    .optional()
    .describe('only of view; whoever came back under a new life has left and joined'),
})
export const errorAnswer = z.strictObject({
  error: z.strictObject({
    name: z.string().describe('stable: programs may rely on it'),
    message: z.string(),
    field: z.string().nullable().describe('what is wrong, where it has a name'),
  }),
})
export const healthAnswer = z.strictObject({ ok: z.boolean(), reason: z.string().nullable() })
export const readyAnswer = z.strictObject({ ready: z.boolean(), reason: z.string().nullable() })
export const sidecarAnswer = z.strictObject({
  name: z.string().describe('the leader; empty when nobody leads'),
})
