/** The routes that change something: step down, remove a node, change the bounds of leases, claim the term. All need the admin token. */
import type { Context, Hono } from 'hono'
import type { z } from 'zod'
import type { NodeId } from '../../core/index.ts'
import type { ClaimResponse, LeaseBoundsResponse, StepDownResponse } from '../client/index.ts'
import { CommandRefusedError, type GroupStatus, type HandOver, InvalidArgumentError } from '../node/index.ts'
import { checkAdminToken, errorResponse } from './admin.ts'
import type { AppOptions, Handler, WithGroup } from './app.ts'
import type { WithBody } from './body.ts'
import type { ClaimPhase } from './claims.ts'
import { refuseOtherOrigins } from './hosts.ts'
import { claimBodySchema, leaseBoundsBodySchema, removeBodySchema, stepDownBodySchema } from './schemas.ts'
import type { ServedGroup } from './served-group.ts'

/** A step-down that takes longer is reported as unfinished. */
const STEP_DOWN_TIMEOUT_MS = 10_000
const STEP_DOWN_POLL_MS = 50

export function addAdminRoutes(
  app: Hono<WithBody>,
  withGroup: WithGroup,
  { adminToken, hosts }: Pick<AppOptions, 'adminToken' | 'hosts'>,
): void {
  // Also where any host name is accepted: a page of another origin never changes anything.
  const names = new Set((hosts ?? []).map((name) => name.toLowerCase()))
  const asAdmin = (respond: Parameters<WithGroup>[0]): Handler =>
    withGroup(
      (c, group) => refuseOtherOrigins(c, names) ?? checkAdminToken(c, adminToken) ?? respond(c, group),
    )
  app.post('/v1/step-down', asAdmin(stepDown))
  app.post('/v1/remove', asAdmin(removeNode))
  app.post('/v1/lease-bounds', asAdmin(setLeaseBounds))
  app.post('/v1/claim', asAdmin(claimTerm))
  app.delete(
    '/v1/claim',
    asAdmin((c, { node, claims }) => {
      claims.release(c.req.query('claim') ?? '')
      return c.json({ group: node.group })
    }),
  )
}

async function stepDown(c: Context<WithBody>, { node, events }: ServedGroup): Promise<Response> {
  const status = node.status()
  const { role, leader } = status
  const text = c.get('body').trim()
  const body = stepDownBodySchema.safeParse(text === '' ? {} : parseBody(text))
  if (!body.success) {
    const message = 'must be the id of a node, as in {"to": "n2"}; without a body any node can follow'
    return invalidBody(c, body.error, 'to', message)
  }
  if (role !== 'leader') return notLeader(c, node.id, leader)
  const to = body.data.to ?? null
  if (to !== null) {
    const refused = refuseSuccessor(c, node, status, to)
    if (refused !== null) return refused
  }
  const signal = AbortSignal.timeout(STEP_DOWN_TIMEOUT_MS)
  const isOver = (): boolean => {
    const now = node.status()
    return now.role !== 'leader' || now.leader?.token !== leader?.token
  }
  // Claims keep the term alive until they are released or the lease expires.
  let isDone: boolean
  let handOver: HandOver | null = null
  try {
    handOver = to === null ? null : await node.handOver({ to, signal })
    isDone = handOver === null ? await node.stepDown({ signal }) : handOver.released
  } catch (error) {
    if (!(error instanceof CommandRefusedError)) throw error
    return errorResponse(c, 409, 'CommandRefused', error.message, 'to')
  }
  while (!isDone && !signal.aborted) {
    isDone = isOver()
    // oxlint-disable-next-line no-await-in-loop -- poll until the term is over
    if (!isDone) await events.next(signal, STEP_DOWN_POLL_MS)
  }
  if (!isDone) {
    const message = `a claim still holds the term after ${STEP_DOWN_TIMEOUT_MS / 1000} s; the term ends when the claim is released or expires`
    return errorResponse(c, 503, 'StillLeading', message)
  }
  return c.json({
    group: node.group,
    steppedDown: { id: node.id, token: leader?.token ?? null },
    to,
    ...successorIn(handOver),
  } satisfies StepDownResponse)
}

function successorIn(handOver: HandOver | null): Pick<StepDownResponse, 'successor' | 'problem'> {
  if (handOver === null) return { successor: null, problem: null }
  const { released, leader, afterMs, problem } = handOver
  // A claim was released, or its lease has expired, after the agent stopped waiting for it.
  if (!released) return { successor: null, problem: 'the term ended late; who leads next is not known yet' }
  return { successor: leader === null ? null : { ...leader, afterMs: afterMs ?? 0 }, problem }
}

/** Null if the leader can hand over to this node. */
function refuseSuccessor(
  c: Context,
  node: ServedGroup['node'],
  { nodes, voters }: GroupStatus,
  to: string,
): Response | null {
  const successor = nodes.find(({ id }) => id === to)
  if (successor === undefined) {
    const known = nodes.map(({ id }) => id).join(', ')
    const message = `${to} is not a node of ${node.group}; its nodes are ${known}`
    return errorResponse(c, 404, 'UnknownNode', message, 'to')
  }
  const problem =
    to === node.id
      ? `${to} already leads`
      : !voters.some((set) => set.includes(to)) || successor.role !== 'voter'
        ? `${to} never leads: it is ${successor.role === 'witness' ? 'a witness' : 'not a voter'}`
        : successor.reachable
          ? null
          : `${to} is unreachable`
  return problem === null ? null : errorResponse(c, 409, 'CannotHandOver', problem, 'to')
}

async function removeNode(c: Context<WithBody>, { node }: ServedGroup): Promise<Response> {
  const body = removeBodySchema.safeParse(parseBody(c.get('body')))
  if (!body.success) return invalidBody(c, body.error, 'id', 'must be the id of a node, as in {"id": "n3"}')
  const { id } = body.data
  const { mode, nodes } = node.status()
  // In store mode only the store knows the nodes, and removing asks it.
  if (mode !== 'store' && !nodes.some((each) => each.id === id)) {
    const known = nodes.map((each) => each.id).join(', ')
    const message = `${id} is not a node of ${node.group}; its nodes are ${known}`
    return errorResponse(c, 404, 'UnknownNode', message, 'id')
  }
  try {
    await node.removeVoter(id)
  } catch (error) {
    if (!(error instanceof CommandRefusedError)) throw error
    return errorResponse(c, 409, 'CommandRefused', error.message)
  }
  return c.json({ group: node.group, removing: id })
}

async function setLeaseBounds(c: Context<WithBody>, { node }: ServedGroup): Promise<Response> {
  const body = leaseBoundsBodySchema.safeParse(parseBody(c.get('body')))
  if (!body.success) {
    const unknown = unknownField(body.error)
    if (unknown !== null) {
      const problem = `${unknown}: unknown field; the fields are leaseMinMs and leaseMaxMs`
      return errorResponse(c, 400, 'InvalidBody', problem, unknown)
    }
    const message =
      'body: must have leaseMinMs, leaseMaxMs or both, in milliseconds, as in {"leaseMinMs": 20, "leaseMaxMs": 2000}'
    return errorResponse(c, 400, 'InvalidBody', message, String(body.error.issues[0]?.path[0] ?? 'body'))
  }
  const before = node.status().timing
  const { leaseMinMs, leaseMaxMs } = body.data
  try {
    await node.setLeaseBounds({
      ...(leaseMinMs === undefined ? {} : { leaseMinMs }),
      ...(leaseMaxMs === undefined ? {} : { leaseMaxMs }),
    })
  } catch (error) {
    if (error instanceof InvalidArgumentError)
      return errorResponse(c, 400, 'InvalidBody', error.message, error.field)
    if (!(error instanceof CommandRefusedError)) throw error
    return errorResponse(c, 409, 'CommandRefused', error.message, error.field)
  }
  const after = node.status().timing
  const boundsOf = (seen: typeof after) => ({
    leaseMinMs: seen?.leaseMinMs ?? 0,
    leaseMaxMs: seen?.leaseMaxMs ?? 0,
  })
  const bounds = boundsOf(after)
  return c.json({
    group: node.group,
    id: node.id,
    ...bounds,
    former: boundsOf(before),
    until: 'restart',
    toKeep: `set leaseMinMs: ${bounds.leaseMinMs} and leaseMaxMs: ${bounds.leaseMaxMs} in the configuration of ${node.id}`,
  } satisfies LeaseBoundsResponse)
}

const CLAIM_REFUSALS: { readonly [phase in ClaimPhase]: string } = {
  idle: 'the term of the agent has just begun or ended; try again',
  open: 'the claim has expired, or there are too many claims',
  ending: 'the agent is ending its term',
}

function claimTerm(c: Context<WithBody>, { node, claims }: ServedGroup): Response {
  const body = claimBodySchema.safeParse(parseBody(c.get('body')))
  if (!body.success) {
    const message = 'must be null for a new claim, or the id of a claim to renew, as in {"claim": null}'
    return invalidBody(c, body.error, 'claim', message)
  }
  const { role, leader, leaseMs } = node.status()
  if (role !== 'leader' || leader === null || leaseMs === null) return notLeader(c, node.id, leader)
  const claim = claims.acquire(body.data.claim, leaseMs)
  if (claim === null) return errorResponse(c, 409, 'ClaimRefused', CLAIM_REFUSALS[claims.phase])
  const { group, id } = node
  return c.json({
    group,
    id,
    claim,
    token: leader.token,
    expiresInMs: leaseMs,
    ending: claims.phase === 'ending',
  } satisfies ClaimResponse)
}

/** Names the problem of a body with one field: another field, or that field. */
function invalidBody(c: Context, { issues }: z.ZodError, field: string, message: string): Response {
  const unknown = issues.length === 1 ? unknownField({ issues }) : null
  const [where, why] =
    unknown === null ? [field, message] : [unknown, `unknown field; the only field is ${field}`]
  return errorResponse(c, 400, 'InvalidBody', `${where}: ${why}`, where)
}

function unknownField({ issues }: Pick<z.ZodError, 'issues'>): string | null {
  return issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : [])).at(0) ?? null
}

/** Null for text that is not JSON. */
function parseBody(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return null
  }
}

function notLeader(c: Context, id: NodeId, leader: GroupStatus['leader']): Response {
  const message = leader === null ? `${id} does not lead` : `${id} does not lead; the leader is ${leader.id}`
  return errorResponse(c, 409, 'NotLeader', message)
}
