/**
 * An agent's answers over HTTP. Whoever can reach it may ask; what changes something needs the admin token. Health and
 * readiness are about this process and never about leadership: `/leader` is.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { streamSSE } from 'hono/streaming'
import { z } from 'zod'
import type { Claimed, ErrorAnswer, LeaderAnswer, MembersAnswer, StatusAnswer } from '../client/index.ts'
import type { Member, MemberStatus } from '../member/index.ts'
import { bannerOf } from './banner.ts'
import type { Claims } from './claims.ts'
import type { History } from './history.ts'
import { metricsText } from './metrics.ts'
import type { Observer } from './observer.ts'
import { PAGE_POLICY, page } from './page.ts'

export type Asked = {
  readonly node: Pick<Member, 'group' | 'id' | 'status' | 'stepDown'>
  readonly history: History
  readonly observer: Observer
  readonly claims: Claims
  /** Without one nobody may change anything. */
  readonly adminToken: string | null
  /** Ends the streams. */
  readonly ending: AbortSignal
}

const LARGEST_BODY = 64 * 1024
/** Watchers at once; more are refused. */
const MOST_STREAMS = 256
/** Something is sent at least this often, so that both sides notice when the other is gone. */
const KEEP_ALIVE_MS = 10_000
/** How long a hand-over may take before the caller is told that it lasts. */
const LONGEST_STEP_DOWN_MS = 10_000

export function agentApp(asked: Asked): Hono {
  const { node, history, observer, claims, adminToken, ending } = asked
  const app = new Hono()
  let streams = 0

  app.use(async (c, next) => {
    await next()
    c.header('Cache-Control', 'no-store')
    c.header('X-Content-Type-Options', 'nosniff')
  })
  app.use(
    bodyLimit({
      maxSize: LARGEST_BODY,
      onError: (c) => failure(c, 413, 'BodyTooLarge', `a body may have ${LARGEST_BODY} bytes at most`),
    }),
  )
  app.use('/v1/*', async (c, next) => {
    const group = c.req.query('group')
    if (group === undefined || group === node.group) return next()
    return failure(
      c,
      404,
      'UnknownGroup',
      `this agent is in the group ${node.group}, not in ${group}`,
      'group',
    )
  })

  app.get('/v1/leader', (c) => c.json(leaderAnswer(node, node.status())))
  app.get('/v1/members', (c) => c.json(membersAnswer(node, node.status())))
  app.get('/v1/status', (c) => c.json(statusAnswer(node, node.status(), observer)))

  const notLeading = (c: Context, leader: MemberStatus['leader']): Response =>
    failure(c, 409, 'NotLeader', `${node.id} does not lead${leader === null ? '' : `, ${leader.id} does`}`)

  app.post('/v1/step-down', async (c) => {
    const refused = refusal(c, adminToken)
    if (refused !== null) return refused
    const { role, leader } = node.status()
    if (role !== 'leader') return notLeading(c, leader)
    await node.stepDown({ signal: AbortSignal.timeout(LONGEST_STEP_DOWN_MS) })
    return c.json({ group: node.group, steppedDown: { id: node.id, token: leader?.token ?? null } })
  })

  app.post('/v1/claim', async (c) => {
    const refused = refusal(c, adminToken)
    if (refused !== null) return refused
    const body = claimBody.safeParse(await c.req.json().catch(() => null))
    if (!body.success)
      return failure(c, 400, 'BadBody', 'write {"claim": null}, or the name of a claim', 'claim')
    const { role, leader, leaseMs } = node.status()
    if (role !== 'leader' || leader === null || leaseMs === null) return notLeading(c, leader)
    const claim = claims.take(body.data.claim, leaseMs)
    if (claim === null)
      return failure(
        c,
        409,
        'NoClaim',
        claims.isEnding ? 'the lead is being handed over' : 'there is no such claim, or there are too many',
      )
    return c.json({
      group: node.group,
      id: node.id,
      claim,
      token: leader.token,
      expiresInMs: leaseMs,
      ending: claims.isEnding,
    } satisfies Claimed)
  })
  app.delete('/v1/claim', (c) => {
    const refused = refusal(c, adminToken)
    if (refused !== null) return refused
    claims.giveBack(c.req.query('claim') ?? '')
    return c.json({ group: node.group })
  })

  app.get('/v1/events', (c) => {
    if (streams >= MOST_STREAMS)
      return failure(c, 503, 'TooManyWatchers', `${MOST_STREAMS} watch already: try again later`)
    const lastSeen = c.req.header('Last-Event-ID')
    streams += 1
    return streamSSE(c, async (stream) => {
      const gone = new AbortController()
      stream.onAbort(() => gone.abort())
      const over = AbortSignal.any([gone.signal, ending])
      let place = lastSeen === undefined ? history.latest : history.placeOf(lastSeen)
      try {
        await stream.writeSSE({ event: 'now', data: JSON.stringify(leaderAnswer(node, node.status())) })
        while (!over.aborted) {
          const { missed, entries } = history.after(place)
          // oxlint-disable-next-line no-await-in-loop -- as fast as the watcher reads
          if (missed) await stream.writeSSE({ event: 'missed', data: '{}' })
          for (const { id, number, event } of entries) {
            // oxlint-disable-next-line no-await-in-loop -- as fast as the watcher reads
            await stream.writeSSE({ id, event: event.event, data: JSON.stringify(event) })
            place = number
          }
          // oxlint-disable-next-line no-await-in-loop -- as fast as the watcher reads
          if (entries.length === 0) await stream.write(': still here\n\n')
          // oxlint-disable-next-line no-await-in-loop -- until there is something to tell
          if (history.latest === place) await history.next(over, KEEP_ALIVE_MS)
        }
      } finally {
        streams -= 1
      }
    })
  })

  app.get('/healthz', (c) =>
    node.status().idle === 'closed'
      ? c.json({ ok: false, reason: 'closed' }, 503)
      : c.json({ ok: true, reason: null }),
  )
  app.get('/readyz', (c) => {
    const { idle } = node.status()
    return c.json({ ready: idle === null, reason: idle }, idle === null ? 200 : 503)
  })
  app.get('/leader', (c) => {
    const status = node.status()
    return c.json(leaderAnswer(node, status), status.role === 'leader' ? 200 : 503)
  })
  app.get('/metrics', (c) => {
    const text = metricsText({
      group: node.group,
      id: String(node.id),
      status: node.status(),
      leaderships: observer.leaderships,
      alarm: observer.alarm !== null,
    })
    return c.body(text, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  })
  app.get('/', (c) => {
    c.header('Vary', 'Accept')
    const status = node.status()
    if (!(c.req.header('Accept') ?? '').includes('text/html'))
      return c.json({ name: String(status.leader?.id ?? '') })
    c.header('Content-Security-Policy', PAGE_POLICY)
    return c.html(page(statusAnswer(node, status, observer)))
  })

  app.notFound((c) => failure(c, 404, 'NotFound', `there is no ${c.req.method} ${c.req.path} here`))
  app.onError((error, c) => failure(c, 500, error.name, error.message))
  return app
}

const claimBody = z.strictObject({ claim: z.string().max(100).nullable() })

/** What is answered to whoever may not give orders; null for whoever may. */
function refusal(c: Context, adminToken: string | null): Response | null {
  if (adminToken === null)
    return failure(
      c,
      403,
      'AdminDisabled',
      'this agent takes no orders: start it with --admin-token-file FILE',
    )
  if (isSame(c.req.header('Authorization') ?? '', `Bearer ${adminToken}`)) return null
  c.header('WWW-Authenticate', 'Bearer')
  return failure(c, 401, 'BadAdminToken', 'the admin token is missing or wrong', 'Authorization')
}

type Who = Pick<Member, 'group' | 'id'>

function leaderAnswer({ group, id }: Who, { role, leader, leaseMs }: MemberStatus): LeaderAnswer {
  return {
    group,
    leader: leader === null ? null : { id: leader.id, token: leader.token, expiresInMs: leaseMs ?? 0 },
    self: { id, role },
  }
}

function membersAnswer({ group, id }: Who, { role, leader, voters, nodes }: MemberStatus): MembersAnswer {
  const members = nodes.map(({ id: member, there, heardMsAgo }) => ({
    id: member,
    voter: voters.some((set) => set.includes(member)),
    leader: member === leader?.id,
    there,
    heardMsAgo,
  }))
  return { group, self: { id, role }, members }
}

function statusAnswer(who: Who, status: MemberStatus, observer: Observer): StatusAnswer {
  const { leader, mode, voters, nodes } = status
  observer.see(leader)
  const leaderlessMs = observer.leaderlessMs()
  const there = nodes.flatMap((each) => (each.there ? [each.id] : []))
  const { level, sentence, spareFailures } = bannerOf({
    group: who.group,
    leader,
    mode,
    voters,
    there,
    leaderlessMs,
    alarm: observer.alarm,
  })
  return {
    ...leaderAnswer(who, status),
    banner: sentence,
    level,
    mode,
    voters: [...new Set(voters.flat())],
    spareFailures,
    leaderlessMs,
    members: membersAnswer(who, status).members,
    at: new Date().toISOString(),
  }
}

function failure(
  c: Context,
  code: 400 | 401 | 403 | 404 | 409 | 413 | 500 | 503,
  name: string,
  message: string,
  field: string | null = null,
): Response {
  return c.json({ error: { name, message, field } } satisfies ErrorAnswer, code)
}

/** Takes the same time whatever differs. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
