/** The state of the page, as signals. Components read it; only this file and the actions change it. */
import { batch, computed, signal } from '@preact/signals'
import { entryOf } from '../view/log.ts'
import { type LogEntry, PageLog } from './event-log.ts'
import { Feed, type FeedEvents } from './feed.ts'
import { idsOf, textOf } from './read.ts'
import { type AgentError, getJson, type RequestContext } from './requests.ts'
import { mergeHistory, mergeTerm } from './terms.ts'
import type { AgentEvent, Level, Local, Sample, Status, Term } from './types.ts'

export type Link =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** `sinceMs`: when the last data arrived, on the page's clock; null if none ever did. */
  | { readonly state: 'lost'; readonly problem: AgentError; readonly sinceMs: number | null }

/** Events that arrive together are shown together. */
const FLUSH_MS = 40
const AGE_TICK_MS = 200
const OTHER_GROUPS_INTERVAL_MS = 5000

export const status = signal<Status | null>(null)
/** When the status arrived, on the page's monotonic clock. */
export const statusAtMs = signal(0)
export const link = signal<Link>({ state: 'connecting' })
export const terms = signal<readonly Term[]>([])
export const samples = signal<readonly Sample[]>([])
export const local = signal<Local | null>(null)
export const group = signal<string | null>(null)
export const groups = signal<readonly string[]>([])
export const levels = signal<{ readonly [group: string]: Level }>({})
export const token = signal<string | null>(null)
/** Messages of the agent that the page could not read. */
export const junk = signal(0)
/** The log, and a number that changes with it. */
export const log = new PageLog()
export const logVersion = signal(0)
/** The page's clock, a few times a second: for ages. */
export const clockMs = signal(performance.now())

export const isStale = computed(() => link.value.state === 'lost')
const idsText = computed(() => JSON.stringify((status.value?.nodes ?? []).map(({ id }) => String(id))))
/** The ids of all nodes. The same array while they stay the same, so that nothing is drawn again for it. */
export const ids = computed(() => JSON.parse(idsText.value) as readonly string[])
/** The page's clock in whole seconds: for pictures that move slowly. */
export const secondMs = computed(() => Math.floor(clockMs.value / 1000) * 1000)

/** How much later than the data it is. A lost connection stops this clock: nothing is known about the time since. */
export const sinceDataMs = computed(() => (isStale.value ? 0 : Math.max(0, clockMs.value - statusAtMs.value)))

/** Now, on the clock of the agent. */
export function agentNowMs(at: number = performance.now()): number {
  const seen = status.value
  return seen === null ? Date.now() : Date.parse(seen.at) + (at - statusAtMs.value)
}

const context = (): RequestContext => ({ group: group.value, token: token.value })

let pending: Omit<LogEntry, 'number'>[] = []
let flushing: ReturnType<typeof setTimeout> | null = null

function flush(): void {
  flushing = null
  log.add(pending)
  pending = []
  logVersion.value += 1
}

function addEntry(entry: Omit<LogEntry, 'number'>): void {
  pending.push(entry)
  flushing ??= setTimeout(flush, FLUSH_MS)
}

/** An entry about the page itself. */
export function note(text: string): void {
  addEntry({ atMs: agentNowMs(), kind: 'page', node: null, text })
}

function handleStatus(next: Status): void {
  const before = link.value
  batch(() => {
    status.value = next
    statusAtMs.value = performance.now()
    link.value = before.state === 'live' ? before : { state: 'live' }
    levels.value = { ...levels.value, [next.group]: next.level }
  })
  if (before.state === 'lost' && before.sinceMs !== null) note(`connected to ${next.self.id} again`)
}

function handleLoss(problem: AgentError): void {
  const before = link.value
  const sinceMs = status.value === null ? null : statusAtMs.value
  if (before.state === 'live') note(`connection lost: ${problem.message}`)
  if (before.state === 'lost' && before.problem.message === problem.message) return
  link.value = { state: 'lost', problem, sinceMs }
  if (problem.code === 'GroupRequired') void readGroups()
}

let feed: Feed | null = null

/** `after`: the id of the last event in the log. */
function startFeed(after?: string): void {
  feed?.close()
  const on: FeedEvents = {
    status: handleStatus,
    lost: handleLoss,
    history: (told) => {
      batch(() => {
        terms.value = mergeHistory(terms.value, told.terms)
        samples.value = told.samples
      })
    },
    term: (term) => {
      terms.value = mergeTerm(terms.value, term)
    },
    event: (event: AgentEvent) => addEntry(entryOf(event)),
    missed: () => note('some older events are gone: the agent keeps the newest 1000'),
    junk: () => {
      junk.value += 1
    },
    local: (told) => {
      local.value = told
    },
  }
  feed = new Feed(context, on, after)
  feed.start()
}

export function refresh(): void {
  feed?.refresh()
}

export function setToken(next: string | null): void {
  token.value = next
  startFeed(feed?.lastEventId)
  void readGroups().then(readOtherLevels)
}

export function selectGroup(name: string): void {
  if (name === group.value) return
  const url = new URL(location.href)
  url.searchParams.set('group', name)
  history.replaceState(null, '', url)
  log.clear()
  batch(() => {
    group.value = name
    status.value = null
    terms.value = []
    samples.value = []
    link.value = { state: 'connecting' }
    logVersion.value += 1
  })
  startFeed()
}

/** Which groups the agent serves. An agent of an older version does not say. */
async function readGroups(): Promise<void> {
  try {
    const { groups: names } = (await getJson('/v1/groups', { ...context(), group: null })) as {
      readonly groups?: unknown
    }
    groups.value = idsOf(names)
    const [first] = groups.value
    if (group.value === null && first !== undefined && groups.value.length > 1) selectGroup(first)
  } catch {
    // The status of the feed says what is wrong.
  }
}

/** The level of each other group, for its tab. */
async function readOtherLevels(): Promise<void> {
  if (groups.value.length < 2) return
  const others = groups.value.filter((name) => name !== status.value?.group)
  const answers = await Promise.all(
    others.map(async (name) => {
      const answer = await getJson('/v1/status', { ...context(), group: name }).catch(() => null)
      return [name, textOf((answer as { level?: unknown } | null)?.level)] as const
    }),
  )
  const known = answers.filter(([, level]) => level !== null)
  if (known.length > 0)
    levels.value = { ...levels.value, ...(Object.fromEntries(known) as Record<string, Level>) }
}

export function startPage(): void {
  group.value = new URLSearchParams(location.search).get('group')
  void readGroups().then(readOtherLevels)
  startFeed()
  setInterval(() => {
    clockMs.value = performance.now()
  }, AGE_TICK_MS)
  setInterval(() => {
    if (!document.hidden && !isStale.value) void readOtherLevels()
  }, OTHER_GROUPS_INTERVAL_MS)
}
