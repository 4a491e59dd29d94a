/**
 * One step of Omega+: something is recorded, then every rule is looked at again until nothing changes.
 *
 * No rule acts on the arrival of a message alone: a candidacy that cannot be accepted now is kept, and accepted when
 * it can be. The state is made anew, never changed; this object only holds it while the rules run.
 */
import type { Effect, Identity, NodeId } from '../../core/index.ts'
import { output, persist, send } from '../../core/index.ts'
import { isForeign } from './plausible.ts'
import { hasQuorum, type Knowledge, learn, overtaken } from './quorum.ts'
import { byWeight, type OmegaSettings } from './settings.ts'
import {
  type Link,
  type Members,
  MOST_VIEWS,
  NO_VIEW,
  type OmegaMessage,
  type OmegaStable,
  type OmegaState,
  type OmegaView,
  type Pending,
  type Proposal,
  type Status,
  type ViewId,
} from './state.ts'
import {
  compareViewIds,
  idsOf,
  isNewer,
  lifeIn,
  membersOf,
  newest,
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
      state.formed === this.#before.formed &&
      state.attempts === this.#before.attempts
    if (isKept) return { state, effects: this.#effects }
    const { life, view, promised, formed, attempts } = state
    return { state, effects: [persist({ life, view, promised, formed, attempts }), ...this.#effects] }
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
    // An attempt of that peer is nobody's to take back now: the one who should supersede it must know of it.
    const isOrphan = this.state.attempts.some(({ id }) => id[1] === peer)
    if (this.#settings.filter || isOrphan) this.#tellAll()
    if (this.state.ok && this.state.links.length === 0) this.#die()
  }

  heardStatus(
    peer: NodeId,
    { life, ok, view, promised, formed, attempts, links, torn, aside }: Status,
  ): void {
    const status = { life, ok, view, promised, formed, attempts, links, torn, aside }
    this.#onLink(peer, { status })
    const { proposal } = this.state
    if (proposal?.accepts.some((accept) => accept.peer === peer) === true) {
      const accepts = proposal.accepts.map((each) =>
        each.peer === peer ? { ...each, formed, attempts } : each,
      )
      this.#set({ proposal: { ...proposal, accepts } })
    }
    // What a peer takes for installed it may have from a third: a view of which this node knows better is not learnt.
    const isTold = isForeign(this.#identity.self, this.state, formed)
    if (this.#isVoting) this.#know(learn(this.state, peer, isTold ? { ...status, formed: NO_VIEW } : status))
  }

  asked(peer: NodeId, { n, members, base }: Omit<Pending, 'told'>): void {
    this.#onLink(peer, { pending: { n, members, base, told: false }, accepted: 0 })
    // What it proposed before, it has taken back: had it installed that, it would have said so first.
    this.#forget(({ id }) => id[1] === peer)
  }

  cancelled(peer: NodeId, n: number): void {
    if (this.#link(peer)?.pending?.n === n) this.#onLink(peer, { pending: null, accepted: 0 })
    this.#forget(({ id }) => sameViewId(id, [n, peer]))
  }

  accepted(peer: NodeId, n: number, { formed, attempts }: Knowledge): void {
    const { proposal } = this.state
    if (proposal === null || proposal.n !== n || lifeIn(proposal.members, peer) === 0) return
    const accepts = [...without(proposal, peer).accepts, { peer, formed, attempts, recorded: false }]
    accepts.sort((a, b) => this.#rank(a.peer, b.peer))
    this.#set({ proposal: { ...proposal, accepts } })
  }

  /** Everybody in it has accepted this proposal, with a quorum: it counts from now on, until it is known to have failed. */
  attempt(peer: NodeId, n: number): void {
    const link = this.#link(peer)
    if (link?.pending?.n !== n || link.accepted !== n || !sameViewId(this.state.promised, [n, peer])) return
    this.#record({ id: [n, peer], members: link.pending.members })
    this.#send(peer, { kind: 'attempted', n })
  }

  attempted(peer: NodeId, n: number): void {
    const { proposal } = this.state
    if (proposal === null || proposal.n !== n || !proposal.isAttempt) return
    const accepts = proposal.accepts.map((each) => (each.peer === peer ? { ...each, recorded: true } : each))
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

  /**
   * Somebody here has recorded an attempt whose proposer is not here, or that was overtaken, so that it supports nobody:
   * only a newer view ends that, even of the same members. What is older than this view ends with it.
   */
  #isHeldUp(target: Members, { id: view }: OmegaView): boolean {
    const isHeldBy = ({ formed, attempts }: Knowledge): boolean =>
      attempts.some(({ id }) => {
        const [, proposer] = id
        if (proposer === null || !isNewer(id, view)) return false
        return !isNewer(id, formed.id) || (proposer !== view[1] && lifeIn(target, proposer) === 0)
      })
    return isHeldBy(this.state) || this.state.links.some(({ status }) => status !== null && isHeldBy(status))
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
   * Rule 4: the boss proposes its target, unless that is the view it is in, under a leader that would lead and that
   * nobody is kept from supporting; anybody else takes back what it proposed.
   */
  #stand(target: Members | null): void {
    const { ok, view, proposal } = this.state
    const stands =
      target !== null &&
      target.length > 1 &&
      this.#boss(target) === this.#identity.self &&
      !(
        ok &&
        sameMembers(target, view.members) &&
        !this.#shouldTakeOver(view) &&
        !this.#isHeldUp(target, view)
      )
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
    // Somebody has recorded it and does not want it any more: it is free again when this is taken back.
    if (proposal.isAttempt && !isAccepted(proposal)) return false
    if (this.#isStale([proposal.n, this.#identity.self])) return false
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
    // Numbers that others would refuse are not asked with.
    if (highest >= MOST_VIEWS) return
    const n = highest + 1
    const base = view.id
    this.#promise({ id: [n, self], members })
    this.#set({ proposal: { n, members, base, accepts: [], isAttempt: false } })
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

  /** Rule 5: all have accepted, and the quorum rule agrees. With dynamic voting, all must record that first. */
  #converge(): void {
    const { proposal } = this.state
    if (proposal === null || !isAccepted(proposal)) return
    const { n, members, accepts, isAttempt } = proposal
    const view: OmegaView = { id: [n, this.#identity.self], members }
    // As everybody else, it records only what it has promised last.
    if (this.#isVoting && !isAttempt && !sameViewId(view.id, this.state.promised)) return
    if (!isAttempt && !hasQuorum(proposal, this.state, this.#identity, this.#settings)) return
    if (!this.#isVoting || (isAttempt && accepts.every(({ recorded }) => recorded))) {
      this.#install(view)
    } else if (!isAttempt) {
      this.#record(view)
      this.#set({ proposal: { ...proposal, isAttempt: true } })
      for (const { peer } of accepts) this.#send(peer, { kind: 'attempt', n })
    }
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
    const id: ViewId = [n, peer]
    if (accepted === n) {
      if (!this.#isStale(id)) return
      this.#onLink(peer, { accepted: 0 })
      this.#send(peer, { kind: 'withdraw', n })
    }
    if (compareViewIds(id, this.state.promised) < 0) {
      // It asks with a number that is too low: how this node stands makes it choose a higher one.
      if (pending.told) return
      this.#onLink(peer, { pending: { ...pending, told: true } })
      this.tell(peer)
      return
    }
    const { formed, attempts } = this.state
    this.#promise({ id, members })
    if (this.#settings.flaws.includes('early attempts')) this.#record({ id, members })
    this.#onLink(peer, { accepted: n })
    this.#send(peer, { kind: 'accept', n, formed, attempts })
  }

  /**
   * It was accepted, or proposed, then a newer one of somebody else was accepted, which is gone: an attempt at this one
   * would not be recorded, so its proposer must ask again. (With `filter` the dead may accept two at a time.)
   */
  #isStale(id: ViewId): boolean {
    const { promised, proposal, links } = this.state
    if (!this.#isVoting || compareViewIds(id, promised) >= 0) return false
    const [n, proposer] = promised
    if (proposer === this.#identity.self) return proposal?.n !== n
    return !links.some(({ peer, accepted }) => peer === proposer && accepted === n)
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

  get #isVoting(): boolean {
    return this.#settings.quorum === 'dynamic'
  }

  #promise({ id, members }: OmegaView): void {
    const { promised } = this.state
    this.#effects.push(output({ type: 'promise', id, members: idsOf(members) }))
    if (isNewer(id, promised)) this.#set({ promised: id })
  }

  /** From now on this may have been installed, until it is known that it was not. */
  #record(view: OmegaView): void {
    if (this.#settings.flaws.includes('no attempts')) return
    this.#set({ attempts: withAttempt(this.state.attempts, view) })
  }

  /** These attempts, if open, have failed; who counted this node out because of them counts it in again. */
  #forget(hasFailed: (attempt: OmegaView) => boolean): void {
    const { formed, attempts } = this.state
    const left = attempts.filter((each) => !hasFailed(each) || !isNewer(each.id, formed.id))
    if (left.length < attempts.length) this.#know({ formed, attempts: left })
  }

  #know({ formed, attempts }: Knowledge): void {
    const { formed: was, attempts: open, links } = this.state
    if (formed === was && attempts === open) return
    this.#set({ formed, attempts })
    if (attempts !== open) this.#tellAll()
    for (const { peer, status } of links) {
      if (status !== null && isNewer(formed.id, status.formed.id)) this.tell(peer)
    }
  }

  #install(view: OmegaView): void {
    const { promised, attempts, links, proposal, view: old } = this.state
    const formed = this.#isVoting ? newest(this.state.formed, view) : NO_VIEW
    for (const { peer, pending, accepted } of links) {
      // It was accepted on what this node knew before.
      if (this.#isVoting && accepted !== 0 && pending !== null && isNewer([pending.n, peer], view.id)) {
        this.#send(peer, { kind: 'withdraw', n: accepted })
      }
    }
    this.#set({
      view,
      ok: true,
      proposal: null,
      promised: isNewer(view.id, promised) ? view.id : promised,
      formed,
      attempts: attempts.every(({ id }) => isNewer(id, formed.id))
        ? attempts
        : overtaken(
            attempts.filter(({ id }) => isNewer(id, view.id)),
            formed,
          ),
      links: links.map((link) => {
        const isOld = link.pending !== null && !isNewer([link.pending.n, link.peer], view.id)
        if (isOld) return { ...link, pending: null, accepted: 0 }
        return this.#isVoting && link.accepted !== 0 ? { ...link, accepted: 0 } : link
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
    const { life, ok, view, promised, formed, attempts, links, aside } = this.state
    const { filter } = this.#settings
    return {
      kind: 'status',
      life,
      ok,
      view,
      promised: promised[0],
      formed,
      attempts,
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

function isAccepted({ members, accepts }: Proposal): boolean {
  return accepts.length === members.length - 1
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
