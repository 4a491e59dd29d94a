/** Link steps in the untimed world: links that are cut and healed, and link ends that move. */
import { type Input, present } from '../../core/index.ts'
import type { ScheduleStep } from '../scenario/scenario.ts'
import { isCut, toggleLink } from './closed-links.ts'
import type { Inbox } from './inbox.ts'
import { canFlip, endOf, inboxAfterMove, moveEnd, mustFollow } from './link-ends.ts'
import type { Performed, UntimedRules, UntimedWorld } from './world.ts'

type LinkStep = ScheduleStep & { readonly do: 'flip' | 'follow' | 'cut' | 'heal' }

export function performLinkStep(
  rules: UntimedRules,
  world: UntimedWorld,
  step: LinkStep,
): Performed | string {
  const [at, peer] = [rules.nodes.indexOf(step.node), rules.nodes.indexOf(step.peer)]
  const isMove = step.do === 'flip' || step.do === 'follow'
  if (isMove !== rules.reported) {
    return rules.reported
      ? `${rules.protocol} is notified of link changes; use "flip" and "follow"`
      : `${rules.protocol} is not notified of link changes; use "cut" and "heal"`
  }
  if (isMove) return performMove(rules, world, at, peer, step)
  const isCutting = step.do === 'cut'
  if (isCut(world.cut, at, peer) === isCutting) return `the link is already ${isCutting ? 'cut' : 'open'}`
  return { world: { ...world, cut: toggleLink(world.cut, at, peer) }, nodeSteps: [], seen: [] }
}

function performMove(
  rules: UntimedRules,
  world: UntimedWorld,
  at: number,
  peer: number,
  step: LinkStep & { readonly do: 'flip' | 'follow' },
): Performed | string {
  if (world.slots[at]?.up !== true) return `${step.node} is down`
  const end = endOf(world.ends, rules.nodes.length, at, peer)
  if (step.do === 'follow') {
    if (!mustFollow(end)) return `the end of ${step.peer} is not ahead of the end of ${step.node}`
    return moveLinkEnd(rules, world, at, peer, step.crashAfter)
  }
  if (!canFlip(end, at, peer, rules.history)) return `the end of ${step.node} would be too far ahead`
  if (!end.up && world.slots[peer]?.up !== true) return `${step.peer} is down`
  return moveLinkEnd(rules, world, at, peer, step.crashAfter)
}

/** The end at `at` moves and its node is notified; with slack 0 the other end moves too. */
export function moveLinkEnd(
  rules: UntimedRules,
  world: UntimedWorld,
  at: number,
  peer: number,
  crashAfter?: number,
): Performed {
  const ends = moveEnd(world.ends, rules.nodes.length, at, peer, rules.history)
  const both = rules.history.slack === 0 && world.slots[peer]?.up === true
  let inboxes = world.inboxes.with(at, afterMove(rules, world, at, peer))
  if (both) inboxes = inboxes.with(peer, afterMove(rules, world, peer, at))
  const first = notify(rules, { ...world, ends, inboxes }, at, peer, crashAfter)
  if (!both) return first
  const second = notify(rules, first.world, peer, at)
  return {
    world: second.world,
    nodeSteps: [...first.nodeSteps, ...second.nodeSteps],
    seen: [...first.seen, ...second.seen],
  }
}

function afterMove(rules: UntimedRules, world: UntimedWorld, at: number, peer: number): Inbox {
  return inboxAfterMove(present(world.inboxes[at], 'inbox'), peer, rules.history)
}

function notify(
  rules: UntimedRules,
  world: UntimedWorld,
  at: number,
  peer: number,
  crashAfter?: number,
): Performed {
  const { up } = endOf(world.ends, rules.nodes.length, at, peer)
  const input: Input = { type: 'link', peer: present(rules.nodes[peer], 'node'), up }
  return rules.feed(world, at, input, crashAfter)
}
