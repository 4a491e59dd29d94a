/**
 * One step of Omega+: a handler records the input, then all rules run until the state no longer changes (a fixpoint).
 *
 * Rules are conditions on the state; none depends on the arrival of a message alone. A node keeps a candidacy that it
 * cannot accept yet, and accepts it later. States are immutable: this object holds the current one while the rules run.
 */
import type { Effect, Identity, NodeId } from '../../core/index.ts'
import { output, persist, send } from '../../core/index.ts'
import { ceilingOf, isUnpromised } from './plausible.ts'
import { hasQuorum, type Knowledge, learn, pruneOvertaken } from './quorum.ts'
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
  isAcceptable,
  isAccepted,
  isCurrent,
  isHeldUp,
  isStale,
  isTorn,
  proposerOf,
  type RuleContext,
  shouldTakeOver,
  targetOf,
  withoutAccept,
} from './target.ts'
import {
  compareViewIds,
  diffMembers,
  idsOf,
  isNewer,
  lifeIn,
  newest,
  sameMembers,
  sameViewId,
  withoutAttempt,
} from './views.ts'

type OmegaEffect = Effect<OmegaMessage, OmegaStable>

export class Transition {
  state: OmegaState
  readonly #before: OmegaState
  readonly #identity: Identity
  readonly #settings: OmegaSettings
  readonly #context: RuleContext
  readonly #effects: OmegaEffect[] = []
  /** Peers that receive the status of this node at the end of the step. */
  readonly #statusRecipients = new Set<NodeId>()

  constructor(identity: Identity, settings: OmegaSettings, state: OmegaState) {
    this.#identity = identity
    this.#settings = settings
    this.#context = { identity, settings, rank: byWeight(settings.weights) }
    this.#before = state
    this.state = state
  }

  /** Runs the rules until nothing changes. Stable data is persisted before the messages of the step are sent. */
  finish(): { readonly state: OmegaState; readonly effects: readonly OmegaEffect[] } {
    for (;;) {
      const was = this.state
      this.#adoptNewestView()
      const target = targetOf(this.#context, this.state)
      this.#proposeTarget(target)
      this.#converge()
      for (const { peer } of this.state.links) this.#answerCandidacy(peer, target)
      if (this.state === was) break
    }
    if (this.#settings.filter && isTorn(this.state) !== isTorn(this.#before)) this.#scheduleStatusForAll()
    for (const { peer } of this.state.links)
      if (this.#statusRecipients.has(peer)) this.#send(peer, this.#buildStatus())
    const { state } = this
    const isUnchanged =
      state.life === this.#before.life &&
      state.view === this.#before.view &&
      sameViewId(state.promised, this.#before.promised) &&
      state.formed === this.#before.formed &&
      state.attempts === this.#before.attempts
    if (isUnchanged) return { state, effects: this.#effects }
    const { life, view, promised, formed, attempts } = state
    return { state, effects: [persist({ life, view, promised, formed, attempts }), ...this.#effects] }
  }

  handleLinkUp(peer: NodeId): void {
    const links = this.state.links.filter((link) => link.peer !== peer)
    links.push({ peer, status: null, pending: null, accepted: 0 })
    this.#set({ links: links.sort((a, b) => this.#context.rank(a.peer, b.peer)) })
    this.scheduleStatus(peer)
    if (this.#settings.filter) this.#scheduleStatusForAll()
  }

  handleLinkDown(peer: NodeId): void {
    const { proposal } = this.state
    this.#set({
      links: this.state.links.filter((link) => link.peer !== peer),
      proposal: proposal === null ? null : withoutAccept(proposal, peer),
    })
    // That peer can no longer cancel its attempt. The node that should supersede the attempt must learn of it.
    const isOrphan = this.state.attempts.some(({ id }) => id[1] === peer)
    if (this.#settings.filter || isOrphan) this.#scheduleStatusForAll()
    if (this.state.ok && this.state.links.length === 0) this.#die()
  }

  handleStatus(
    peer: NodeId,
    { life, ok, view, promised, formed, attempts, links, torn, aside }: Status,
  ): void {
    const status = { life, ok, view, promised, formed, attempts, links, torn, aside }
    const before = this.#findLink(peer)?.status ?? null
    this.#updateLink(peer, { status })
    if (before !== null && promised > before.promised) this.#repeatRefused(peer, ceilingOf(before.promised))
    const { proposal } = this.state
    if (proposal?.accepts.some((accept) => accept.peer === peer) === true) {
      const accepts = proposal.accepts.map((each) =>
        each.peer === peer ? { ...each, formed, attempts } : each,
      )
      this.#set({ proposal: { ...proposal, accepts } })
    }
    // `formed` may be second-hand. A view with this node in it cannot be installed if this node never promised it.
    const isRefuted = isUnpromised(this.#identity.self, this.state, formed)
    if (this.#isVoting)
      this.#updateKnowledge(learn(this.state, peer, isRefuted ? { ...status, formed: NO_VIEW } : status))
  }

  handleCand(peer: NodeId, { n, members, base }: Omit<Pending, 'isAnswered'>): void {
    // Repeated (`#repeatRefused`), though this node has not refused it: an attempt that it has recorded stays open.
    if (this.#findLink(peer)?.pending?.n === n) return
    this.#updateLink(peer, { pending: { n, members, base, isAnswered: false }, accepted: 0 })
    // Its previous proposal has failed: a proposer that installs a view sends its status before it proposes again.
    this.#dropFailedAttempts(peer, ({ id }) => id[1] === peer)
  }

  handleCancel(peer: NodeId, n: number): void {
    if (this.#findLink(peer)?.pending?.n === n) this.#updateLink(peer, { pending: null, accepted: 0 })
    this.#dropFailedAttempts(peer, ({ id }) => sameViewId(id, [n, peer]))
  }

  handleAccept(peer: NodeId, n: number, { formed, attempts }: Knowledge): void {
    const { proposal } = this.state
    if (proposal === null || proposal.n !== n || lifeIn(proposal.members, peer) === 0) return
    const accepts = [...withoutAccept(proposal, peer).accepts, { peer, formed, attempts, recorded: false }]
    accepts.sort((a, b) => this.#context.rank(a.peer, b.peer))
    this.#set({ proposal: { ...proposal, accepts } })
  }

  /** All members have accepted the proposal and there is a quorum: it counts as an attempt until it is known to have failed. */
  handleAttempt(peer: NodeId, n: number): void {
    const link = this.#findLink(peer)
    if (link?.pending?.n !== n || link.accepted !== n || !sameViewId(this.state.promised, [n, peer])) return
    this.#record({ id: [n, peer], members: link.pending.members })
    this.#send(peer, { kind: 'attempted', n })
  }

  handleAttempted(peer: NodeId, n: number): void {
    const { proposal } = this.state
    if (proposal === null || proposal.n !== n || !proposal.isAttempt) return
    const accepts = proposal.accepts.map((each) => (each.peer === peer ? { ...each, recorded: true } : each))
    this.#set({ proposal: { ...proposal, accepts } })
  }

  handleWithdraw(peer: NodeId, n: number): void {
    const { proposal } = this.state
    if (proposal !== null && proposal.n === n) this.#set({ proposal: withoutAccept(proposal, peer) })
  }

  /** Sets whether this node would lead, and whether it announces that it is ineligible. Peers learn only the latter. */
  setCandidacy(willing: boolean, isIneligible: boolean): void {
    const isNews = isIneligible !== this.state.isIneligible
    if (willing === this.state.willing && !isNews) return
    this.#set({ willing, isIneligible })
    if (isNews) this.#scheduleStatusForAll()
  }

  /** Leaves the view: the other members form the next view, and admit this node again under its next life. */
  leaveView(): void {
    if (this.state.ok) this.#die()
  }

  /** As if this node had proposed a view with this number, and had cancelled it. */
  raisePromise(n: number): void {
    if (n <= this.state.promised[0]) return
    this.#set({ promised: [n, this.#identity.self] })
    this.#scheduleStatusForAll()
  }

  scheduleStatus(peer: NodeId): void {
    this.#statusRecipients.add(peer)
  }

  /** Sends again what the peer has refused as implausible: everything with a number above `ceiling`. */
  #repeatRefused(peer: NodeId, ceiling: number): void {
    const { promised, proposal } = this.state
    if (promised[0] > ceiling) this.scheduleStatus(peer)
    if (proposal === null || proposal.n <= ceiling || lifeIn(proposal.members, peer) === 0) return
    const { n, members, base } = proposal
    this.#send(peer, { kind: 'cand', n, members, base })
  }

  #scheduleStatusForAll(): void {
    for (const { peer } of this.state.links) this.scheduleStatus(peer)
  }

  /** Rule 1: adopt the newest view of a living peer. A node that is not in it under its current life dies. */
  #adoptNewestView(): void {
    const { links, ok, life } = this.state
    let { view: best } = this.state
    for (const { status } of links) {
      if (status?.ok === true && isNewer(status.view.id, best.id)) best = status.view
    }
    if (best === this.state.view) return
    const isMember = lifeIn(best.members, this.#identity.self) === life
    // A faulty node may name the next life of this node, which promised nothing.
    if (isMember && !isUnpromised(this.#identity.self, this.state, best)) this.#install(best)
    else if (ok && this.#settings.rules.diesWhenLeftOut()) this.#die()
  }

  /**
   * Rule 4: the proposer of a target proposes it, unless the target is its current view, whose leader is eligible and
   * which all members can support. Every other node cancels its proposal.
   */
  #proposeTarget(target: Members | null): void {
    const { ok, view, proposal } = this.state
    const shouldPropose =
      target !== null &&
      target.length > 1 &&
      proposerOf(this.#context, this.state, target) === this.#identity.self &&
      !(
        ok &&
        sameMembers(target, view.members) &&
        !shouldTakeOver(this.#context, this.state, view) &&
        !isHeldUp(this.state, target, view)
      )
    if (!shouldPropose) {
      if (proposal !== null) this.#cancel(proposal, [])
      return
    }
    if (proposal !== null && isCurrent(this.#context, this.state, proposal, target)) return
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
    // Peers would refuse a higher number.
    if (highest >= MOST_VIEWS) return
    const n = highest + 1
    const base = view.id
    this.#promise({ id: [n, self], members })
    this.#set({ proposal: { n, members, base, accepts: [], isAttempt: false } })
    for (const peer of idsOf(members)) if (peer !== self) this.#send(peer, { kind: 'cand', n, members, base })
  }

  /**
   * Cancels a proposal. Peers in `renewed` receive the next proposal instead of a message. Only its proposer can install
   * a view first, so no node will ever install this one, and it no longer counts as an attempt.
   */
  #cancel({ n, members }: Proposal, renewed: readonly NodeId[]): void {
    const { self } = this.#identity
    this.#set({ proposal: null, attempts: withoutAttempt(this.state.attempts, [n, self]) })
    for (const { peer } of this.state.links) {
      if (lifeIn(members, peer) !== 0 && !renewed.includes(peer)) this.#send(peer, { kind: 'cancel', n })
    }
  }

  /** Rule 5: install the view once all members have accepted it, with a quorum, and (dynamic voting) have recorded it. */
  #converge(): void {
    const { proposal } = this.state
    if (proposal === null || !isAccepted(proposal)) return
    const { n, members, accepts, isAttempt } = proposal
    const view: OmegaView = { id: [n, this.#identity.self], members }
    // The proposer, too, records only the view that it promised last.
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

  /** Rule 6: accept a candidacy while this node would propose the same members; withdraw the accept when it would not. */
  #answerCandidacy(peer: NodeId, target: Members | null): void {
    const link = this.#findLink(peer)
    if (link === null || link.pending === null) return
    const { pending, accepted } = link
    const { n, members } = pending
    if (!isAcceptable(this.#context, this.state, peer, pending, target)) {
      if (accepted === 0) return
      this.#updateLink(peer, { accepted: 0 })
      this.#send(peer, { kind: 'withdraw', n })
      return
    }
    const id: ViewId = [n, peer]
    if (accepted === n) {
      if (!isStale(this.#context, this.state, id)) return
      this.#updateLink(peer, { accepted: 0 })
      this.#send(peer, { kind: 'withdraw', n })
    }
    if (compareViewIds(id, this.state.promised) < 0) {
      // The number is too low. The status of this node makes the peer choose a higher one.
      if (pending.isAnswered) return
      this.#updateLink(peer, { pending: { ...pending, isAnswered: true } })
      this.scheduleStatus(peer)
      return
    }
    const { formed, attempts } = this.state
    this.#promise({ id, members })
    if (this.#settings.rules.recordsOnAccept()) this.#record({ id, members })
    this.#updateLink(peer, { accepted: n })
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

  /** The proposer may install this view from now on. It stays an attempt until it is known to have failed. */
  #record(view: OmegaView): void {
    const attempts = this.#settings.rules.recordAttempt(this.state.attempts, view)
    if (attempts !== this.state.attempts) this.#set({ attempts })
  }

  /**
   * Removes open attempts that have failed. Peers learn it, and count this node as a supporter of its view again. The
   * proposer itself supports its view again, too, although its last status may name the attempt.
   */
  #dropFailedAttempts(proposer: NodeId, hasFailed: (attempt: OmegaView) => boolean): void {
    const status = this.#findLink(proposer)?.status ?? null
    if (status?.attempts.some(hasFailed) === true)
      this.#updateLink(proposer, {
        status: { ...status, attempts: status.attempts.filter((each) => !hasFailed(each)) },
      })
    const { formed, attempts } = this.state
    const left = attempts.filter((each) => !hasFailed(each) || !isNewer(each.id, formed.id))
    if (left.length < attempts.length) this.#updateKnowledge({ formed, attempts: left })
  }

  #updateKnowledge({ formed, attempts }: Knowledge): void {
    const { formed: was, attempts: open, links } = this.state
    if (formed === was && attempts === open) return
    this.#set({ formed, attempts })
    if (attempts !== open) this.#scheduleStatusForAll()
    for (const { peer, status } of links) {
      if (status !== null && isNewer(formed.id, status.formed.id)) this.scheduleStatus(peer)
    }
  }

  #install(view: OmegaView): void {
    const { promised, attempts, links, proposal, view: old } = this.state
    const formed = this.#isVoting ? newest(this.state.formed, view) : NO_VIEW
    for (const { peer, pending, accepted } of links) {
      // This node accepted it before it knew this view.
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
        : pruneOvertaken(
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
    this.#scheduleStatusForAll()
    this.#effects.push(
      output({ type: 'view', id: view.id, members: view.members, ...diffMembers(old.members, view.members) }),
    )
  }

  /** Ends this life: the node is isolated, or a newer view does not contain it. */
  #die(): void {
    const { proposal, life } = this.state
    if (proposal !== null) this.#cancel(proposal, [])
    this.#set({ ok: false, life: this.#settings.rules.nextLife(life) })
    this.#scheduleStatusForAll()
  }

  #buildStatus(): OmegaMessage {
    const { life, ok, view, promised, formed, attempts, links, isIneligible: aside } = this.state
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

  #findLink(peer: NodeId): Link | null {
    return this.state.links.find((link) => link.peer === peer) ?? null
  }

  #updateLink(peer: NodeId, change: Partial<Link>): void {
    this.#set({ links: this.state.links.map((link) => (link.peer === peer ? { ...link, ...change } : link)) })
  }

  #set(change: Partial<OmegaState>): void {
    this.state = { ...this.state, ...change }
  }
}
