/** Reads the present length of leases, where they tune themselves. */
import { fieldsOf, idOf, isFields, listOf, numberOf, textOf } from './read.ts'
import type { AgentEvent, Timing } from './types.ts'

/** Undefined: the timing is fixed, or the agent is too old to say. */
export function parseTiming(value: unknown): Timing | undefined {
  if (!isFields(value)) return undefined
  const [least, most] = listOf(value['levels']).map(numberOf)
  const read = (name: string): number | null => numberOf(value[name])
  const level = read('level')
  const leaseMs = read('leaseMs')
  if (level === null || leaseMs === null) return undefined
  return {
    level,
    levels: [least ?? level, most ?? level],
    leaseMs,
    renewalMs: read('renewalMs'),
    marginMs: read('marginMs') ?? 0,
    leaseMinMs: read('leaseMinMs') ?? leaseMs,
    leaseMaxMs: read('leaseMaxMs') ?? leaseMs,
    failoverMs: failover(value['failoverMs']),
    need: need(value['need']),
    evidence: listOf(value['evidence']).flatMap((each) => evidence(each) ?? []),
    refusals: listOf(value['refusals']).flatMap((each) => refusal(each) ?? []),
  }
}

function failover(value: unknown): Timing['failoverMs'] {
  const fields = fieldsOf(value)
  const typical = numberOf(fields['typical'])
  const worst = numberOf(fields['worst'])
  return typical === null || worst === null ? null : { typical, worst }
}

type Need = NonNullable<Timing['need']>

function need(value: unknown): Need | null {
  const fields = fieldsOf(value)
  const level = numberOf(fields['level'])
  const leaseMs = numberOf(fields['leaseMs'])
  const text = textOf(fields['text'])
  if (level === null || leaseMs === null || text === null) return null
  return {
    level,
    leaseMs,
    text,
    cause: (textOf(fields['cause']) ?? 'quiet') as Need['cause'],
    by: idOf(fields['by']),
  }
}

function evidence(value: unknown): Timing['evidence'][number] | null {
  const fields = fieldsOf(value)
  const id = idOf(fields['id'])
  if (id === null) return null
  const read = (name: string): number => numberOf(fields[name]) ?? 0
  return {
    id,
    latenessMs: read('latenessMs'),
    delayMs: read('delayMs'),
    loss: read('loss'),
    msAgo: read('msAgo'),
  }
}

function refusal(value: unknown): Timing['refusals'][number] | null {
  const fields = fieldsOf(value)
  const id = idOf(fields['id'])
  const leaseMinMs = numberOf(fields['leaseMinMs'])
  const leaseMaxMs = numberOf(fields['leaseMaxMs'])
  return id === null || leaseMinMs === null || leaseMaxMs === null ? null : { id, leaseMinMs, leaseMaxMs }
}

export function parseLevelChange(value: unknown): AgentEvent['level'] | null {
  const fields = fieldsOf(value)
  const level = numberOf(fields['level'])
  const leaseMs = numberOf(fields['leaseMs'])
  const fromMs = numberOf(fields['fromMs'])
  if (level === null || leaseMs === null || fromMs === null) return null
  return {
    level,
    leaseMs,
    fromMs,
    cause: (textOf(fields['cause']) ?? 'quiet') as Need['cause'],
    by: idOf(fields['by']),
  }
}
