/** An election in a virtual world: the third kind of seat. It runs the very protocol that the others do. */
import type { Command, Micros, NodeId, Output } from '../../core/index.ts'
import { type GroupSpec, insightFor } from '../../protocols/index.ts'
import type { World } from '../../workbench/sim/index.ts'
import { type ElectionBackend, type ElectionEvents, nodeStatusOf, viewOf } from '../node/election/election.ts'

/** What the world sees of a process's traffic. */
export type Traffic = {
  sent: number
  received: number
  /** When each was last heard, in true time. */
  readonly heard: Map<NodeId, Micros>
}

export class SimulatedElection implements ElectionBackend {
  readonly #world: World
  readonly #id: NodeId
  readonly #spec: GroupSpec
  readonly #now: () => Micros
  readonly #hooks: ElectionEvents
  readonly #traffic: Traffic
  #isUp = true
  #refusal: string | null = null

  constructor(
    world: World,
    id: NodeId,
    spec: GroupSpec,
    now: () => Micros,
    traffic: Traffic,
    hooks: ElectionEvents,
  ) {
    this.#world = world
    this.#id = id
    this.#spec = spec
    this.#now = now
    this.#traffic = traffic
    this.#hooks = hooks
  }

  view() {
    const standing = this.#standing()
    return viewOf(standing?.view ?? NOBODY)
  }

  /** The world keeps its own traces. */
  // oxlint-disable-next-line require-yield -- there is nothing to tell
  async *trace(): AsyncGenerator<string, void, void> {}

  lease() {
    const standing = this.#standing()
    const leads = standing?.view.role === 'leader'
    const token = standing?.view.token ?? null
    return { until: leads ? standing.until : null, now: this.#now(), token, reason: null }
  }

  status() {
    const now = this.#now()
    const view = this.view()
    const insight = this.#isUp
      ? this.#world.inspect(this.#id, (state, at) => ({ at, ...insightFor(this.#id, this.#spec, state, at) }))
      : null
    const left = insight === null || insight.leadUntil === null ? null : insight.leadUntil - insight.at
    const { sent, received, heard } = this.#traffic
    const evidenceFor = insight?.evidence?.lasts ?? null
    return {
      view: left === null ? { ...view, leader: null } : view,
      leadUntil: left === null ? null : now + left,
      membersUntil: this.#standing()?.until ?? null,
      now,
      voters: insight?.voters ?? [],
      nodes: this.#spec.nodes.map((id) => {
        if (id === this.#id) return { id, reachable: this.#isUp, evidenceMsAgo: 0, heardMsAgo: 0 }
        const evidence = insight?.evidence?.of.find((each) => each.id === id)
        return nodeStatusOf(id, {
          heardAt: heard.get(id) ?? null,
          // Its own clock made it; `now` is that of the world.
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
  }

  async command(command: Command): Promise<string | null> {
    if (!this.#isUp) return 'this node has ended'
    if (command.do === 'addPeer' || command.do === 'removePeer')
      return 'the nodes of a testkit stay as they are'
    this.#refusal = null
    this.#world.applyEvent({ atMs: this.#now() / 1000, command: { ...command, node: this.#id } })
    return this.#refusal
  }

  async stepDown(token: number | null): Promise<void> {
    const standing = this.#standing()
    if (standing?.view.role === 'leader' && standing.view.token === token)
      await this.command({ do: 'stepDown' })
  }

  /** Here the world has its own faults. */
  injectFaults(): void {}

  async close(): Promise<void> {
    if (!this.#isUp) return
    this.#isUp = false
    this.#world.applyEvent({ atMs: this.#now() / 1000, crash: this.#id })
  }

  // ---- What the world says ----

  handleOutput(event: Output): void {
    if (!this.#isUp) return
    if (event.type === 'refused') this.#refusal = event['why'] as string
    this.#hooks.output(event)
    queueMicrotask(() => this.#hooks.changed(this.view()))
  }

  handleCrash(error: Error): void {
    if (!this.#isUp) return
    this.#isUp = false
    this.#hooks.failed(error)
  }

  #standing() {
    return this.#isUp ? this.#world.status(this.#id) : null
  }
}

const NOBODY = {
  role: 'follower',
  leader: null,
  token: null,
  until: null,
  members: null,
  detail: null,
} as const
