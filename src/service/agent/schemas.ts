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
        'time until the lease expires unless the leader renews it; exact if the agent itself leads, otherwise an estimate; null under a protocol without leases',
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

const percentiles = z.strictObject({ p50: z.number(), p99: z.number(), max: z.number() })

const measured = z.strictObject({
  windowMs: z.number().describe('the measurements are of this last time'),
  latenessMs: percentiles.nullable().describe('how late timers fired; null before the first measurement'),
  sigmaMs: z.number().describe('σ: how late a timer may fire'),
  delayMs: percentiles
    .nullable()
    .describe('upper bounds of how long messages from other nodes took; null before the first measurement'),
  deltaMs: z.number().describe('δ: how long a message may take to be timely'),
  renewalMarginMs: z
    .strictObject({ min: z.number(), p50: z.number() })
    .nullable()
    .describe('what was left of the lease when it was renewed; null on a node that has not led'),
})

const hears = z.record(
  z.string(),
  z.strictObject({ heardMsAgo: z.number().nullable(), rttMs: z.number().nullable() }),
)

const observedNode = node.extend({
  address: z.string().nullable().describe('HOST:PORT of its datagrams'),
  resolvedAddress: z
    .string()
    .nullable()
    .describe('where this node sends datagrams for it; null while its name is not resolved'),
  role: z.enum(['voter', 'witness', 'observer']),
  priority: z.number().nullable(),
  version: z.string().nullable().describe('null until it has reported it'),
  page: z.string().nullable().describe('URL of the page of its agent, if it reported one'),
  canStore: z
    .boolean()
    .nullable()
    .describe(
      'whether it can store its votes: a voter that cannot votes for no other leader; null until it has reported it',
    ),
  rttMs: z.number().nullable().describe('round-trip time from this node to it'),
  hears: hears
    .nullable()
    .describe(
      'whom it hears, by id: when it last heard the node, and the round-trip time; as it last reported',
    ),
  measured: measured.nullable().describe('what it measured about itself, as it last reported'),
})

const levelCause = z.enum(['late', 'delay', 'round', 'loss', 'quiet', 'bounds', 'inherited'])

const timing = z.strictObject({
  level: z
    .number()
    .describe(
      'the level of the leader, also on a follower; without a leader, of this agent, if it leads next; each level is 5/4 of the one before',
    ),
  levels: z.tuple([z.number(), z.number()]).describe('the lowest and the highest level between the bounds'),
  leaseMs: z.number().describe('length of leases at this level'),
  renewalMs: z.number().describe('how often the leader renews its lease'),
  marginMs: z
    .number()
    .describe('what remains of the lease after the slowest renewal that succeeds at the first attempt'),
  leaseMinMs: z.number().describe('bound of this node'),
  leaseMaxMs: z.number().describe('bound of this node'),
  failoverMs: z
    .strictObject({ typical: z.number(), worst: z.number() })
    .nullable()
    .describe('from the crash of the leader until another node leads, at this level; null: no node can'),
  need: z
    .strictObject({
      level: z.number(),
      leaseMs: z.number(),
      cause: levelCause,
      by: id.nullable().describe('the node that supplied the evidence'),
      text: z.string().describe('one sentence'),
    })
    .nullable()
    .describe('the level that the measurements ask for, and why; null on nodes that do not lead'),
  evidence: z
    .array(
      z.strictObject({
        id,
        latenessMs: z.number(),
        delayMs: z.number(),
        loss: z.number().describe("part of the leader's messages that it missed"),
        msAgo: z.number(),
      }),
    )
    .describe('what each voter measured, as upper bounds; empty on nodes that do not lead'),
  refusals: z
    .array(z.strictObject({ id, leaseMinMs: z.number(), leaseMaxMs: z.number() }))
    .describe('nodes that refused a lease outside their bounds, and those bounds'),
})

const warning = z.strictObject({
  at: z.string().describe('time of the last warning of this kind'),
  what: z.string(),
  detail: z.string(),
  count: z.number().describe('how often it was repeated'),
})

const cause = z.strictObject({
  kind: z.enum([
    'started',
    'crashed',
    'late',
    'slow-messages',
    'handed-over',
    'stepped-down',
    'paused',
    'partitioned',
    'slept',
    'unknown',
  ]),
  node: id.nullable().describe('the node that the cause is about'),
  text: z.string().describe('one sentence'),
})

export const leaderSchema = z.strictObject(leaderFields)
export const membersSchema = z.strictObject({ group, self, nodes: z.array(node) })
export const statusSchema = z.strictObject({
  ...leaderFields,
  version: z.string().describe('version of the agent'),
  leaderSince: z
    .strictObject({ msAgo: z.number() })
    .nullable()
    .describe('how long the agent has known this leader with this token; null without a leader'),
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
      'computed from the constants, or from the level in force; under a protocol without leases: of the replies of a peer',
    ),
  timing: timing.optional().describe('only where leases tune themselves: their present length, and why'),
  measured: measured
    .nullable()
    .describe('what this node measured about itself; null where it measures nothing'),
  warnings: z.array(warning).describe('the newest first, at most 50'),
  nodes: z.array(observedNode),
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
        .describe(
          'the view that lacks a majority; null: a majority of all nodes is needed, or all (option `reinit: all`)',
        ),
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
export const termSchema = z.strictObject({
  number: z
    .number()
    .describe('counts the entries of this run of the agent; a changed entry keeps its number'),
  leader: id.nullable().describe('null: a gap'),
  token,
  from: z.string(),
  until: z.string().nullable().describe('null while it lasts'),
  cause: cause
    .nullable()
    .describe('gaps only: why there was no leader; may be refined when the former leader returns'),
  ended: cause.nullable().describe('terms only: why it ended; null while it lasts'),
})
export const historySchema = z.strictObject({
  group,
  self,
  at: z.string(),
  terms: z.array(termSchema).describe('terms and gaps, oldest first, at most 500'),
  samples: z
    .array(
      z.strictObject({
        at: z.string(),
        rttMs: z.number().nullable().describe('largest round-trip time to a reachable node'),
        latenessMs: z.number().nullable().describe('99th percentile of the lateness of this node'),
        delayMs: z.number().nullable().describe('99th percentile of the delays of messages to this node'),
        renewalMarginMs: z.number().nullable().describe('smallest margin of a renewal of this node'),
        failoverMs: z
          .number()
          .nullable()
          .describe('length of the last gap that ended since the sample before'),
      }),
    )
    .describe('one per 5 s, oldest first, at most 720; null where nothing was measured'),
})
export const localSchema = z.strictObject({
  url: z.string().describe('where the supervisor listens'),
  nodes: z.record(z.string(), z.enum(['up', 'paused', 'down'])),
  cut: z
    .array(z.tuple([z.string(), z.string()]))
    .describe('links that are cut, each as the node that does not hear and the node that it does not hear'),
})
export const stepDownBodySchema = z.strictObject({ to: z.string().min(1).max(200).optional() })
export const stepDownSchema = z.strictObject({
  group,
  steppedDown: z.strictObject({ id, token }),
  to: id.nullable().describe('the node that the term was handed over to; null if any node could follow'),
  successor: z
    .strictObject({
      id,
      token,
      afterMs: z.number().describe('from the release of the lease until this agent knew the leader'),
    })
    .nullable()
    .describe('with `to`: who leads next; null if this agent did not learn it within 5 s'),
  problem: z.string().nullable().describe('with `to`: why another node leads, or none; null if `to` leads'),
})
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
export const leaseBoundsBodySchema = z
  .strictObject({ leaseMinMs: z.number().optional(), leaseMaxMs: z.number().optional() })
  .refine(({ leaseMinMs, leaseMaxMs }) => leaseMinMs !== undefined || leaseMaxMs !== undefined)
const bounds = { leaseMinMs: z.number(), leaseMaxMs: z.number() }
export const leaseBoundsSchema = z.strictObject({
  group,
  id,
  ...bounds,
  former: z.strictObject(bounds).describe('the bounds before'),
  until: z
    .literal('restart')
    .describe('the bounds are not stored: a restarted agent has those of its configuration'),
  toKeep: z.string().describe('the fields of the configuration that keep the bounds after a restart'),
})
export const removeSchema = z.strictObject({ group, removing: id })
export const releaseSchema = z.strictObject({ group })
export const eventSchema = z.strictObject({
  at: z.string(),
  group,
  self: id,
  event: z.enum(['elected', 'revoked', 'change', 'view', 'level', 'warning', 'alarm']),
  leader: id.nullable(),
  token,
  term: z.number().nullable().describe('elected and revoked: number of the term in this process, from 1'),
  reason: z.string().nullable(),
  cause: cause.optional().describe('why a term ended; only in events that end one'),
  level: z
    .strictObject({
      level: z.number(),
      leaseMs: z.number(),
      fromMs: z.number().describe('the length before'),
      cause: levelCause,
      by: id.nullable(),
    })
    .optional()
    .describe('level only: this agent leads, and changed the length of leases; reason says why'),
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
export const groupsSchema = z.strictObject({
  version: z.string().describe('version of the agent'),
  groups: z.array(z.string()).describe('names of the groups'),
})
export const sidecarSchema = z.strictObject({
  name: z.string().describe('id of the leader; empty without a leader'),
})
