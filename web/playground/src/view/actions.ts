/** What can be done to the selected thing at the cursor: buttons, keys and the amounts that some of them need. */
import type { NodeId } from '../../../../src/core/index.ts'
import type { CommandForm, Picture } from '../engine/picture.ts'
import type { Cursor, Intervention, Selection } from '../model/store.ts'
import { isLoadedAt, networkAt } from './look-up.ts'
import { conditionAt } from './node-words.ts'

export type Amount = {
  readonly label: string
  readonly unit: string
  readonly initial: number
  readonly least: number
  readonly most: number
}

export type Choice = {
  readonly id: string
  readonly title: string
  /** The key that does it while the thing is selected. */
  readonly key: string | null
  readonly isDanger: boolean
  /** Null: nothing to ask. */
  readonly amount: Amount | null
  readonly event: (amount: number) => Intervention
}

type Given = { readonly picture: Picture; readonly cursor: Cursor; readonly defaultMs: number }

const ms = (label: string, initial: number, least = 0.001): Amount => ({
  label,
  unit: 'ms',
  initial,
  least,
  most: 3_600_000,
})

const GAIN: Amount = {
  label: 'Its clock gains',
  unit: 'ppm',
  initial: -200_000,
  least: -900_000,
  most: 9_000_000,
}

function createChoice(id: string, title: string, key: string | null, event: Intervention): Choice {
  return { id, title, key, isDanger: false, amount: null, event: () => event }
}

function asking(
  id: string,
  title: string,
  key: string,
  amount: Amount,
  event: (amount: number) => Intervention,
): Choice {
  return { id, title, key, isDanger: false, amount, event }
}

/** A duration that matters to this run: somewhat longer than a lease, where there are leases. */
export function usualMs(picture: Picture): number {
  const lengths = picture.lanes.flatMap(({ leases }) =>
    leases.slice(0, 3).map(({ from, until }) => until - from),
  )
  const longest = Math.max(0, ...lengths)
  return longest === 0
    ? Math.max(1, Math.round(picture.endsAt / 20_000))
    : Math.max(1, Math.round(longest / 500))
}

export function choicesFor(selection: Selection | null, given: Given): readonly Choice[] {
  if (selection?.type === 'node') return nodeChoices(selection.node, given)
  if (selection?.type === 'link') return linkChoices(selection.from, selection.to, given)
  if (selection?.type === 'message') return messageChoices(selection.message, given)
  return []
}

function nodeChoices(node: NodeId, { picture, cursor, defaultMs }: Given): readonly Choice[] {
  const lane = picture.lanes.find((each) => each.node === node)
  const others = picture.nodes.filter((each) => each !== node)
  if (lane === undefined) return []
  // Before the first moment a node has no role yet: an event at 0 ms comes after its start.
  if (conditionAt(lane, cursor).role?.role === 'crashed')
    return [createChoice('restart', 'Restart', 'c', { recover: node })]
  return [
    { ...createChoice('crash', 'Crash', 'c', { crash: node }), isDanger: true },
    asking('pause', 'Pause', 'p', ms('Pause for', defaultMs), (forMs) => ({ pause: node, forMs })),
    asking('suspend', 'Suspend', 's', ms('Suspend for', defaultMs), (forMs) => ({ suspend: node, forMs })),
    asking('skew', 'Skew', 'k', ms('Move its clock by', -defaultMs, -3_600_000), (byMs) => ({
      skew: node,
      byMs,
    })),
    asking('drift', 'Drift', 'd', GAIN, (ppm) => ({ drift: node, ppm })),
    isLoadedAt(lane, cursor.at)
      ? createChoice('load', 'End load', 'o', { load: [node], lateMs: 0 })
      : asking('load', 'Load', 'o', ms('Act late by up to', defaultMs), (most) => ({
          load: [node],
          lateMs: [0, most],
        })),
    createChoice('isolate', 'Isolate', 'x', { partition: [[node], others] }),
  ]
}

function linkChoices(from: NodeId, to: NodeId, { picture, cursor, defaultMs }: Given): readonly Choice[] {
  const network = networkAt(picture, cursor.at)
  const isClosed = (a: NodeId, b: NodeId): boolean =>
    network?.closed.some(([x, y]) => x === a && y === b) ?? false
  const isSlow = network?.slow.some(([x, y]) => (x === from && y === to) || (x === to && y === from)) ?? false
  const cuts = [
    createChoice('cut', 'Cut', 'c', { cut: [[from, to]] }),
    createChoice('one-way', `Cut ${from} → ${to}`, 'o', { cutOneWay: [[from, to]] }),
    createChoice('other-way', `Cut ${to} → ${from}`, 'i', { cutOneWay: [[to, from]] }),
    asking(
      'slow',
      'Slow',
      's',
      ms('Delay each message by', Math.max(1, Math.round(defaultMs / 4))),
      (delayMs) => ({ slow: [[from, to]], delayMs }),
    ),
  ]
  const isHurt = isClosed(from, to) || isClosed(to, from) || isSlow
  return [...(isHurt ? [createChoice('heal', 'Heal', 'h', { heal: [[from, to]] })] : []), ...cuts]
}

function messageChoices(message: number, { picture, cursor, defaultMs }: Given): readonly Choice[] {
  const isFlying = picture.flights.some(
    (flight) =>
      flight.message === message &&
      flight.sentIn <= cursor.moment &&
      (flight.endedIn === null || flight.endedIn > cursor.moment),
  )
  if (!isFlying) return []
  return [
    { ...createChoice('drop', 'Drop', 'd', { drop: message }), isDanger: true },
    asking('delay', 'Delay', 'l', ms('Delay it by', Math.max(1, Math.round(defaultMs / 4))), (forMs) => ({
      delay: message,
      forMs,
    })),
    createChoice('copy', 'Duplicate', 'u', { copy: message }),
  ]
}

/** What was typed for a command of the protocol, or why it cannot be sent. */
export function readCommand(
  form: CommandForm,
  node: NodeId,
  typed: { readonly [name: string]: string },
  nodes: readonly NodeId[],
): Intervention | string {
  const command: Record<string, NodeId | number | boolean | string | readonly NodeId[]> & {
    do: string
    node: NodeId
  } = {
    do: form.name,
    node,
  }
  const idOf = (text: string): NodeId | undefined => nodes.find((each) => String(each) === text.trim())
  for (const { name, type } of form.fields) {
    const text = typed[name] ?? ''
    if (type === 'number') {
      if (text.trim() === '' || !Number.isFinite(Number(text))) return `${name} must be a number`
      command[name] = Number(text)
    } else if (type === 'boolean') command[name] = text === 'true'
    else if (type === 'text') command[name] = text
    else {
      const ids = text
        .split(/[\s,]+/)
        .filter((each) => each !== '')
        .map(idOf)
      const known = ids.filter((id) => id !== undefined)
      if (known.length !== ids.length || ids.length === 0) return `${name} must name nodes of the group`
      command[name] = type === 'nodes' ? known : (known[0] as NodeId)
    }
  }
  return { command }
}
