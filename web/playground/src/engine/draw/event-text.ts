/** The events of scenarios and schedules, each as one sentence. */
import { isList, type Plain, type PlainObject } from '../../../../../src/core/index.ts'
import { commandText, worldText } from '../../../../../src/workbench/trace/text.ts'

type Fields = PlainObject
type Describe = (value: Plain, event: Fields) => string

/** By the field that names what happens. */
const EVENTS: { readonly [field: string]: Describe } = {
  crash: (node, { afterEffects }) =>
    afterEffects === undefined
      ? `${word(node)} crashes`
      : `${word(node)} will crash after ${word(afterEffects)} effects of a step that has more`,
  recover: (node) => `${word(node)} restarts`,
  partition: (blocks) => `the network splits: ${lists(blocks, ', ', ' | ')}`,
  heal: (links) => (links === 'all' ? 'all links heal' : linkText(links, '–', 'heals', 'heal')),
  cut: (links) => linkText(links, '–', 'is cut', 'are cut'),
  cutOneWay: (links) => linkText(links, '→', 'is cut, one way', 'are cut, one way'),
  links: (links) =>
    links === 'full' ? 'every pair of nodes is linked' : `the links are now ${lists(links, '–', ', ')}`,
  slow: (links, { delayMs }) => `messages on ${lists(links, '–', ', ')} take ${span(delayMs)}`,
  loss: (share) =>
    share === 0 ? 'no message is lost by chance any more' : `${percent(share)} of all messages are lost`,
  duplicate: (share) =>
    share === 0 ? 'no message is duplicated any more' : `${percent(share)} of all messages arrive twice`,
  rules: (rules) =>
    isList(rules) && rules.length === 0
      ? 'the rules of the network end'
      : `the network follows ${isList(rules) ? rules.length : ''} other rules`,
  unwritable: (node) => `the storage of ${word(node)} fails`,
  writable: (node) => `the storage of ${word(node)} works again`,
  late: (share) =>
    share === 0 ? 'the store is on time again' : `${percent(share)} of the operations of the store are late`,
  hang: (_store, { forMs }) => `the store hangs for ${duration(forMs)}`,
  pause: (node, { forMs }) => `${word(node)} pauses for ${duration(forMs)}`,
  suspend: (node, { forMs }) => `${word(node)} is suspended for ${duration(forMs)}, and its clock stops`,
  drift: (node, { ppm }) => `the clock of ${word(node)} ${driftWords(ppm)}`,
  skew: (node, { byMs }) => `the clock of ${word(node)} jumps by ${duration(byMs)}`,
  drop: (message) => `message ${word(message)} is dropped`,
  delay: (message, { forMs }) => `message ${word(message)} is delayed by ${duration(forMs)}`,
  copy: (message) => `message ${word(message)} is duplicated`,
  load: (nodes, { lateMs = 0, delayMs = 0 }) => {
    const amounts = [
      ...(lateMs === 0 ? [] : [`late by ${span(lateMs)}`]),
      ...(delayMs === 0 ? [] : [`messages longer by ${span(delayMs)}`]),
    ]
    const who = nodes === 'all' ? 'all nodes' : lists(nodes, ', ', ', ')
    return amounts.length === 0 ? `the load on ${who} ends` : `load on ${who}: ${amounts.join(', ')}`
  },
  command: (given) => {
    const { node = null, ...command } = given as Fields
    return `${word(node)} receives the command ${commandText(command as never)}`
  },
}

/** The steps of a schedule that are no step of a node. */
const STEPS: { readonly [word: string]: (event: Fields) => string } = {
  crash: ({ node = null }) => `${word(node)} crashes`,
  cut: ({ node = null, peer = null }) => `the link ${word(node)}–${word(peer)} is cut`,
  heal: ({ node = null, peer = null }) => `the link ${word(node)}–${word(peer)} heals`,
  deliver: ({ node = null, from = null }) =>
    `a message from ${word(from)} reaches ${word(node)}, which is down`,
  land: ({ node = null }) => `the late write of ${word(node)} takes effect`,
  examine: ({ node = null }) => `another node reads the register of ${word(node)}, to remove it`,
  bury: ({ node = null }) => `another node writes a tombstone into the register of ${word(node)}`,
  delete: ({ node = null }) => `the register of ${word(node)} is deleted`,
  tickDisk: ({ node = null }) => `${word(node)} writes the next epoch to its register`,
  tickMem: ({ node = null }) => `the write of ${word(node)} is acknowledged`,
  write: ({ node = null }) => `${word(node)} writes its register`,
  read: ({ node = null, of = null }) => `${word(node)} reads the register of ${word(of)}`,
}

export function eventText({ ignored, ...event }: Fields): string {
  const text = happeningText(event)
  return typeof ignored === 'string' ? `nothing happens: ${ignored}` : text
}

function happeningText(event: Fields): string {
  const { do: step } = event
  if (typeof step === 'string') return STEPS[step]?.(event) ?? worldText(event)
  const [field, value] = Object.entries(event).find(([name]) => EVENTS[name] !== undefined) ?? []
  const describe = field === undefined ? undefined : EVENTS[field]
  return describe === undefined || value === undefined ? worldText(event) : describe(value, event)
}

function word(value: Plain | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? null)
}

function linkText(links: Plain, inner: string, one: string, several: string): string {
  const isOne = isList(links) && links.length === 1
  return `${isOne ? 'the link' : 'the links'} ${lists(links, inner, ', ')} ${isOne ? one : several}`
}

/** A list of lists, or a word such as "all". */
function lists(value: Plain, inner: string, outer: string): string {
  if (!isList(value)) return word(value)
  return value.map((each) => (isList(each) ? each.map(word).join(inner) : word(each))).join(outer)
}

function percent(share: Plain): string {
  return `${Number(((share as number) * 100).toPrecision(6))} %`
}

function span(value: Plain | undefined): string {
  if (!isList(value ?? null)) return duration(value)
  const [least = null, most = null] = value as readonly Plain[]
  return `${word(least)} to ${duration(most)}`
}

export function duration(ms: Plain | undefined): string {
  if (typeof ms !== 'number') return word(ms)
  return Math.abs(ms) >= 1000 ? `${ms / 1000} s` : `${ms} ms`
}

function driftWords(ppm: Plain | undefined): string {
  if (typeof ppm !== 'number' || ppm === 0) return 'runs exactly from now on'
  const amount = Math.abs(ppm) >= LARGE_PPM ? percent(Math.abs(ppm) / 1_000_000) : `${Math.abs(ppm)} ppm`
  return `runs ${amount} ${ppm > 0 ? 'fast' : 'slow'} from now on`
}

/** From here on a percentage says more. */
const LARGE_PPM = 10_000
