/**
 * Link ends in a world that notifies its nodes of link changes, like the consistent-history link layer
 * (links/consistent-history). Both ends of a link see the same transitions in the same order, and one end is
 * at most `slack` transitions ahead of the other.
 *
 * An end moves on its own (`flip`: its node suspects the peer, or hears from it again) or catches up with the
 * other end (`follow`). With slack 0 both ends move in one step. A message belongs to the incarnation of the
 * link in which it was sent. `ahead` is the number of transitions that its receiver has yet to see before
 * that incarnation begins there. Once the receiver has left the incarnation, the message is lost.
 *
 * Transition counts would grow without bound. Only their difference matters, so `lead` is all that is stored.
 */
import type { Inbox } from './inbox.ts'

/** `slack`: the maximum lead of an end. `labelled`: messages carry the incarnation of the link. */
export type LinkHistory = { readonly slack: number; readonly labelled: boolean }

export const DEFAULT_LINK_HISTORY: LinkHistory = { slack: 1, labelled: true }

/** One end of a link: whether it is up, and how many transitions it is ahead of the other end. */
export type End = { readonly up: boolean; readonly lead: number }

/** For each pair of node indexes in order, the smaller first: the end at the smaller index. */
export type Ends = readonly End[]

const DOWN: End = { up: false, lead: 0 }
const UP: End = { up: true, lead: 0 }

export function initialEnds(nodes: number, isUp: (a: number, b: number) => boolean): Ends {
  const ends: End[] = []
  for (let a = 0; a < nodes; a++) for (let b = a + 1; b < nodes; b++) ends.push(isUp(a, b) ? UP : DOWN)
  return ends
}

function placeOf(nodes: number, a: number, b: number): number {
  return a * nodes - (a * (a + 1)) / 2 + (b - a - 1)
}

/** The end at `at` of its link with `peer`. */
export function endOf(ends: Ends, nodes: number, at: number, peer: number): End {
  if (at < peer) return ends[placeOf(nodes, at, peer)] as End
  return reverseEnd(ends[placeOf(nodes, peer, at)] as End)
}

/** The same link, seen from the other end. */
function reverseEnd({ up, lead }: End): End {
  return { up: lead % 2 === 0 ? up : !up, lead: lead === 0 ? 0 : -lead }
}

export function withEnd(ends: Ends, nodes: number, at: number, peer: number, end: End): Ends {
  return at < peer
    ? ends.with(placeOf(nodes, at, peer), end)
    : ends.with(placeOf(nodes, peer, at), reverseEnd(end))
}

/** The ends after the end at `at` has seen one more transition; with slack 0 the other end has too. */
export function moveEnd(ends: Ends, nodes: number, at: number, peer: number, { slack }: LinkHistory): Ends {
  const { up, lead } = endOf(ends, nodes, at, peer)
  return withEnd(ends, nodes, at, peer, { up: !up, lead: slack === 0 ? 0 : lead + 1 })
}

/**
 * Whether the end may move on its own without exceeding the slack. With slack 0 the smaller index moves both
 * ends.
 */
export function canFlip({ lead }: End, at: number, peer: number, { slack }: LinkHistory): boolean {
  // After a crash an end can be behind even with slack 0.
  return slack === 0 ? at < peer && lead === 0 : lead >= 0 && lead < slack
}

export function mustFollow({ lead }: End): boolean {
  return lead < 0
}

/** A crashed node's ends go down. Peers whose end is still up have a transition to follow. */
export function endsAfterCrash(ends: Ends, nodes: number, crashed: number): Ends {
  let next = ends
  for (let peer = 0; peer < nodes; peer++) {
    if (peer === crashed) continue
    const { up } = endOf(ends, nodes, peer, crashed)
    next = withEnd(next, nodes, crashed, peer, { up: false, lead: up ? 1 : 0 })
  }
  return next
}

/**
 * How many incarnations ahead of its receiver a message from this end is; -1 if it is lost because the
 * receiver is about to see the link go down.
 */
export function aheadOf({ up, lead }: End, { labelled }: LinkHistory): number {
  if (!up || lead < 0) return -1
  return labelled ? lead : 0
}

/** The inbox after one more transition of the receiver's end of its link with `peer`. */
export function inboxAfterMove(inbox: Inbox, peer: number, { labelled }: LinkHistory): Inbox {
  if (!labelled) return inbox
  return inbox.flatMap((frame) => {
    if (frame.from !== peer) return [frame]
    const { ahead = 0, from, body } = frame
    if (ahead === 0) return []
    return [ahead === 1 ? { from, body } : { from, body, ahead: ahead - 1 }]
  })
}

/** The inbox without messages from a crashed node whose incarnation the receiver has not reached. */
export function dropFromCrashed(inbox: Inbox, crashed: number): Inbox {
  const lost = inbox.some(({ from, ahead }) => from === crashed && ahead !== undefined)
  return lost ? inbox.filter(({ from, ahead }) => from !== crashed || ahead === undefined) : inbox
}
