/**
 * The worker of the elections at one address. Each election has its own backend. It publishes its lease in shared memory
 * and sends the rest as messages.
 *
 * The lease is granted and revoked in shared memory before any later effect is carried out, because outputs are effects and
 * come in order. It is extended after the step in which that happened.
 */
import { parentPort } from 'node:worker_threads'
import {
  type Command,
  type Micros,
  type NodeId,
  type Output,
  type PlainObject,
  present,
} from '../../../core/index.ts'
import type { Pulse } from '../../../protocols/index.ts'
import { loadProtocol } from '../../config/load-protocol.ts'
import { type HostClock, hostClock, openHostClock } from '../../runtime/index.ts'
import type { CoreStatus } from './election.ts'
import { serializeError } from './error-transfer.ts'
import { openElectionInStore } from './in-store.ts'
import { type LocalElection, type LocalEvents, openElectionInThread } from './in-thread.ts'
import { SharedState } from './shared-lease.ts'
import { StallWatch } from './stall-watch.ts'
import { wallAheadAtLeast } from './suspend-check.ts'
import {
  type ElectionStart,
  GREETING,
  type StatusSnapshot,
  type WorkerControl,
  type WorkerMessage,
  type WorkerRequest,
} from './worker-requests.ts'

type Candidacy = { readonly do: 'campaign'; readonly willing: boolean; readonly lapse: boolean }

/** Reads how far the wall clock is ahead before it asks whether the host slept, so that a suspend in between is detected. */
function withWall(clock: HostClock): HostClock & { wallAhead: Micros } {
  const noted = {
    wallAhead: wallAheadAtLeast(() => clock.now()),
    now: () => clock.now(),
    suspendedFor() {
      const ahead = wallAheadAtLeast(() => clock.now())
      const slept = clock.suspendedFor()
      noted.wallAhead = ahead
      return slept
    },
    close: () => clock.close(),
  }
  return noted
}

/** How often measurements and what other nodes tell are sent; five times as seldom in large groups. */
const OBSERVED_INTERVAL: Micros = 1_000_000
const FEW_NODES = 16

/** The age of a snapshot before a new one is taken. The end of the leader's lease is published after every turn. */
const SNAPSHOT_INTERVAL: Micros = 200_000
/** How often the values that change with every renewal are published; a whole snapshot where they are not known apart. */
const PULSE_INTERVAL: Micros = 20_000
/** Short leases need younger values: peers count as reachable for little longer than a lease. */
const PULSES_PER_LEASE = 8

/** The end of a term is reported right after the step, and its beginning even earlier. */
const URGENT: readonly string[] = ['elected', 'demoted', 'yield']
/** Other events wait: waking the application's thread would delay an election. In a LAN its round trip is over by then. */
const REPORT_DELAY_MS = 2

type Reported = {
  readonly leader: NodeId | null
  readonly members: readonly NodeId[] | null
  readonly evidenceFor: Micros | null
}

function isReported({ leader, members, evidenceFor }: Pulse, last: Reported): boolean {
  if (leader !== last.leader || evidenceFor !== last.evidenceFor) return false
  if (members === last.members) return true
  if (members === null || last.members === null || members.length !== last.members.length) return false
  return members.every((id, place) => id === last.members?.[place])
}

/** One for all elections, because they share one endpoint, which opens and closes it. */
let clock = withWall(hostClock(null))

function openClock(): HostClock {
  clock = withWall(openHostClock())
  return clock
}

/** Starts an election. */
async function open({ settings, modules, shared: buffer, maxStallMs, port }: ElectionStart): Promise<void> {
  const shared = new SharedState(buffer)
  const send = (message: WorkerMessage): void => port.postMessage(message)
  let backend: LocalElection | null = null
  let isLeading = false
  let granted: Micros = 0
  let lastSnapshot = ''
  let lastLeader = ''
  let leaderChanges = 0
  /** The nodes in the order of shared memory. */
  let nodeIds = settings.nodes
  let snapshotAt: Micros = 0
  let observedAt: Micros = Number.NEGATIVE_INFINITY
  let observedInterval = OBSERVED_INTERVAL
  let pulseAt: Micros = 0
  let pulseInterval = PULSE_INTERVAL
  /** The values of the last report whose change is reported at once. */
  let lastReported: Reported = { leader: null, members: null, evidenceFor: null }
  /** The outputs that are not reported yet, in order. */
  let unreported: Output[] = []
  let isScheduled = false
  let delayedReport: NodeJS.Timeout | null = null
  /** There was a leader at the last report, and at all times since. */
  let hasLeader = false
  /** When the lease of the last known leader ends. */
  let knownUntil: Micros = 0
  /** The candidacy that the application asked for. */
  let candidacy: Candidacy = { do: 'campaign', willing: false, lapse: false }

  function output(event: Output): void {
    if (event.type === 'elected') isLeading = true
    // Listeners find the level that belongs to the event.
    if (event.type === 'level') observedAt = Number.NEGATIVE_INFINITY
    if (event.type === 'demoted') {
      isLeading = false
      granted = 0
      const reported =
        event['cause'] === 'expired' && stall.isStalled ? { ...event, ...describeStall() } : event
      shared.revoke(reported['cause'] as string)
      unreported.push(reported)
    } else unreported.push(event)
    // The application starts its work while the messages of this step are sent.
    if (event.type === 'elected') report()
    else scheduleReport()
  }

  function describeStall(): PlainObject {
    const detail = `the application's thread was blocked for ${Math.round(stall.stalledMs)} ms (maxStallMs is ${maxStallMs})`
    return { cause: 'stalled', kind: 'late', detail }
  }

  /** Publishes the lease, and reports once for all steps of a turn. */
  function scheduleReport(): void {
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      if (backend === null) return
      grant(backend)
      const isNewLeader = publishEnd(backend)
      const now = clock.now()
      if (unreported.some(({ type }) => URGENT.includes(type)) || hasExpired(now)) report()
      else if (unreported.length > 0) delayedReport ??= setTimeout(reportWithObserved, REPORT_DELAY_MS)
      else {
        sendObserved(backend, now)
        if (isNewLeader || needsSnapshot(backend, now)) report()
      }
    })
  }

  /** The leader is lost, and has not handed over: the application sees the time without a leader, however short it is. */
  function hasExpired(now: Micros): boolean {
    return now >= knownUntil && unreported.some(({ type, leader }) => type === 'following' && leader === null)
  }

  /**
   * Publishes when the term of the leader ends, if the application knows this leader from the last report. Returns whether
   * there is one after a time without a leader, of which the application does not know.
   */
  function publishEnd(from: LocalElection): boolean {
    const leadUntil = from.leadUntil?.()
    if (leadUntil === undefined) return false
    if (leadUntil === null) hasLeader = false
    else knownUntil = leadUntil
    const isKnown = hasLeader && !unreported.some(({ type }) => type === 'following')
    if (leadUntil === null || isKnown) shared.publishLeadUntil(leadUntil, leaderChanges)
    return leadUntil !== null && !hasLeader
  }

  /** Publishes what changes with every renewal. Returns whether the rest of the status has changed, or may have. */
  function needsSnapshot(from: LocalElection, now: Micros): boolean {
    if (now - pulseAt < pulseInterval) return false
    const pulse = from.pulse?.()
    if (pulse === undefined || !isReported(pulse, lastReported) || now - snapshotAt >= SNAPSHOT_INTERVAL)
      return true
    pulseAt = now
    shared.membersUntil = pulse.membersUntil
    shared.noteHeard(nodeIds, from.heard)
    shared.noteEvidence(pulse.evidence)
    return false
  }

  /** Sends the events since the last report and, if it has changed, a snapshot of the status. */
  function report(): void {
    cancelReport()
    if (backend === null) return
    grant(backend)
    if (unreported.some(({ type }) => type === 'level')) sendObserved(backend, clock.now())
    const events = unreported
    unreported = []
    snapshotAt = clock.now()
    pulseAt = snapshotAt
    const status = backend.coreStatus()
    const snapshot = takeSnapshot(backend, status)
    shared.publishLeadUntil(status.leadUntil, leaderChanges)
    shared.membersUntil = status.membersUntil
    hasLeader = status.leadUntil !== null
    const { view, evidenceFor } = status
    lastReported = { leader: view.leader?.id ?? null, members: view.members, evidenceFor }
    if (status.leadUntil !== null) knownUntil = status.leadUntil
    if (events.length > 0 || snapshot !== null) send({ message: 'progress', events, snapshot })
  }

  function reportWithObserved(): void {
    if (backend !== null) sendObserved(backend, clock.now())
    report()
  }

  function cancelReport(): void {
    if (delayedReport !== null) clearTimeout(delayedReport)
    delayedReport = null
  }

  /** Sends what operators may ask for, at a limited rate. */
  function sendObserved(from: LocalElection, now: Micros): void {
    if (now - observedAt < observedInterval) return
    observedAt = now
    const observed = from.observed()
    observedInterval = observed.nodes.length > FEW_NODES ? 5 * OBSERVED_INTERVAL : OBSERVED_INTERVAL
    const lock = observed.timing?.lock ?? Number.POSITIVE_INFINITY
    pulseInterval = Math.min(PULSE_INTERVAL, lock / PULSES_PER_LEASE)
    send({ message: 'observed', observed })
  }

  /** Publishes the lease before the election is reported, so that listeners find it. */
  function grant(from: LocalElection): void {
    if (!isLeading) return
    const { until, token } = from.lease()
    if (until === null || until === granted) return
    // Until the first renewal of the next term, the application can still read why the last one ended.
    if (granted !== 0) shared.renewedAt = from.renewedAt
    granted = until
    shared.grant({ until, token, wallAhead: clock.wallAhead }, stall.isStalled ? 'stalled' : null)
  }

  /** Writes values that change all the time to shared memory; returns the others when they have changed. */
  function takeSnapshot(from: LocalElection, status: CoreStatus): StatusSnapshot | null {
    const { view, voters, nodes, evidenceFor, isSilent, membership, primary, now } = status
    shared.datagrams = status.datagrams
    const ids = nodes.map(({ id }) => id)
    nodeIds = ids
    shared.noteHeard(ids, from.heard)
    shared.noteEvidence(
      nodes.map(({ evidenceMsAgo }) => (evidenceMsAgo === null ? null : now - evidenceMsAgo * 1000)),
    )
    const there = evidenceFor === null ? nodes.filter((node) => node.reachable).map(({ id }) => id) : []
    const leader = JSON.stringify(view.leader)
    if (leader !== lastLeader) leaderChanges += 1
    lastLeader = leader
    const snapshot: StatusSnapshot = {
      view,
      leaderChanges,
      voters,
      nodes: ids,
      reachable: there,
      evidenceFor,
      isSilent,
      membership,
      primary,
    }
    const text = JSON.stringify(snapshot)
    if (text === lastSnapshot) return null
    lastSnapshot = text
    return snapshot
  }

  const stall = new StallWatch(shared, maxStallMs, {
    stalled(forMs) {
      const { lease } = shared.standing()
      if (lease !== null) shared.grant(lease, 'stalled')
      // The lease expires and is not released, because work may be running.
      if (candidacy.willing) void backend?.command({ do: 'campaign', willing: false, lapse: true })
      send({
        message: 'warning',
        what: 'stalled',
        detail: `the application's thread was blocked for ${Math.round(forMs)} ms; the lease is not renewed`,
      })
    },
    resumed() {
      const { lease } = shared.standing()
      if (lease !== null) shared.grant(lease)
      void backend?.command(candidacy)
    },
  })

  async function handleCommand(command: Command): Promise<string | null> {
    if (command.do === 'campaign') {
      candidacy = command as Candidacy
      if (candidacy.willing && stall.isStalled) return null
    }
    const why = (await backend?.command(command)) ?? null
    // It may have changed what no pulse shows.
    snapshotAt = 0
    // Callers find what they have changed in the status.
    if (command.do === 'setLeaseBounds' && backend !== null && why === null) {
      observedAt = Number.NEGATIVE_INFINITY
      sendObserved(backend, clock.now())
    }
    return why
  }

  /** Nothing can be asked of an election that has left its endpoint. */
  async function closeBackend(): Promise<void> {
    await backend?.close()
    cancelReport()
    backend = null
  }

  async function handleRequest(request: WorkerRequest): Promise<string | null> {
    switch (request.request) {
      case 'command':
        return handleCommand(request.command)
      case 'stepDown':
        await backend?.stepDown(request.token, request.to)
        return null
      case 'handOverProblem':
        return (await backend?.handOverProblem(request.to)) ?? null
      case 'injectFaults':
        backend?.injectFaults(request.faults)
        return null
      case 'announce':
        backend?.announce(request.news)
        return null
      case 'trace':
        for await (const piece of backend?.trace() ?? [])
          send({ message: 'trace', number: request.number, piece })
        return null
      case 'close':
        if (delayedReport !== null) reportWithObserved()
        stall.stop()
        shared.revoke('closed')
        await closeBackend()
        return null
      default:
        return request satisfies never
    }
  }

  port.on('message', (request: WorkerRequest) => {
    void handleRequest(request)
      .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
      .then((why) => {
        // The effects of a request are reported before its reply.
        if (delayedReport !== null) reportWithObserved()
        send({ message: 'reply', number: request.number, why })
        if (request.request === 'close') port.close()
      })
  })

  try {
    const events: LocalEvents = {
      output,
      stepped: scheduleReport,
      changed() {},
      noted(late, slow) {
        if (late !== null) shared.noteLate(late)
        if (slow !== null) shared.noteSlow(slow, slow.from === null ? -1 : nodeIds.indexOf(slow.from))
      },
      warn: (what: string, detail: string) => send({ message: 'warning', what, detail }),
      failed(error: Error) {
        shared.revoke('failed')
        // The end of the term goes first.
        if (unreported.length > 0) send({ message: 'progress', events: unreported, snapshot: null })
        unreported = []
        cancelReport()
        send({ message: 'failed', error: serializeError(error) })
      },
    }
    await Promise.all(modules.map((module) => loadProtocol(module)))
    backend = await ('store' in settings
      ? openElectionInStore(settings, events, openClock())
      : openElectionInThread(settings, events, openClock))
    stall.start()
    // The status is complete as soon as the node has joined.
    sendObserved(backend, clock.now())
    send({ message: 'started' })
    scheduleReport()
  } catch (error) {
    send({ message: 'refused', error: serializeError(error) })
    port.close()
  }
}

const controls = present(parentPort, 'the port of the thread')
controls.postMessage(GREETING)
controls.on('message', (control: WorkerControl) => {
  if (control.control === 'open') void open(control.start)
  // Without the port nothing keeps this thread running.
  else controls.close()
})
