/**
 * One step of Omega+: something is recorded, then every rule is looked at again until nothing changes.
 *
 * No rule acts on the arrival of a message alone: a candidacy that cannot be accepted now is kept, and accepted when
 * it can be. The state is made anew, never changed; this object only holds it while the rules run.
 */
import type { Effect, Identity, NodeId } from '../../core/index.ts'
import { output, persist, send } from '../../core/index.ts'
import { hasQuorum } from './quorum.ts'
import { byWeight, type OmegaSettings } from './settings.ts'
import type {
  Link,
  Members,
  OmegaMessage,
  OmegaStable,
  OmegaState,
  OmegaView,
  Pending,
  Proposal,
  Status,
  ViewId,
} from './state.ts'
import {
  compareViewIds,
  idsOf,
  isNewer,
  lifeIn,
  membersOf,
  sameMembers,
  sameViewId,
  withAttempt,
  withoutAttempt,
} from './views.ts'

type OmegaEffect = Effect<OmegaMessage, OmegaStable>

export class Turn {
  state: OmegaState
  readonly #before: OmegaState
  readonly #identity: Identity
  readonly #settings: OmegaSettings
  readonly #rank: (a: NodeId, b: NodeId) => number
  readonly #effects: OmegaEffect[] = []
  /** Who must be told how this node stands, once the rules have come to rest. */
  readonly #toTell = new Set<NodeId>()

  constructor(identity: Identity, settings: OmegaSettings, state: OmegaState) {
    this.#identity = identity
    this.#settings = settings
    this.#rank = byWeight(settings.weights)
    this.#before = state
    this.state = state
  }

  /** Runs the rules until nothing changes; then what must be kept is kept before anything is sent. */
  end(): { readonly state: OmegaState; readonly effects: readonly OmegaEffect[] } {
    for (;;) {
      const was = this.state
      this.#yield()
      const target = this.#target()
      this.#stand(target)
      this.#converge()
      for (const { peer } of this.state.links) this.#answer(peer, target)
      if (this.state === was) break
    }
    if (this.#settings.filter && isTorn(this.state) !== isTorn(this.#before)) this.#tellAll()
    for (const { peer } of this.state.links) if (this.#toTell.has(peer)) this.#send(peer, this.#status())
    const { state } = this
    const isKept =
      state.life === this.#before.life &&
      state.view === this.#before.view &&
      sameViewId(state.promised, this.#before.promised) &&
      state.attempts === this.#before.attempts
    if (isKept) return { state, effects: this.#effects }
    const { life, view, promised, attempts } = state
    return { state, effects: [persist({ life, view, promised, attempts }), ...this.#effects] }
  }

  linkUp(peer: NodeId): void {
    const links = this.state.links.filter((link) => link.peer !== peer)
    links.push({ peer, status: null, pending: null, accepted: 0 })
    this.#set({ links: links.sort((a, b) => this.#rank(a.peer, b.peer)) })
    this.tell(peer)
    if (this.#settings.filter) this.#tellAll()
  }

  linkDown(peer: NodeId): void {
    const { proposal } = this.state
    this.#set({
      links: this.state.links.filter((link) => link.peer !== peer),
      proposal: proposal === null ? null : without(proposal, peer),
    })
    if (this.#settings.filter) this.#tellAll()
    if (this.state.ok && this.state.links.length === 0) this.#die()
  }

  heardStatus(peer: NodeId, { life, ok, view, promised, links, torn, aside }: Status): void {
    this.#onLink(peer, { status: { life, ok, view, promised, links, torn, aside } })
  }

  asked(peer: NodeId, { n, members, base }: Omit<Pending, 'told'>): void {
    this.#onLink(peer, { pending: { n, members, base, told: false }, accepted: 0 })
  }

  cancelled(peer: NodeId, n: number): void {
    if (this.#link(peer)?.pending?.n === n) this.#onLink(peer, { pending: null, accepted: 0 })
  }

  accepted(peer: NodeId, n: number, view: OmegaView, attempts: readonly OmegaView[]): void {
    const { proposal } = this.state
    if (proposal === null || proposal.n !== n || lifeIn(proposal.members, peer) === 0) return
    const accepts = [...without(proposal, peer).accepts, { peer, view, attempts }]
    accepts.sort((a, b) => this.#rank(a.peer, b.peer))
    this.#set({ proposal: { ...proposal, accepts } })
  }

  withdrawn(peer: NodeId, n: number): void {
    const { proposal } = this.state
    if (proposal !== null && proposal.n === n) this.#set({ proposal: without(proposal, peer) })
  }

  /** It would lead from now on, or would not; others hear of it when they are to act on it. */
  campaigns(willing: boolean, aside: boolean): void {
    const isNews = aside !== this.state.aside
    if (willing === this.state.willing && !isNews) return
    this.#set({ willing, aside })
    if (isNews) this.#tellAll()
  }

  /** It takes no further part in its view: the others form the next one, and take it in again. */
  leave(): void {
    if (this.state.ok) this.#die()
  }

  tell(peer: NodeId): void {
    this.#toTell.add(peer)
  }

  #tellAll(): void {
    for (const { peer } of this.state.links) this.tell(peer)
  }

  /** Rule 1: the newest view of a living peer holds. Whoever is not in it under its present life dies. */
  #yield(): void {
    const { links, ok, life } = this.state
    let { view: best } = this.state
    for (const { status } of links) {
      if (status?.ok === true && isNewer(status.view.id, best.id)) best = status.view
    }
    if (best === this.state.view) return
    if (lifeIn(best.members, this.#identity.self) === life) this.#install(best)
    else if (ok && !this.#settings.flaws.includes('no yield')) this.#die()
  }

  /** Rule 2: the view that this node would have now; null while it does not know enough, or sees strangers alive. */
  #target(): Members | null {
    const { links, ok, view, life } = this.state
    for (const { peer, status } of links) {
      if (status === null) return null
      if (ok && status.ok && lifeIn(view.members, peer) !== status.life) return null
    }
    const { self } = this.#identity
    const named = this.#settings.filter ? this.#wellLinked() : links
    return membersOf([[self, life], ...named.map(({ peer, status }) => [peer, lifeOf(status)] as const)])
  }

  /** With `filter`: the living, and those joiners that are linked with all who are named before them. */
  #wellLinked(): readonly Link[] {
    const { links } = this.state
    const named = links.filter((link) => this.#isAlive(link))
    for (const link of links) {
      const { status } = link
      if (named.includes(link) || status === null || status.torn) continue
      if (named.every(({ peer }) => status.links.includes(peer))) named.push(link)
    }
    return named
  }

  /** As far as this node can tell: one living in the same view, or, seen from the dead, any living one. */
  #isAlive({ peer, status }: Link): boolean {
    if (status === null) return false
    return this.state.ok ? lifeIn(this.state.view.members, peer) === status.life : status.ok
  }

  /**
   * Rule 3: who should propose these members: the least one alive; if none is, the least of all, where that is allowed.
   * Whoever would rather not lead comes after all others.
   */
  #boss(members: Members): NodeId | null {
    const { self } = this.#identity
    let boss: NodeId | null = this.state.ok ? self : null
    for (const link of this.state.links) {
      if (lifeIn(members, link.peer) === 0 || !this.#isAlive(link)) continue
      if (boss === null || this.#isBefore(link.peer, boss)) boss = link.peer
    }
    if (boss !== null || !this.#mayReinit(members)) return boss
    return idsOf(members).reduce((least, id) => (this.#isBefore(id, least) ? id : least))
  }

  #isBefore(id: NodeId, other: NodeId): boolean {
    const isAside = this.#isAside(id)
    return isAside === this.#isAside(other) ? this.#rank(id, other) < 0 : !isAside
  }

  #isAside(id: NodeId): boolean {
    if (id === this.#identity.self) return this.state.aside
    return this.#link(id)?.status?.aside === true
  }

  /** The view has a leader that would rather not lead, and this node would. */
  #shouldTakeOver({ id: [, leader] }: OmegaView): boolean {
    return !this.state.aside && leader !== null && leader !== this.#identity.self && this.#isAside(leader)
  }

  #mayReinit(members: Members): boolean {
    const { reinit } = this.#settings
    return reinit === 'quorum' || (reinit === 'all' && members.length === this.#identity.nodes.length)
  }

  /**
   * Rule 4: the boss proposes its target, unless that is the view it is in, under a leader that would lead; anybody else
   * takes back what it proposed.
   */
  #stand(target: Members | null): void {
    const { ok, view, proposal } = this.state
    const stands =
      target !== null &&
      target.length > 1 &&
      this.#boss(target) === this.#identity.self &&
      !(ok && sameMembers(target, view.members) && !this.#shouldTakeOver(view))
    if (!stands) {
      if (proposal !== null) this.#cancel(proposal, [])
      return
    }
    if (proposal !== null && this.#isCurrent(proposal, target)) return
    if (proposal !== null) this.#cancel(proposal, idsOf(target))
    this.#propose(target)
  }

  #isCurrent(proposal: Proposal, target: Members): boolean {
    if (!sameMembers(proposal.members, target) || !sameViewId(proposal.base, this.state.view.id)) return false
    return this.state.links.every(
      ({ peer, status }) =>
        lifeIn(target, peer) === 0 ||
        proposal.accepts.some((accept) => accept.peer === peer) ||
        status === null ||
        status.promised < proposal.n,
    )
  }

  #propose(members: Members): void {
    const { self } = this.#identity
    const { promised, links, view } = this.state
    let highest = promised[0]
    for (const { peer, status } of links) {
      if (status !== null && lifeIn(members, peer) !== 0) highest = Math.max(highest, status.promised)
    }
    const n = highest + 1
    const base = view.id
    this.#promise({ id: [n, self], members })
    this.#set({ proposal: { n, members, base, accepts: [] } })
    for (const peer of idsOf(members)) if (peer !== self) this.#send(peer, { kind: 'cand', n, members, base })
  }

  /**
   * Takes a proposal back; those who are about to get another need not be told. Only who proposes a view can install it
   * first: from now on nobody ever will, so it is no attempt any more.
   */
  #cancel({ n, members }: Proposal, renewed: readonly NodeId[]): void {
    const { self } = this.#identity
    this.#set({ proposal: null, attempts: withoutAttempt(this.state.attempts, [n, self]) })
    for (const { peer } of this.state.links) {
      if (lifeIn(members, peer) !== 0 && !renewed.includes(peer)) this.#send(peer, { kind: 'cancel', n })
    }
  }

  /** Rule 5: all have accepted, and the quorum rule agrees. */
  #converge(): void {
    const { proposal } = this.state
    if (proposal === null || proposal.accepts.length < proposal.members.length - 1) return
    if (!hasQuorum(proposal, this.state, this.#identity, this.#settings)) return
    this.#install({ id: [proposal.n, this.#identity.self], members: proposal.members })
  }

  /** Rule 6: a candidacy is accepted while this node would propose the same; an accept that no longer holds is withdrawn. */
  #answer(peer: NodeId, target: Members | null): void {
    const link = this.#link(peer)
    if (link === null || link.pending === null) return
    const { pending, accepted } = link
    const { n, members } = pending
    if (!this.#isGood(peer, pending, target)) {
      if (accepted === 0) return
      this.#onLink(peer, { accepted: 0 })
      this.#send(peer, { kind: 'withdraw', n })
      return
    }
    if (accepted === n) return
    const id: ViewId = [n, peer]
    if (compareViewIds(id, this.state.promised) < 0) {
      // It asks with a number that is too low: how this node stands makes it choose a higher one.
      if (pending.told) return
      this.#onLink(peer, { pending: { ...pending, told: true } })
      this.tell(peer)
      return
    }
    const { view, attempts } = this.state
    const isVoting = this.#settings.quorum === 'dynamic'
    this.#promise({ id, members })
    this.#onLink(peer, { accepted: n })
    this.#send(peer, {
      kind: 'accept',
      n,
      view: isVoting ? view : { id: [0, null], members: [] },
      attempts,
    })
  }

  #isGood(peer: NodeId, { members, base }: Pending, target: Members | null): boolean {
    if (target === null || (this.state.ok && !sameViewId(base, this.state.view.id))) return false
    if (!this.#settings.filter) return this.#boss(target) === peer && sameMembers(members, target)
    if (this.#boss(members) !== peer || lifeIn(members, this.#identity.self) !== this.state.life) return false
    const { links } = this.state
    const living = links.filter((link) => this.#isAlive(link))
    return (
      living.every((link) => lifeIn(members, link.peer) === lifeOf(link.status)) &&
      members.every(
        ([id, life]) =>
          id === this.#identity.self ||
          links.some((link) => link.peer === id && lifeOf(link.status) === life),
      )
    )
  }

  #promise(view: OmegaView): void {
    const { promised, attempts } = this.state
    this.#effects.push(output({ type: 'promise', id: view.id }))
    const remembers = this.#settings.quorum === 'dynamic' && !this.#settings.flaws.includes('no attempts')
    this.#set({
      promised: isNewer(view.id, promised) ? view.id : promised,
      attempts: remembers ? withAttempt(attempts, view) : attempts,
    })
  }

  #install(view: OmegaView): void {
    const { promised, attempts, links, proposal, view: old } = this.state
    this.#set({
      view,
      ok: true,
      proposal: null,
      promised: isNewer(view.id, promised) ? view.id : promised,
      attempts: attempts.length === 0 ? attempts : attempts.filter(({ id }) => isNewer(id, view.id)),
      links: links.map((link) => {
        const isOld = link.pending !== null && !isNewer([link.pending.n, link.peer], view.id)
        return isOld ? { ...link, pending: null, accepted: 0 } : link
      }),
    })
    if (proposal !== null && !sameViewId([proposal.n, this.#identity.self], view.id))
      this.#cancel(proposal, [])
    this.#tellAll()
    this.#effects.push(
      output({ type: 'view', id: view.id, members: view.members, ...changes(old.members, view.members) }),
    )
  }

  /** Isolated, or left out of a newer view: this life is over. */
  #die(): void {
    const { proposal, life } = this.state
    if (proposal !== null) this.#cancel(proposal, [])
    this.#set({ ok: false, life: this.#settings.flaws.includes('no life') ? life : life + 1 })
    this.#tellAll()
  }

  #status(): OmegaMessage {
    const { life, ok, view, promised, links, aside } = this.state
    const { filter } = this.#settings
    return {
      kind: 'status',
      life,
      ok,
      view,
      promised: promised[0],
      links: filter ? links.map(({ peer }) => peer) : [],
      torn: filter && isTorn(this.state),
      aside,
    }
  }

  #send(to: NodeId, body: OmegaMessage): void {
    this.#effects.push(send(to, body))
  }

  #link(peer: NodeId): Link | null {
    return this.state.links.find((link) => link.peer === peer) ?? null
  }

  #onLink(peer: NodeId, change: Partial<Link>): void {
    this.#set({ links: this.state.links.map((link) => (link.peer === peer ? { ...link, ...change } : link)) })
  }

  #set(change: Partial<OmegaState>): void {
    this.state = { ...this.state, ...change }
  }
}

/** Dead, and linked with living nodes of two views: whoever took this node in would draw it into their dispute. */
function isTorn({ ok, links }: OmegaState): boolean {
  if (ok) return false
  const alive = links.flatMap(({ status }) => (status?.ok === true ? [status.view.id] : []))
  return alive.some((id) => !sameViewId(id, alive[0] as ViewId))
}

function without(proposal: Proposal, peer: NodeId): Proposal {
  const accepts = proposal.accepts.filter((accept) => accept.peer !== peer)
  return accepts.length === proposal.accepts.length ? proposal : { ...proposal, accepts }
}

function lifeOf(status: Status | null): number {
  return status?.life ?? 0
}

/** What a change of views means to the application: those who left, then those who joined; a new life is both. */
function changes(old: Members, next: Members): { readonly left: Members; readonly joined: Members } {
  return {
    left: old.filter(([id, life]) => lifeIn(next, id) !== life),
    joined: next.filter(([id, life]) => lifeIn(old, id) !== life),
  }
}
