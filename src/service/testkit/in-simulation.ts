/** The election backend of the testkit: runs the real protocol in a simulated world. */
import type { Command, Micros, NodeId, Output, Plain } from '../../core/index.ts'
import {
  type GroupSpec,
  handOverProblemFor,
  insightFor,
  type LeaseInsight,
  leaseInsightFor,
} from '../../protocols/index.ts'
import type { World } from '../../workbench/sim/index.ts'
import {
  type CoreStatus,
  type ElectionBackend,
  type ElectionEvents,
  type ElectionStatus,
  NOTHING_MEASURED,
  nodeReachOf,
  ownReach,
  viewOf,
} from '../node/election/election.ts'
import { withObserved } from '../node/election/observed.ts'

/** Traffic of a node, as the world counts it. */
export type Traffic = {
  sent: number
  received: number
  /** When the last message of each peer arrived, in simulated time. */
  readonly heard: Map<NodeId, Micros>
}

export class SimulatedElection implements ElectionBackend {
  readonly #world: World
  readonly #id: NodeId
  readonly #spec: GroupSpec
  readonly #now: () => Micros
  readonly #events: ElectionEvents
  readonly #traffic: Traffic
  #isUp = true
  #refusal: string | null = null

  constructor(
    world: World,
    id: NodeId,
    spec: GroupSpec,
    now: () => Micros,
    traffic: Traffic,
    events: ElectionEvents,
  ) {
    this.#world = world
    this.#id = id
    this.#spec = spec
    this.#now = now
    this.#traffic = traffic
    this.#events = events
  }

  view() {
    const nodeView = this.#nodeView()
    return viewOf(nodeView?.view ?? NO_LEADER)
  }

  /** The world keeps its own trace. */
  // oxlint-disable-next-line require-yield -- nothing to yield
  async *trace(): AsyncGenerator<string, void, void> {}

  lease() {
    const nodeView = this.#nodeView()
    const leads = nodeView?.view.role === 'leader'
    const token = nodeView?.view.token ?? null
    return { until: leads ? nodeView.until : null, now: this.#now(), token, reason: null }
  }

  status(): ElectionStatus {
    const now = this.#now()
    const view = this.view()
    const insight = this.#isUp
      ? this.#world.inspect(this.#id, (state, at) => ({ at, ...insightFor(this.#id, this.#spec, state, at) }))
      : null
    const left = insight === null || insight.leadUntil === null ? null : insight.leadUntil - insight.at
    const { sent, received, heard } = this.#traffic
    const evidenceFor = insight?.evidence?.lasts ?? null
    const core: CoreStatus = {
      view: left === null ? { ...view, leader: null } : view,
      leadUntil: left === null ? null : now + left,
      membersUntil: this.#nodeView()?.until ?? null,
      now,
      voters: insight?.voters ?? [],
      nodes: this.#spec.nodes.map((id) => {
        if (id === this.#id) return ownReach(id, this.#isUp)
        const evidence = insight?.evidence?.of.find((each) => each.id === id)
        return nodeReachOf(id, {
          heardAt: heard.get(id) ?? null,
          // Convert from the node's clock to the clock of the world.
          evidenceAt: insight === null || evidence === undefined ? null : now - (insight.at - evidence.at),
          evidenceFor,
          isReachable: false,
          now,
        })
      }),
      evidenceFor,
      isSilent: insight !== null && insight.silentUntil !== null,
      membership: null,
      primary: null,
      datagrams: { sent, received, dropped: 0 },
    }
    // The world decides how late nodes are; they measure nothing.
    return withObserved(core, { at: now, measured: NOTHING_MEASURED, timing: this.#timing(), nodes: [] })
  }

  announce(): void {}

  #timing(): LeaseInsight | null {
    if (!this.#isUp) return null
    const at = this.#now()
    return this.#world.inspect(this.#id, (state, now) => {
      const seen = leaseInsightFor(this.#id, this.#spec, upperOf(state))
      // Convert from the node's clock to the clock of the world.
      const voters = seen?.voters.map((voter) => ({ ...voter, at: at - (now - voter.at) })) ?? []
      return seen === null ? null : { ...seen, voters }
    })
  }

  explain(): null {
    return null
  }

  async command(command: Command): Promise<string | null> {
    if (!this.#isUp) return 'this node is closed'
    if (command.do === 'addPeer' || command.do === 'removePeer') return 'the nodes of a testkit are fixed'
    this.#refusal = null
    this.#world.applyEvent({ atMs: this.#now() / 1000, command: { ...command, node: this.#id } })
    return this.#refusal
  }

  async handOverProblem(to: NodeId): Promise<string | null> {
    return this.#world.inspect(this.#id, (state, now) =>
      handOverProblemFor(this.#id, this.#spec, upperOf(state), to, now),
    )
  }

  async stepDown(token: number | null, to?: NodeId): Promise<void> {
    const nodeView = this.#nodeView()
    if (nodeView?.view.role === 'leader' && nodeView.view.token === token)
      await this.command({ do: 'stepDown', ...(to === undefined ? {} : { to }) })
  }

  /** The world injects faults itself. */
  injectFaults(): void {}

  async close(): Promise<void> {
    if (!this.#isUp) return
    this.#isUp = false
    this.#world.applyEvent({ atMs: this.#now() / 1000, crash: this.#id })
  }

  // ---- Events of the world ----

  handleOutput(event: Output): void {
    if (!this.#isUp) return
    if (event.type === 'refused') this.#refusal = event['why'] as string
    this.#events.output(event)
    queueMicrotask(() => this.#events.changed(this.view()))
  }

  handleCrash(error: Error): void {
    if (!this.#isUp) return
    this.#isUp = false
    this.#events.failed(error)
  }

  #nodeView() {
    return this.#isUp ? this.#world.status(this.#id) : null
  }
}

/** The protocol's own state, without the layer below it. */
function upperOf(state: Plain): Plain {
  const either = state as { readonly upper?: Plain } | null
  return either?.upper ?? state
}

const NO_LEADER = {
  role: 'follower',
  leader: null,
  token: null,
  until: null,
  members: null,
  detail: null,
} as const
