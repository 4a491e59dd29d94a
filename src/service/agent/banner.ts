/** One sentence that says how the group is, and how bad that is: the same text on the page, over HTTP and in a terminal. */

import type { Membership, Waiting } from '../../protocols/index.ts'
import type { Id, Level } from '../client/index.ts'

export type Situation = {
  readonly group: string
  readonly leader: { readonly id: Id; readonly token: number | null } | null
  readonly mode: 'local' | 'majority' | 'store'
  /** Sets of voters, each of which must give a majority; two while one replaces the other. */
  readonly voters: readonly (readonly Id[])[]
  readonly there: readonly Id[]
  readonly leaderlessMs: number | null
  readonly alarm: string | null
  /** Null where the protocol has no views. */
  readonly membership: Membership | null
}

export type Banner = { readonly level: Level; readonly sentence: string; readonly spareFailures: number }

const needed = (voters: number): number => Math.floor(voters / 2) + 1

/** How many more voters may fail, whichever they are; negative when too many have. */
function spareOf({ mode, voters, there }: Situation): number {
  const present = (set: readonly Id[]): number => set.filter((id) => there.includes(id)).length
  if (mode === 'local') return present(voters.flat()) - 1
  return Math.min(...voters.map((set) => present(set) - needed(set.length)))
}

/** In a store nobody votes: one that lives is enough, and whether those that follow live does not show there. */
function storeBanner({ group, leader, there, leaderlessMs, alarm }: Situation): Banner {
  const spareFailures = Math.max(0, there.length - 1)
  if (alarm !== null) return { level: 'alarm', sentence: `SAFETY ALARM in ${group}: ${alarm}`, spareFailures }
  const nodes = `${there.length} ${there.length === 1 ? 'node has' : 'nodes have'} a register`
  if (leader === null) {
    const forS = ((leaderlessMs ?? 0) / 1000).toFixed(1)
    return { level: 'no-leader', sentence: `no leader in ${group} for ${forS} s: ${nodes}`, spareFailures }
  }
  const token = leader.token === null ? '' : ` with token ${leader.token}`
  const leads = `${leader.id} leads ${group}${token}`
  return spareFailures === 0
    ? { level: 'at-risk', sentence: `at risk: ${leads}; ${nodes}, nobody could take over`, spareFailures }
    : { level: 'healthy', sentence: `healthy: ${leads}; ${nodes}`, spareFailures }
}

export function bannerOf(situation: Situation): Banner {
  if (situation.mode === 'store') return storeBanner(situation)
  const { group, leader, voters, there, leaderlessMs, alarm, mode } = situation
  const all = [...new Set(voters.flat())]
  const missing = all.filter((id) => !there.includes(id))
  const spare = spareOf(situation)
  const spareFailures = situation.membership?.spare ?? Math.max(0, spare)
  if (alarm !== null) return { level: 'alarm', sentence: `SAFETY ALARM in ${group}: ${alarm}`, spareFailures }
  if (situation.membership !== null) return bannerOfView(situation, situation.membership, all)
  if (leader === null) {
    const least = mode === 'local' ? 1 : Math.max(...voters.map((set) => needed(set.length)))
    const count = all.length - missing.length
    return {
      level: 'no-leader',
      sentence: `no leader in ${group} for ${((leaderlessMs ?? 0) / 1000).toFixed(1)} s: ${count} of ${all.length} voters ${count === 1 ? 'is' : 'are'} there, ${least} ${least === 1 ? 'is' : 'are'} needed`,
      spareFailures,
    }
  }
  const token = leader.token === null ? '' : ` with token ${leader.token}`
  const leads = `${leader.id} leads ${group}${token}`
  const lacking =
    missing.length === 0
      ? all.length === 1
        ? 'its only voter is there'
        : `all ${all.length} voters are there`
      : `${missing.length} of ${all.length} voters ${missing.length === 1 ? 'is' : 'are'} missing (${missing.join(', ')})`
  if (spareFailures === 0)
    return { level: 'at-risk', sentence: `at risk: ${leads}; ${lacking}, none may fail`, spareFailures }
  const level = missing.length === 0 ? 'healthy' : 'degraded'
  const more = missing.length === 0 ? '' : ' more'
  return {
    level,
    sentence: `${level}: ${leads}; ${lacking}, ${spareFailures}${more} may fail`,
    spareFailures,
  }
}

/** Where there are views: who is in this one, and how many of them may fail at once. */
function bannerOfView(
  { group, leader, leaderlessMs }: Situation,
  { view, inQuorum, spare, waitsFor }: Membership,
  all: readonly Id[],
): Banner {
  const name = view === null ? '' : `view ${view.id.join('.')}`
  if (leader === null || view === null) {
    const answers = inQuorum ? `the leader of ${name} would not act` : `no majority of ${name} answers`
    const why =
      waitsFor === null ? (view === null ? 'this node is in no view' : answers) : waitingText(waitsFor)
    const sentence = `no leader in ${group} for ${((leaderlessMs ?? 0) / 1000).toFixed(1)} s: ${why}`
    return { level: 'no-leader', sentence, spareFailures: spare }
  }
  const leads = `${leader.id} leads ${group} with token ${leader.token}`
  const out = all.filter((id) => !view.members.includes(id))
  const who =
    out.length === 0
      ? `all ${all.length} nodes are in ${name}`
      : `${out.length} of ${all.length} nodes ${out.length === 1 ? 'is' : 'are'} not in ${name} (${out.join(', ')})`
  if (spare === 0) {
    return { level: 'at-risk', sentence: `at risk: ${leads}; ${who}, none may fail`, spareFailures: 0 }
  }
  const level = out.length === 0 ? 'healthy' : 'degraded'
  const sentence = `${level}: ${leads}; ${who}, ${spare}${out.length === 0 ? '' : ' more'} may fail at once`
  return { level, sentence, spareFailures: spare }
}

/** What a group without a quorum waits for, and whose return would end that. */
function waitingText({ view, members, isAttempt, missing }: Waiting): string {
  const gone = `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} unreachable`
  const of = `${members.length} ${view === null ? 'nodes' : `members of view ${view.join('.')}`}`
  if (!isAttempt) return `${needed(members.length)} of the ${of} are needed, and ${gone}`
  return `view ${view?.join('.')} may have been formed by ${missing.join(', ')}; waiting for ${missing.length === 1 ? 'it' : 'any of them'} to return`
}
