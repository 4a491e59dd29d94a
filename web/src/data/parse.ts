/** Reads the answers of an agent into the shapes of the client library. Null: not an answer of an agent. */
import { parseLevelChange, parseTiming } from './parse-timing.ts'
import { type Fields, fieldsOf, idOf, idsOf, instantOf, isFields, listOf, numberOf, textOf } from './read.ts'
import type {
  AgentEvent,
  Cause,
  History,
  Level,
  Local,
  Measured,
  ObservedNode,
  Sample,
  Status,
  Term,
  Warning,
} from './types.ts'

const LEVELS: readonly string[] = ['healthy', 'degraded', 'at-risk', 'no-leader', 'alarm'] satisfies Level[]
const EVENTS: readonly string[] = ['elected', 'revoked', 'change', 'view', 'level', 'warning', 'alarm']
const ROLES: readonly string[] = ['voter', 'witness', 'observer']
const STATES: readonly string[] = ['up', 'paused', 'down']

function percentiles(value: unknown): Measured['latenessMs'] {
  const { p50, p99, max } = fieldsOf(value)
  const read = { p50: numberOf(p50), p99: numberOf(p99), max: numberOf(max) }
  if (read.p50 === null || read.p99 === null || read.max === null) return null
  return { p50: read.p50, p99: read.p99, max: read.max }
}

function parseMeasured(value: unknown): Measured | null {
  if (!isFields(value)) return null
  const sigmaMs = numberOf(value['sigmaMs'])
  const deltaMs = numberOf(value['deltaMs'])
  if (sigmaMs === null || deltaMs === null) return null
  const { min, p50 } = fieldsOf(value['renewalMarginMs'])
  const least = numberOf(min)
  const median = numberOf(p50)
  return {
    windowMs: numberOf(value['windowMs']) ?? 0,
    latenessMs: percentiles(value['latenessMs']),
    sigmaMs,
    delayMs: percentiles(value['delayMs']),
    deltaMs,
    renewalMarginMs: least === null || median === null ? null : { min: least, p50: median },
  }
}

function hears(value: unknown): ObservedNode['hears'] {
  if (!isFields(value)) return null
  const rows = Object.entries(value).map(([id, row]) => {
    const { heardMsAgo, rttMs } = fieldsOf(row)
    return [id, { heardMsAgo: numberOf(heardMsAgo), rttMs: numberOf(rttMs) }] as const
  })
  return Object.fromEntries(rows)
}

function node(value: unknown): ObservedNode | null {
  if (!isFields(value)) return null
  const id = idOf(value['id'])
  if (id === null) return null
  const isVoter = value['voter'] === true
  const role = textOf(value['role']) ?? ''
  return {
    id,
    voter: isVoter,
    leader: value['leader'] === true,
    reachable: value['reachable'] === true,
    evidenceMsAgo: numberOf(value['evidenceMsAgo']),
    heardMsAgo: numberOf(value['heardMsAgo']),
    address: textOf(value['address']),
    resolvedAddress: textOf(value['resolvedAddress']),
    role: ROLES.includes(role) ? (role as ObservedNode['role']) : isVoter ? 'voter' : 'observer',
    priority: numberOf(value['priority']),
    version: textOf(value['version']),
    page: httpUrl(value['page']),
    canStore: value['canStore'] === false ? false : null,
    rttMs: numberOf(value['rttMs']),
    hears: hears(value['hears']),
    measured: parseMeasured(value['measured']),
  }
}

/** A node chooses its own URL: only addresses of pages may become links. */
export function httpUrl(value: unknown): string | null {
  if (typeof value !== 'string' || !URL.canParse(value)) return null
  return /^https?:$/.test(new URL(value).protocol) ? value : null
}

function warning(value: unknown): Warning | null {
  const { at, what, detail, count } = fieldsOf(value)
  const instant = instantOf(at)
  const name = textOf(what)
  if (instant === null || name === null) return null
  return { at: instant, what: name, detail: textOf(detail) ?? '', count: numberOf(count) ?? 1 }
}

function leader(value: unknown): Status['leader'] {
  if (!isFields(value)) return null
  const id = idOf(value['id'])
  if (id === null) return null
  return { id, token: numberOf(value['token']), expiresInMs: numberOf(value['expiresInMs']) }
}

function modeOf(value: unknown): Status['mode'] {
  return value === 'local' || value === 'store' ? value : 'majority'
}

export function parseStatus(value: unknown): Status | null {
  if (!isFields(value)) return null
  const level = textOf(value['level']) ?? ''
  const banner = textOf(value['banner'])
  const group = textOf(value['group'])
  const self = fieldsOf(value['self'])
  const selfId = idOf(self['id'])
  if (!LEVELS.includes(level) || banner === null || group === null || selfId === null) return null
  const { lengthMs, marginMs } = fieldsOf(value['lease'])
  const msAgo = numberOf(fieldsOf(value['leaderSince'])['msAgo'])
  return {
    version: textOf(value['version']) ?? '',
    group,
    leader: leader(value['leader']),
    self: { id: selfId, role: textOf(self['role']) ?? '' },
    leaderSince: msAgo === null ? null : { msAgo },
    banner,
    level: level as Level,
    mode: modeOf(value['mode']),
    voters: idsOf(value['voters']),
    failureTolerance: numberOf(value['failureTolerance']) ?? 0,
    evidenceTtlMs: numberOf(value['evidenceTtlMs']),
    leaderlessMs: numberOf(value['leaderlessMs']),
    lease: { lengthMs: numberOf(lengthMs) ?? 0, marginMs: numberOf(marginMs) ?? 0 },
    timing: parseTiming(value['timing']),
    measured: parseMeasured(value['measured']),
    warnings: listOf(value['warnings']).flatMap((each) => warning(each) ?? []),
    nodes: listOf(value['nodes']).flatMap((each) => node(each) ?? []),
    view: view(value['view']),
    at: instantOf(value['at']) ?? new Date(0).toISOString(),
  }
}

function view(value: unknown): Status['view'] {
  if (value === undefined) return undefined
  const { id, members } = fieldsOf(value)
  const [number, by] = listOf(id)
  if (numberOf(number) === null) return null
  return { id: [numberOf(number) ?? 0, idOf(by)], members: idsOf(members), incarnations: [] }
}

function cause(value: unknown): Cause | null {
  const { kind, node: about, text } = fieldsOf(value)
  const sentence = textOf(text)
  if (sentence === null) return null
  return { kind: (textOf(kind) ?? 'unknown') as Cause['kind'], node: idOf(about), text: sentence }
}

export function parseTerm(value: unknown): Term | null {
  const fields = fieldsOf(value)
  const from = instantOf(fields['from'])
  const number = numberOf(fields['number'])
  if (from === null || number === null) return null
  return {
    number,
    leader: idOf(fields['leader']),
    token: numberOf(fields['token']),
    from,
    until: instantOf(fields['until']),
    cause: cause(fields['cause']),
    ended: cause(fields['ended']),
  }
}

function sample(value: unknown): Sample | null {
  const fields = fieldsOf(value)
  const at = instantOf(fields['at'])
  if (at === null) return null
  const read = (name: keyof Sample): number | null => numberOf(fields[name])
  return {
    at,
    rttMs: read('rttMs'),
    latenessMs: read('latenessMs'),
    delayMs: read('delayMs'),
    renewalMarginMs: read('renewalMarginMs'),
    failoverMs: read('failoverMs'),
  }
}

export function parseHistory(value: unknown): Pick<History, 'terms' | 'samples'> | null {
  if (!isFields(value) || !Array.isArray(value['terms'])) return null
  return {
    terms: listOf(value['terms']).flatMap((each) => parseTerm(each) ?? []),
    samples: listOf(value['samples']).flatMap((each) => sample(each) ?? []),
  }
}

export function parseEvent(value: unknown): AgentEvent | null {
  if (!isFields(value)) return null
  const event = textOf(value['event']) ?? ''
  const self = idOf(value['self'])
  const at = instantOf(value['at'])
  if (!EVENTS.includes(event) || self === null || at === null) return null
  const why = cause(value['cause'])
  const seen = viewChange(value['view'])
  const level = parseLevelChange(value['level'])
  return {
    at,
    group: textOf(value['group']) ?? '',
    self,
    event: event as AgentEvent['event'],
    leader: idOf(value['leader']),
    token: numberOf(value['token']),
    term: numberOf(value['term']),
    reason: textOf(value['reason']),
    ...(why === null ? {} : { cause: why }),
    ...(seen === null ? {} : { view: seen }),
    ...(level === null ? {} : { level }),
  }
}

function viewChange(value: unknown): NonNullable<AgentEvent['view']> | null {
  const seen = view(value)
  if (seen === undefined || seen === null) return null
  const { joined, left } = value as Fields
  return { ...seen, joined: idsOf(joined), left: idsOf(left) }
}

export function parseLocal(value: unknown): Local | null {
  const { url, nodes, cut } = fieldsOf(value)
  const address = httpUrl(url)
  if (address === null) return null
  const states = Object.entries(fieldsOf(nodes)).filter(([, state]) => STATES.includes(String(state)))
  const links = listOf(cut).map(idsOf)
  return {
    url: address,
    nodes: Object.fromEntries(states) as Local['nodes'],
    cut: links.flatMap(([hearer, sender]) =>
      hearer === undefined || sender === undefined ? [] : [[hearer, sender] as const],
    ),
  }
}
