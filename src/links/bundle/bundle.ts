/**
 * Multiplexes many groups of one process over one session per pair of processes.
 *
 * A bundle is a protocol made of others: each group runs its own protocol, and the bundle labels its messages, outputs
 * and stable data with the group's name. Stacked on fail-aware datagrams it is what a real process runs, and every world
 * can run it. Commands add and remove groups. Messages to one process are batched into one datagram, stable data is
 * stored in one write, and the timers of several groups are coalesced within their slack. An idle group costs little.
 *
 * Groups are otherwise independent. Each decides which messages are timely and which nodes have the same configuration:
 * two processes that disagree about one group ignore each other there, and only there.
 */
import {
  hashPlain,
  type Input,
  type Message,
  type Micros,
  type NodeId,
  type Plain,
  type PlainObject,
  type Protocol,
  type Step,
  unreachable,
  type View,
} from '../../core/index.ts'
import { NEW_TERMS, type Passage, receiptOf, type SessionTerms } from '../fail-aware/fail-aware.ts'
import { heardSettings, isSettings, metStranger } from '../fail-aware/strangers.ts'
import { BundleStep, TICK } from './bundle-step.ts'
import type { Bundle, BundleCommand, ConfiguredGroup, OpenGroup, Part, Room } from './group.ts'
import { changeTenant, findTenant, shiftTenant, type Tenant } from './tenant.ts'

export type BundleState = {
  /** The origin of the time grid on which timers are coalesced. */
  readonly origin: Micros
  /** Sorted by name. */
  readonly tenants: readonly Tenant[]
  /** The stable data of every group that this process has ever joined, by name. */
  readonly kept: PlainObject
  /** The deadline of the bundle's own timer; null while none is set. */
  readonly alarm: Micros | null
}

export type BundleSettings = {
  readonly self: NodeId
  readonly open: OpenGroup
  readonly room: Room
  /** The groups that are joined at the start, by name. */
  readonly groups: { readonly [name: string]: PlainObject }
}

/** The groups in the state of a bundle, with or without a layer below it. */
export function tenantsIn(state: Plain): readonly Tenant[] {
  const either = state as BundleState | { readonly upper: BundleState }
  return 'upper' in either ? either.upper.tenants : either.tenants
}

/** The state of one group; null if it is not joined. */
export function stateInBundle(state: Plain, group: string): Plain {
  const tenants = tenantsIn(state)
  return tenants[findTenant(tenants, group)]?.state ?? null
}

export function bundle(settings: BundleSettings): Protocol<BundleState, Message, BundleCommand, PlainObject> {
  const { self, room } = settings
  /** Created once per specification. */
  const opened = new Map<string, { readonly spec: PlainObject; readonly group: ConfiguredGroup }>()

  function groupFor(name: string, spec: PlainObject): ConfiguredGroup {
    const known = opened.get(name)
    if (known !== undefined && known.spec === spec) return known.group
    const made = settings.open(name, spec)
    const group = { ...made, config: hashPlain(made.agreed) }
    opened.set(name, { spec, group })
    return group
  }

  const groupOf = ({ name, spec }: Tenant): ConfiguredGroup => groupFor(name, spec)

  // ---- Commands ----

  function joinGroup(step: BundleStep, name: string, spec: PlainObject): void {
    const group = groupFor(name, spec)
    const { state, effects } = group.protocol.start(step.stableOf(name), step.now)
    const tenant: Tenant = {
      name,
      spec,
      state,
      timers: [],
      due: null,
      term: null,
      draws: 0,
      strangers: [],
      heldUntil: null,
    }
    const tenants = [...step.tenants, tenant].sort((a, b) => (a.name < b.name ? -1 : 1))
    step.setTenants(tenants)
    step.carryOut(findTenant(tenants, name), { state, effects })
  }

  function onCommand(step: BundleStep, command: BundleCommand): void {
    const groups = command.do === 'hold' ? command.groups : [command.group]
    for (const group of groups) {
      const index = findTenant(step.tenants, group)
      if (index < 0 === (command.do === 'join')) handleCommand(step, index, command)
      else {
        const why =
          index < 0 ? 'this process has not joined the group' : 'this process has joined the group already'
        step.emit({ type: 'refused', group, command: command.do, why })
      }
    }
  }

  function handleCommand(step: BundleStep, index: number, command: BundleCommand): void {
    const tenant = step.tenants[index] as Tenant
    switch (command.do) {
      case 'join':
        if (command.stable !== undefined) step.store(command.group, command.stable)
        joinGroup(step, command.group, command.spec)
        announceTerms(step)
        break
      case 'leave':
        step.setTenants(step.tenants.toSpliced(index, 1))
        announceTerms(step)
        break
      case 'regroup': {
        const state = groupFor(tenant.name, command.spec).adopt(tenant.state, groupOf(tenant).nodes)
        step.setTenant(index, changeTenant(tenant, { spec: command.spec, state }))
        announceTerms(step)
        break
      }
      case 'hold':
        step.hold(index, step.now + command.forMicros)
        break
      case 'tell':
        step.giveInput(index, { type: 'command', command: command.command })
        break
      default:
        unreachable(command)
    }
  }

  /** The sessions use the strictest terms of all groups. */
  function announceTerms(step: BundleStep): void {
    const all = step.tenants.map((tenant) => groupOf(tenant).terms)
    if (all.length === 0) return
    const terms: SessionTerms = {
      leastDelay: Math.min(...all.map(({ leastDelay }) => leastDelay)),
      fast: Math.min(...all.map(({ fast }) => fast)),
      rho: Math.max(...all.map(({ rho }) => rho)),
      stampAge: Math.min(...all.map(({ stampAge }) => stampAge)),
    }
    step.emit({ type: NEW_TERMS, ...terms })
  }

  // ---- Messages and timers ----

  function onBundle(step: BundleStep, from: NodeId, { parts }: Bundle, passage: Passage): void {
    for (const part of parts) {
      const index = findTenant(step.tenants, part.group)
      if (index >= 0) onPart(step, index, from, part, passage)
    }
  }

  function onPart(
    step: BundleStep,
    index: number,
    from: NodeId,
    { config, body }: Part,
    passage: Passage,
  ): void {
    const tenant = step.tenants[index] as Tenant
    if (isHeld(tenant, step.now)) return
    const group = groupOf(tenant)
    const { agreed, nodes, terms } = group
    if (isSettings(body)) {
      // A node that does not list this process includes its own list of nodes.
      const ours = body.agreed['nodes'] === undefined ? agreed : { ...agreed, nodes }
      const heard = heardSettings(tenant.strangers, from, ours, body.agreed, step.now)
      if (heard === null) return
      step.setTenant(index, changeTenant(tenant, { strangers: heard.strangers }))
      step.emit({ ...heard.mismatch, group: tenant.name })
    } else if (config !== group.config) {
      answerStranger(step, index, from, config, agreed)
    } else if (nodes.includes(from)) {
      if (!group.kinds.includes(body.kind)) return
      const receipt = receiptOf(passage, from === self, terms)
      step.giveInput(index, { type: 'message', from, body, receipt })
    } else {
      answerStranger(step, index, from, config, { ...agreed, nodes })
    }
  }

  function answerStranger(
    step: BundleStep,
    index: number,
    peer: NodeId,
    config: number,
    agreed: PlainObject,
  ): void {
    const tenant = step.tenants[index] as Tenant
    const strangers = metStranger(tenant.strangers, peer, config, step.now)
    if (strangers === null) return
    const isFirst = !tenant.strangers.some((stranger) => stranger.peer === peer)
    step.setTenant(index, changeTenant(tenant, { strangers }))
    step.queueMessage(peer, { group: tenant.name, config: 0, body: { kind: 'Settings', agreed } })
    if (isFirst && agreed['nodes'] !== undefined) {
      const who = { peer, field: 'nodes', ours: agreed['nodes'], theirs: null }
      step.emit({ type: 'mismatch', ...who, group: tenant.name })
    }
  }

  const isHeld = ({ heldUntil }: Tenant, now: Micros): boolean => heldUntil !== null && now < heldUntil

  /** Fires all due timers of all groups in one step. A timer that becomes due meanwhile waits for the next step. */
  function onTick(step: BundleStep): void {
    step.clearAlarm()
    for (let index = 0; index < step.tenants.length; index++) {
      const { timers, heldUntil } = step.tenants[index] as Tenant
      if (isHeld(step.tenants[index] as Tenant, step.now)) continue
      if (heldUntil !== null) step.hold(index, null)
      for (const due of timers) {
        if (due.at > step.now) break
        const tenant = step.tenants[index] as Tenant
        // An earlier timer of this step may have stopped or replaced it.
        if (!tenant.timers.includes(due)) continue
        step.expireTimer(index, due)
        step.giveInput(index, { type: 'timer', name: due.name })
      }
    }
  }

  function handleInput(step: BundleStep, input: Input<Message, BundleCommand>): void {
    switch (input.type) {
      case 'message':
        if (input.body.kind === 'bundle') {
          onBundle(step, input.from, input.body as unknown as Bundle, input.receipt as unknown as Passage)
        }
        break
      case 'timer':
        if (input.name === TICK) onTick(step)
        break
      case 'command':
        onCommand(step, input.command)
        break
      case 'link':
      case 'suspended':
        for (let index = 0; index < step.tenants.length; index++) step.giveInput(index, input)
        break
      case 'register':
        break
      default:
        unreachable(input)
    }
  }

  return {
    start(stable, now) {
      const step = new BundleStep(
        { origin: now, tenants: [], kept: stable ?? {}, alarm: null },
        self,
        groupOf,
        now,
      )
      for (const [name, spec] of Object.entries(settings.groups)) joinGroup(step, name, spec)
      announceTerms(step)
      return step.finish(room)
    },
    step(state, input, now): Step<BundleState, Message, PlainObject> {
      const step = new BundleStep(state, self, groupOf, now)
      handleInput(step, input)
      return step.finish(room)
    },
    view(state, now): View {
      const views = state.tenants.map((tenant) => [
        tenant.name,
        groupOf(tenant).protocol.view(tenant.state, now),
      ])
      return {
        role: 'follower',
        leader: null,
        token: null,
        until: null,
        members: null,
        detail: { groups: Object.fromEntries(views) as PlainObject },
      }
    },
    shift: (state, by) => ({
      origin: state.origin + by,
      tenants: state.tenants.map((tenant) => shiftTenant(tenant, groupOf(tenant).protocol, by)),
      kept: state.kept,
      alarm: state.alarm === null ? null : state.alarm + by,
    }),
  }
}
