/**
 * The thread of the elections at one address. Each has a seat of its own, shows what it knows in shared memory, and says
 * the rest.
 *
 * The lease is taken back in shared memory before anything that follows it goes out, for outputs are effects like any
 * other and come in order. It is granted and prolonged after the step in which that happened.
 */
import { parentPort } from 'node:worker_threads'
import { type Command, type Micros, type Output, present } from '../../../core/index.ts'
import { type HostClock, hostClock, openHostClock } from '../../runtime/index.ts'
import { openElectionInStore } from './in-store.ts'
import { type LocalElection, openElectionInThread } from './in-thread.ts'
import { SharedState } from './shared-lease.ts'
import { StallWatch } from './stall-watch.ts'
import { wallAheadAtLeast } from './suspend-check.ts'
import {
  type ElectionStart,
  GREETING,
  type StatusSnapshot,
  serializeError,
  type WorkerControl,
  type WorkerMessage,
  type WorkerRequest,
} from './worker-requests.ts'

type Campaign = { readonly do: 'campaign'; readonly willing: boolean; readonly lapse: boolean }

/** Notes how far the wall clock is ahead before it asks whether the host slept: a sleep in between is then noticed. */
function withWall(clock: HostClock): HostClock & { wallAhead: Micros } {
  const noted = {
    wallAhead: wallAheadAtLeast(() => clock.now()),
    now: () => clock.now(),
    sleptFor() {
      const ahead = wallAheadAtLeast(() => clock.now())
      const slept = clock.sleptFor()
      noted.wallAhead = ahead
      return slept
    },
    close: () => clock.close(),
  }
  return noted
}

/** How old what operators are shown may be; steps come more often than this, so nothing is left unshown. */
const SHOW_EVERY: Micros = 20_000

/** One for all: there is one endpoint. It is opened and closed with that. */
let clock = withWall(hostClock(null))

function openClock(): HostClock {
  clock = withWall(openHostClock())
  return clock
}

/** An election begins. */
async function open({ settings, shared: buffer, maxStallMs, port }: ElectionStart): Promise<void> {
  const shared = new SharedState(buffer)
  const say = (news: WorkerMessage): void => port.postMessage(news)
  let seat: LocalElection | null = null
  let isLeading = false
  let granted: Micros = 0
  let lastShown = ''
  let shownAt: Micros = 0
  /** What is to be said after this turn, in order. */
  let unsaid: Output[] = []
  let isDue = false
  /** Whether the application would lead. */
  let wish: Campaign = { do: 'campaign', willing: false, lapse: false }

  function output(event: Output): void {
    if (event.type === 'elected') isLeading = true
    if (event.type === 'demoted') {
      isLeading = false
      granted = 0
      const isStall = event['cause'] === 'expired' && stall.isStalled
      const told = isStall ? { ...event, cause: 'stalled' } : event
      shared.revoke(told['cause'] as string)
      unsaid.push(told)
    } else unsaid.push(event)
    stepped()
  }

  /** Once for all steps of a turn. */
  function stepped(): void {
    if (isDue) return
    isDue = true
    queueMicrotask(() => {
      isDue = false
      if (seat === null) return
      grant(seat)
      const events = unsaid
      unsaid = []
      const now = clock.now()
      if (events.length === 0 && now - shownAt < SHOW_EVERY) return
      shownAt = now
      const shown = show(seat)
      if (events.length > 0 || shown !== null) say({ news: 'turn', events, shown })
    })
  }

  /** Before it is said that this process was elected: whoever hears it finds the lease. */
  function grant(from: LocalElection): void {
    if (!isLeading) return
    const { until, token } = from.lease()
    if (until === null || until === granted) return
    granted = until
    shared.grant({ until, token, wallAhead: clock.wallAhead }, stall.isStalled ? 'stalled' : null)
  }

  /** Writes down what changes all the time; gives the rest when it has changed. */
  function show(from: LocalElection): StatusSnapshot | null {
    const standing = from.status()
    const { view, membersUntil, leadUntil, voters, nodes, evidenceFor, isSilent, membership, primary, now } =
      standing
    shared.datagrams = standing.datagrams
    const ids = nodes.map(({ id }) => id)
    shared.noteHeard(ids, from.heard)
    shared.noteEvidence(
      nodes.map(({ evidenceMsAgo }) => (evidenceMsAgo === null ? null : now - evidenceMsAgo * 1000)),
    )
    shared.leadUntil = leadUntil
    shared.membersUntil = membersUntil
    const there = evidenceFor === null ? nodes.filter((node) => node.reachable).map(({ id }) => id) : []
    const shown: StatusSnapshot = {
      view,
      voters,
      nodes: ids,
      reachable: there,
      evidenceFor,
      isSilent,
      membership,
      primary,
    }
    const text = JSON.stringify(shown)
    if (text === lastShown) return null
    lastShown = text
    return shown
  }

  const stall = new StallWatch(shared, maxStallMs, {
    stalled(forMs) {
      const { lease } = shared.standing()
      if (lease !== null) shared.grant(lease, 'stalled')
      // What it leads by lapses: work may still be under way.
      if (wish.willing) void seat?.command({ do: 'campaign', willing: false, lapse: true })
      say({
        news: 'warning',
        what: 'stalled',
        detail: `the application's thread has made no progress for ${Math.round(forMs)} ms: no lease is renewed`,
      })
    },
    resumed() {
      const { lease } = shared.standing()
      if (lease !== null) shared.grant(lease)
      void seat?.command(wish)
    },
  })

  async function obey(command: Command): Promise<string | null> {
    if (command.do === 'campaign') {
      wish = command as Campaign
      if (wish.willing && stall.isStalled) return null
    }
    return (await seat?.command(command)) ?? null
  }

  async function answer(errand: WorkerRequest): Promise<string | null> {
    switch (errand.ask) {
      case 'command':
        return obey(errand.command)
      case 'stepDown':
        await seat?.stepDown(errand.token)
        return null
      case 'injectFaults':
        seat?.injectFaults(errand.faults)
        return null
      case 'trace':
        for await (const piece of seat?.trace() ?? []) say({ news: 'trace', number: errand.number, piece })
        return null
      case 'close':
        stall.stop()
        shared.revoke('closed')
        await seat?.close()
        return null
      default:
        return errand satisfies never
    }
  }

  port.on('message', (errand: WorkerRequest) => {
    void answer(errand)
      .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
      .then((why) => {
        say({ news: 'answer', number: errand.number, why })
        if (errand.ask === 'close') port.close()
      })
  })

  try {
    const hooks = {
      output,
      stepped,
      changed() {},
      warn: (what: string, detail: string) => say({ news: 'warning', what, detail }),
      failed(error: Error) {
        shared.revoke('failed')
        // The end of the term goes first.
        if (unsaid.length > 0) say({ news: 'turn', events: unsaid, shown: null })
        unsaid = []
        say({ news: 'failed', error: serializeError(error) })
      },
    }
    seat = await ('store' in settings
      ? openElectionInStore(settings, hooks, openClock())
      : openElectionInThread(settings, hooks, openClock))
    stall.start()
    say({ news: 'begun' })
    stepped()
  } catch (error) {
    say({ news: 'refused', error: serializeError(error) })
    port.close()
  }
}

const orders = present(parentPort, 'the port of the thread')
orders.postMessage(GREETING)
orders.on('message', (order: WorkerControl) => {
  if (order.order === 'open') void open(order.begin)
  // Nothing is left that would keep this thread.
  else orders.close()
})
