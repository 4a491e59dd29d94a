/** What a node does at an instant, in words. */
import type { NodeId } from '../../../../src/core/index.ts'
import type { Lane, LeaseSpan, Picture, RoleSpan } from '../engine/picture.ts'
import type { Cursor } from '../model/store.ts'
import { isLoadedAt, leaseAt, roleAfter, stallAt } from './look-up.ts'
import type { MarkName } from './mark.tsx'

export type Condition = {
  readonly role: RoleSpan | null
  readonly stall: Lane['stalls'][number] | null
  readonly lease: LeaseSpan | null
  readonly isLoaded: boolean
}

export function conditionAt(lane: Lane, { at, moment }: Cursor): Condition {
  return {
    role: roleAfter(lane, moment),
    stall: stallAt(lane, at),
    lease: leaseAt(lane, at),
    isLoaded: isLoadedAt(lane, at),
  }
}

/** A node that others count as dead is not down: it only reaches none of them. */
export const isDown = ({ role }: Condition): boolean => role === null || role.role === 'crashed'

export function markOf(condition: Condition): MarkName {
  const { role, stall } = condition
  if (isDown(condition)) return 'crashed'
  if (stall !== null) return stall.kind
  if (role?.leads === true) return 'leads'
  return role?.role === 'candidate'
    ? 'candidate'
    : role?.role === 'observer' || role?.role === 'dead'
      ? 'observer'
      : 'follows'
}

/** Roles whose names would be taken for a crash, or for a suspended host. */
const ROLE_WORDS: { readonly [role: string]: string } = {
  dead: 'counts as dead',
  suspended: 'not taking part',
}

export function wordOf(condition: Condition): string {
  const word = roleWord(condition)
  return condition.isLoaded && !isDown(condition) ? `${word}, under load` : word
}

function roleWord({ role, stall }: Condition): string {
  if (role === null) return 'not started'
  if (role.role === 'crashed') return 'crashed'
  if (stall !== null) return stall.kind
  if (role.leads) return 'leads'
  if (role.role === 'follower') return role.leader === null ? 'no leader' : `follows ${role.leader}`
  return ROLE_WORDS[role.role] ?? role.role
}

/** For screen readers, and for the tip of a node. */
export function describeNode(lane: Lane, cursor: Cursor): string {
  const condition = conditionAt(lane, cursor)
  const { role, lease } = condition
  const token = role?.leads === true && role.token !== null ? `, token ${role.token}` : ''
  const left = lease === null ? '' : `, ${leaseText(lease, cursor.at)}`
  return `Node ${lane.node}: ${wordOf(condition)}${token}${left}`
}

function leaseText(lease: LeaseSpan, at: number): string {
  const ms = (micros: number): string => `${(Math.max(0, micros) / 1000).toFixed(1)} ms`
  return `its lease has ${ms(lease.until - at)} left, and it believes ${ms(lease.believed - at)}`
}

export const listIds = (ids: readonly NodeId[]): string =>
  ids.length < 2 ? ids.join('') : `${ids.slice(0, -1).join(', ')} and ${ids.at(-1)}`

export type Headline = {
  readonly level: 'healthy' | 'degraded' | 'at-risk' | 'no-leader' | 'alarm'
  readonly word: string
  readonly rest: string
}

/** One sentence about the instant of the cursor. */
export function headlineAt(picture: Picture, cursor: Cursor): Headline {
  const violated = picture.verdicts.find(
    ({ verdict, at, moment }) =>
      verdict === 'violated' && (moment === null ? (at ?? 0) <= cursor.at : moment <= cursor.moment),
  )
  if (violated !== undefined)
    return { level: 'alarm', word: `Violated: ${violated.name}`, rest: violated.why }
  const all = picture.lanes.filter((lane) => roleAfter(lane, cursor.moment)?.leads === true)
  const deluded = all.filter(
    (lane) => lane.leases.length > 0 && (leaseAt(lane, cursor.at)?.until ?? 0) <= cursor.at,
  )
  const leaders = all.filter((lane) => !deluded.includes(lane))
  if (deluded.length > 0) return delusion(leaders, deluded, cursor.at)
  const [only] = leaders
  if (only === undefined)
    return { level: 'no-leader', word: 'No leader', rest: withoutLeader(picture, cursor) }
  if (leaders.length > 1)
    return {
      level: 'degraded',
      word: `Nodes ${listIds(leaders.map(({ node }) => node))} lead`,
      rest: 'each for the nodes that follow it',
    }
  const { length } = picture.lanes.filter((lane) => {
    const role = roleAfter(lane, cursor.moment)
    return lane.node !== only.node && role?.leader === only.node && role.role !== 'crashed'
  })
  const token = roleAfter(only, cursor.moment)?.token ?? null
  const follow = `${length} of ${picture.nodes.length - 1} other nodes follow it`
  return {
    level: length === picture.nodes.length - 1 ? 'healthy' : 'degraded',
    word: `Node ${only.node} leads`,
    rest: token === null ? follow : `with token ${token}; ${follow}`,
  }
}

/** Nodes whose leases have ended, and which do not know it: by a wrong clock, or because they do nothing. */
function delusion(leaders: readonly Lane[], deluded: readonly Lane[], at: number): Headline {
  const rest = deluded.map((lane) => {
    const stall = stallAt(lane, at)
    return leaseAt(lane, at) === null && stall !== null
      ? `node ${lane.node} is ${stall.kind}, and does not know that its lease has ended`
      : `node ${lane.node} believes that it still leads, but its lease has ended`
  })
  const nodes = listIds(leaders.map(({ node }) => node))
  const word = leaders.length === 0 ? 'No leader' : `Node ${nodes} leads`
  return { level: 'at-risk', word, rest: rest.join('; ') }
}

function withoutLeader(picture: Picture, cursor: Cursor): string {
  const down = picture.lanes.filter((lane) => roleAfter(lane, cursor.moment)?.role === 'crashed').length
  const candidates = picture.lanes.filter((lane) => roleAfter(lane, cursor.moment)?.role === 'candidate')
  if (candidates.length > 0)
    return `${listIds(candidates.map(({ node }) => node))} ${candidates.length === 1 ? 'is a candidate' : 'are candidates'}`
  return down === 0 ? 'no node leads at this moment' : `${down} of ${picture.nodes.length} nodes are down`
}
