/**
 * One step of Omega+: something is recorded, then every rule is looked at again until nothing changes.
 *
 * No rule acts on the arrival of a message alone: a candidacy that cannot be accepted now is kept, and accepted when
 * it can be. States are immutable; this object only holds the present one while the rules run.
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
  bossOf,
  isAcceptable,
  isAccepted,
  isCurrent,
  isHeldUp,
  isStale,
  isTorn,
  type Judge,
  shouldTakeOver,
  targetOf,
} from './target.ts'
import {
  compareViewIds,
  idsOf,
  isNewer,
  lifeIn,
  newest,
  sameMembers,
  sameViewId,
  withoutAttempt,
} from './views.ts'

type OmegaEffect = Effect<OmegaMessage, OmegaStable>

export class Turn {
  state: OmegaState
  readonly #before: OmegaState
  readonly #identity: Identity
  readonly #settings: OmegaSettings
  readonly #judge: Judge
  readonly #effects: OmegaEffect[] = []
  /** The peers that receive the status of this node, once no rule applies any more. */
  readonly #toTell = new Set<NodeId>()

  constructor(identity: Identity, settings: OmegaSettings, state: OmegaState) {
    this.#identity = identity
    this.#settings = settings
    this.#judge = { identity, settings, rank: byWeight(settings.weights) }
    this.#before = state
    this.state = state
  }

  /** Runs the rules until nothing changes; then what must be kept is kept before anything is sent. */
  end(): { readonly state: OmegaState; readonly effects: readonly OmegaEffect[] } {
    for (;;) {
      const was = this.state
      this.#yield()
      const target = targetOf(this.#judge, this.state)
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
    this.#set({ links: links.sort((a, b) => this.#judge.rank(a.peer, b.peer)) })
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
    const isHearsay = isForeign(this.#identity.self, this.state, formed)
    if (this.#isVoting)
      this.#know(learn(this.state, peer, isHearsay ? { ...status, formed: NO_VIEW } : status))
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
    accepts.sort((a, b) => this.#judge.rank(a.peer, b.peer))
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

  /** Rule 1: the newest view of a living peer holds. A node that is not in it under its present life dies. */
  #yield(): void {
    const { links, ok, life } = this.state
    let { view: best } = this.state
    for (const { status } of links) {
      if (status?.ok === true && isNewer(status.view.id, best.id)) best = status.view
    }
    if (best === this.state.view) return
    if (lifeIn(best.members, this.#identity.self) === life) this.#install(best)
    else if (ok && this.#settings.rules.diesWhenLeftOut()) this.#die()
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
      bossOf(this.#judge, this.state, target) === this.#identity.self &&
      !(
        ok &&
        sameMembers(target, view.members) &&
        !shouldTakeOver(this.#judge, this.state, view) &&
        !isHeldUp(this.state, target, view)
      )
    if (!stands) {
      if (proposal !== null) this.#cancel(proposal, [])
      return
    }
    if (proposal !== null && isCurrent(this.#judge, this.state, proposal, target)) return
    if (proposal !== null) this.#cancel(proposal, idsOf(target))
    this.#propose(target)
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
   * Takes a proposal back; peers that are about to get another need no message. Only the proposer of a view can install
   * it first: from now on no node ever will, so it is no attempt any more.
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
    if (!isAcceptable(this.#judge, this.state, peer, pending, target)) {
      if (accepted === 0) return
      this.#onLink(peer, { accepted: 0 })
      this.#send(peer, { kind: 'withdraw', n })
      return
    }
    const id: ViewId = [n, peer]
    if (accepted === n) {
      if (!isStale(this.#judge, this.state, id)) return
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
    if (this.#settings.rules.recordsOnAccept()) this.#record({ id, members })
    this.#onLink(peer, { accepted: n })
    this.#send(peer, { kind: 'accept', n, formed, attempts })
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
    const attempts = this.#settings.rules.recordAttempt(this.state.attempts, view)
    if (attempts !== this.state.attempts) this.#set({ attempts })
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
    this.#set({ ok: false, life: this.#settings.rules.nextLife(life) })
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

function without(proposal: Proposal, peer: NodeId): Proposal {
  const accepts = proposal.accepts.filter((accept) => accept.peer !== peer)
  return accepts.length === proposal.accepts.length ? proposal : { ...proposal, accepts }
}

/** What a change of views means to the application: those who left, then those who joined; a new life is both. */
function changes(old: Members, next: Members): { readonly left: Members; readonly joined: Members } {
  return {
    left: old.filter(([id, life]) => lifeIn(next, id) !== life),
    joined: next.filter(([id, life]) => lifeIn(old, id) !== life),
  }
}
