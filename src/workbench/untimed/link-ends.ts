/**
 * Links of a world that tells its nodes when a link goes up or down, as a link layer with a consistent history does
 * (links/consistent-history): both ends of a link see the same transitions in the same order, and one end may lead
 * the other by at most `slack` of them.
 *
 * An end moves by itself (`flip`: somebody suspects, or hears again), or because the other has moved (`follow`). With
 * slack 0 both ends move in one step. A frame belongs to the incarnation of the link in which it was sent: `ahead`
 * says how many transitions its receiver has still to see before that incarnation begins there; once the receiver is
 * past it, the frame is lost. Counts would grow for ever; what matters of them is the lead, so only that is kept.
 */
import type { Inbox } from './inbox.ts'

/** `slack`: by how many transitions an end may lead. `labelled`: frames bear the link's incarnation. */
export type LinkHistory = { readonly slack: number; readonly labelled: boolean }

export const DEFAULT_LINK_HISTORY: LinkHistory = { slack: 1, labelled: true }

/** One end of a link: whether it is up, and how many transitions it has seen that the other end has not. */
export type End = { readonly up: boolean; readonly lead: number }

/** For each pair of places, the smaller first, in order: the end at the smaller. */
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

/** After the end at `at` has seen one more transition; with slack 0 the other has, too. */
export function moveEnd(ends: Ends, nodes: number, at: number, peer: number, { slack }: LinkHistory): Ends {
  const { up, lead } = endOf(ends, nodes, at, peer)
  return withEnd(ends, nodes, at, peer, { up: !up, lead: slack === 0 ? 0 : lead + 1 })
}

/** Whether the end may move by itself: it then leads by no more than the slack. With slack 0 the first end stands for both. */
export function canFlip({ lead }: End, at: number, peer: number, { slack }: LinkHistory): boolean {
  // After a crash an end may lag behind even so.
  return slack === 0 ? at < peer && lead === 0 : lead >= 0 && lead < slack
}

export function mustFollow({ lead }: End): boolean {
  return lead < 0
}

/** A process that crashes takes its ends down; whoever still has the other end up will see that. */
export function endsAfterCrash(ends: Ends, nodes: number, crashed: number): Ends {
  let next = ends
  for (let peer = 0; peer < nodes; peer++) {
    if (peer === crashed) continue
    const { up } = endOf(ends, nodes, peer, crashed)
    next = withEnd(next, nodes, crashed, peer, { up: false, lead: up ? 1 : 0 })
  }
  return next
}

/** How far ahead of its receiver a frame from this end is; -1 when it is lost, for the receiver will see a down. */
export function aheadOf({ up, lead }: End, { labelled }: LinkHistory): number {
  if (!up || lead < 0) return -1
  return labelled ? lead : 0
}

/** The frames from `peer` as the receiver sees them after one more transition of its end. */
export function inboxAfterMove(inbox: Inbox, peer: number, { labelled }: LinkHistory): Inbox {
  if (!labelled) return inbox
  return inbox.flatMap((frame) => {
    if (frame.from !== peer) return [frame]
    const { ahead = 0, from, body } = frame
    if (ahead === 0) return []
    return [ahead === 1 ? { from, body } : { from, body, ahead: ahead - 1 }]
  })
}

/** What is left of the frames from a process that crashed: those of the incarnation that the receiver is in. */
export function dropFromCrashed(inbox: Inbox, crashed: number): Inbox {
  const lost = inbox.some(({ from, ahead }) => from === crashed && ahead !== undefined)
  return lost ? inbox.filter(({ from, ahead }) => from !== crashed || ahead === undefined) : inbox
}
