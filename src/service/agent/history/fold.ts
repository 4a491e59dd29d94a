/**
 * The leadership history of a group, as one agent observed it: terms, and the gaps between them with their causes. A
 * pure fold, so that every order of observations can be tested.
 *
 * The entries join without overlap: each begins when the one before it ends. A cause is first a guess, and is replaced
 * by what is known with more certainty: the former leader returns and reports how its term ended, or returns as another
 * process, or the supervisor of a local group says what it did.
 */
import type { Cause, Id } from '../../client/index.ts'

/** Older entries are dropped. */
export const MAX_ENTRIES = 500
/** A cause is one sentence. A longer one is cut off. */
const MAX_TEXT = 300

/** How a cause is known. A higher value replaces a lower one. */
const CERTAINTY = {
  guessed: 0,
  unreachable: 1,
  outnumbered: 2,
  probed: 3,
  reported: 4,
  supervised: 5,
  observed: 6,
} as const

/** How a node reports that a term of its own ended. */
export type ReportedEnd = {
  readonly token: number | null
  readonly cause: Cause
  readonly endedMsAgo: number
}

/** What the agent knows about another node. */
export type ObservedNode = {
  readonly id: Id
  readonly reachable: boolean
  /** Changes when the process of the node is started again. Null while unknown. */
  readonly run?: string | null | undefined
  readonly lastTerm: ReportedEnd | null
}

/** What the supervisor of a local group did to its nodes. */
export type Supervised = {
  readonly nodes: { readonly [id: string]: 'up' | 'paused' | 'down' }
  readonly cut: readonly (readonly [hearer: string, sender: string])[]
}

/** What is known when the leader changes or the nodes are observed. */
export type Surroundings = {
  /** Each set of voters needs a majority. */
  readonly voters: readonly (readonly Id[])[]
  readonly nodes: readonly ObservedNode[]
  readonly supervised: Supervised | null
}

type Leader = { readonly id: Id; readonly token: number | null }

/** Times are in milliseconds of the wall clock. */
export type Observation =
  | {
      readonly type: 'leader'
      readonly at: number
      readonly leader: Leader | null
      readonly around: Surroundings
    }
  | { readonly type: 'nodes'; readonly at: number; readonly around: Surroundings }
  /** The own term of this node ended. */
  | { readonly type: 'revoked'; readonly at: number; readonly token: number | null; readonly cause: Cause }
  /** The host of an unreachable leader refuses connections: nothing listens where its process did. */
  | { readonly type: 'refused'; readonly at: number; readonly id: Id }

export type Entry = {
  readonly number: number
  readonly leader: Id | null
  readonly token: number | null
  readonly from: number
  readonly until: number | null
  readonly cause: Cause | null
  readonly ended: Cause | null
  /** The run of the leader's process when the term ended, as far as this agent knew it. */
  readonly run: string | null
  /** Certainty of `ended` or `cause`. */
  readonly certainty: number
}

export type History = {
  readonly self: Id
  readonly entries: readonly Entry[]
  /** Number of entries since the start, including dropped ones. */
  readonly count: number
}

export type Folded = { readonly history: History; readonly changed: readonly Entry[] }

export function startHistory(self: Id, at: number): History {
  const cause: Cause = { kind: 'started', node: self, text: `the agent of ${self} started` }
  const first: Entry = {
    number: 1,
    leader: null,
    token: null,
    from: at,
    until: null,
    cause,
    ended: null,
    run: null,
    certainty: CERTAINTY.supervised,
  }
  return { self, entries: [first], count: 1 }
}

/** Returns the same history when nothing changed. */
export function foldHistory(history: History, observation: Observation): Folded {
  switch (observation.type) {
    case 'leader':
      return foldLeader(history, observation)
    case 'nodes': {
      const { at, around } = observation
      return refineAll(history, (term) =>
        term.until === null ? null : (reportedCause(term, at, around) ?? guessAgain(history, term, around)),
      )
    }
    case 'revoked':
      return refineAll(history, ({ leader, token }) =>
        leader === history.self && token === observation.token
          ? { cause: observation.cause, certainty: CERTAINTY.reported }
          : null,
      )
    default:
      return refineAll(history, ({ leader, until }) =>
        leader === observation.id && until !== null
          ? {
              cause: {
                kind: 'crashed',
                node: leader,
                text: `the process of ${leader} ended: its host refuses connections`,
              },
              certainty: CERTAINTY.probed,
            }
          : null,
      )
  }
}

/** The terms whose end is not explained yet. The agent observes the nodes more often while there are any. */
export function openQuestions({ entries }: History): readonly Entry[] {
  return entries.filter((entry) => isTerm(entry) && entry.until !== null && isRefinable(entry))
}

const isTerm = (entry: Entry): entry is Entry & { readonly leader: Id } => entry.leader !== null
/** Whether the cause of an entry is a guess, or was seen from outside only. */
export const isRefinable = ({ certainty }: Entry): boolean => certainty < CERTAINTY.reported

// ---- Changes of the leader ----

function foldLeader(
  history: History,
  { at: givenAt, leader, around }: Observation & { readonly type: 'leader' },
): Folded {
  const current = history.entries.at(-1)
  if (current === undefined) return { history, changed: [] }
  if (current.leader === (leader?.id ?? null) && current.token === (leader?.token ?? null))
    return { history, changed: [] }
  // A wall clock can be set back; entries never overlap.
  const at = Math.max(givenAt, current.from)
  const closed = isTerm(current) ? closeTerm(history.self, current, at, around) : [{ ...current, until: at }]
  const [last = current] = closed
  const opened: Entry = {
    number: history.count + 1,
    leader: leader?.id ?? null,
    token: leader?.token ?? null,
    from: at,
    until: null,
    cause: leader === null ? last.ended : null,
    ended: null,
    run: null,
    certainty: leader === null ? last.certainty : CERTAINTY.guessed,
  }
  const before = history.entries.at(-2)
  const isSameTerm = leader !== null && leader.id === before?.leader && leader.token === before.token
  if (isTerm(current) || before === undefined || !isSameTerm || leader.token === null)
    return replace(history, closed, [opened])
  // The leader never lost its term: only this node did not hear it.
  const text = `${history.self} did not hear ${leader.id}, which kept its term`
  const cause: Cause = { kind: 'partitioned', node: history.self, text }
  const certainty = CERTAINTY.observed
  return replace(
    history,
    [
      { ...before, ended: cause, certainty },
      { ...last, cause, certainty },
    ],
    [opened],
  )
}

function closeTerm(
  self: Id,
  term: Entry & { readonly leader: Id },
  at: number,
  around: Surroundings,
): readonly Entry[] {
  const closed = { ...term, until: at, run: runOf(around, term.leader) }
  // The report of this node about its own term may arrive before the change of the leader.
  if (term.ended !== null) return [closed]
  const known = reportedCause(closed, at, around)
  const { cause, certainty } = known ?? guessCause(self, term.leader, around)
  return [{ ...closed, ended: shorten(cause), certainty }]
}

function guessCause(self: Id, leader: Id, { voters, nodes }: Surroundings): KnownCause {
  if (leader === self)
    return {
      cause: { kind: 'unknown', node: self, text: `${self} no longer leads` },
      certainty: CERTAINTY.guessed,
    }
  const reachable = nodes.flatMap((node) => (node.reachable ? [node.id] : []))
  const lacking = voters.find((set) => 2 * set.filter((id) => reachable.includes(id)).length <= set.length)
  if (lacking !== undefined && lacking.length > 1) {
    const count = lacking.filter((id) => reachable.includes(id)).length
    const text = `${self} reaches only ${count} of ${lacking.length} voters`
    return { cause: { kind: 'partitioned', node: self, text }, certainty: CERTAINTY.outnumbered }
  }
  if (reachable.includes(leader)) {
    const text = `${leader} is reachable, but ${self} has no sign that it still leads`
    return { cause: { kind: 'unknown', node: leader, text }, certainty: CERTAINTY.guessed }
  }
  const text = `${leader} is unreachable: its process or host stopped, or its links are cut`
  return { cause: { kind: 'unknown', node: leader, text }, certainty: CERTAINTY.unreachable }
}

/** While there is no leader: what was still reachable when the term ended may have been lost for the same reason. */
function guessAgain(
  { self, entries }: History,
  term: Entry & { readonly leader: Id },
  around: Surroundings,
): KnownCause | null {
  const isOpen = entries.at(-1)?.leader === null && entries.at(-2) === term
  return isOpen ? guessCause(self, term.leader, around) : null
}

// ---- Causes that become known ----

type KnownCause = { readonly cause: Cause; readonly certainty: number }

/** What the supervisor or the former leader says about the end of a term; null if neither says anything. */
function reportedCause(
  term: Entry & { readonly leader: Id },
  at: number,
  around: Surroundings,
): KnownCause | null {
  const { leader } = term
  // What the supervisor does later says nothing about the end of this term.
  const isRecent = at - (term.until ?? at) < SUPERVISED_MS
  const supervised = isRecent ? supervisedCause(leader, around) : null
  if (supervised !== null) return { cause: supervised, certainty: CERTAINTY.supervised }
  const node = around.nodes.find(({ id }) => id === leader)
  if (node === undefined) return null
  if (node.lastTerm !== null && isEndOf(node.lastTerm, term, at)) {
    const { cause } = node.lastTerm
    return { cause, certainty: cause.kind === 'unknown' ? CERTAINTY.probed : CERTAINTY.reported }
  }
  const run = node.run ?? null
  if (node.reachable && run !== null && term.run !== null && run !== term.run) {
    const text = `the process of ${leader} ended, and was started again`
    return { cause: { kind: 'crashed', node: leader, text }, certainty: CERTAINTY.reported }
  }
  return null
}

function isEndOf({ token, endedMsAgo }: ReportedEnd, term: Entry, at: number): boolean {
  if (token !== term.token) return false
  // Without tokens, as in local mode, only the time tells terms apart.
  return token !== null || Math.abs(at - endedMsAgo - (term.until ?? at)) < LOCAL_TOLERANCE_MS
}

/** How long after the end of a term the supervisor may say what it did before. */
const SUPERVISED_MS = 1000
/** How far the ends of a term may lie apart for two nodes that compare them without a token. */
const LOCAL_TOLERANCE_MS = 2000

function supervisedCause(leader: Id, { supervised, voters }: Surroundings): Cause | null {
  if (supervised === null) return null
  const state = supervised.nodes[String(leader)]
  if (state === 'down') return { kind: 'crashed', node: leader, text: `the process of ${leader} was killed` }
  if (state === 'paused') return { kind: 'paused', node: leader, text: `the process of ${leader} is paused` }
  const cut = new Set(
    supervised.cut.flatMap(([hearer, sender]) =>
      hearer === leader ? [sender] : sender === leader ? [hearer] : [],
    ),
  )
  const lost = voters.find((set) => 2 * set.filter((id) => cut.has(String(id))).length >= set.length)
  if (lost === undefined) return null
  return {
    kind: 'partitioned',
    node: leader,
    text: `${leader} is cut off from ${[...cut].toSorted().join(', ')}`,
  }
}

/** Replaces the cause of each ended term for which `know` has a better one, and of the gap after it. */
function refineAll(
  history: History,
  know: (term: Entry & { readonly leader: Id }) => KnownCause | null,
): Folded {
  const changed: Entry[] = []
  for (const [index, entry] of history.entries.entries()) {
    if (!isTerm(entry) || !isRefinable(entry)) continue
    const known = know(entry)
    if (known === null || known.certainty <= entry.certainty) continue
    const cause = shorten(known.cause)
    changed.push({ ...entry, ended: cause, certainty: known.certainty })
    const gap = history.entries[index + 1]
    if (gap !== undefined && !isTerm(gap) && gap.certainty <= known.certainty)
      changed.push({ ...gap, cause, certainty: known.certainty })
  }
  return changed.length === 0 ? { history, changed } : replace(history, changed, [])
}

// ---- Helpers ----

function replace(history: History, replaced: readonly Entry[], added: readonly Entry[]): Folded {
  const byNumber = new Map(replaced.map((entry) => [entry.number, entry]))
  const entries = history.entries.map((entry) => byNumber.get(entry.number) ?? entry)
  return {
    history: {
      ...history,
      entries: [...entries, ...added].slice(-MAX_ENTRIES),
      count: history.count + added.length,
    },
    changed: [...replaced, ...added],
  }
}

function runOf({ nodes }: Surroundings, id: Id): string | null {
  return nodes.find((node) => node.id === id)?.run ?? null
}

function shorten(cause: Cause): Cause {
  return cause.text.length <= MAX_TEXT ? cause : { ...cause, text: `${cause.text.slice(0, MAX_TEXT - 1)}…` }
}
