/** Invariants that protocols assert in production: the step that would act on a corrupted state throws instead. */
import { describe, expect, it } from 'vitest'
import {
  AssertionFailedError,
  type Input,
  type Micros,
  type Plain,
  type Protocol,
  present,
} from '../core/index.ts'
import { parseScenario, runScenario } from '../workbench/sim/index.ts'
import { protocolNamed } from './index.ts'
import type { LocalLeaderState } from './local-leader/state.ts'

type Taken = {
  readonly protocol: Protocol
  readonly state: Plain
  readonly input: Input
  readonly now: Micros
}

/** Every step of a run of five seconds, in which nodes elect, renew, step down and are suspended. */
function stepsOf(name: string, options: { readonly [name: string]: Plain } = {}): readonly Taken[] {
  const honest = present(protocolNamed(name), name)
  const taken: Taken[] = []
  const definition = {
    ...honest,
    create: (...made: Parameters<typeof honest.create>): Protocol => {
      const protocol = honest.create(...made)
      return {
        ...protocol,
        step(state, input, now) {
          taken.push({ protocol, state, input, now })
          return protocol.step(state, input, now)
        },
      }
    },
  }
  const file = {
    protocol: name,
    nodes: [1, 2, 3],
    options,
    untilMs: 5000,
    events: [
      { atMs: 2000, suspend: 1, forMs: 20 },
      { atMs: 2500, pause: 1, forMs: 1500 },
    ],
  }
  runScenario(definition, parseScenario(file, { names: [name], find: () => definition }))
  return taken
}

/** The messages of failed assertions when each step runs again from a state with this change. */
function failures(steps: readonly Taken[], corrupt: (state: Any) => void): readonly string[] {
  const messages = new Set<string>()
  for (const { protocol, state, input, now } of steps) {
    const changed = structuredClone(state) as Any
    corrupt(changed)
    try {
      protocol.step(changed, input, now)
    } catch (error) {
      if (!(error instanceof AssertionFailedError)) throw error
      messages.add(error.message.replaceAll(/-?\d+|NaN/g, 'N'))
    }
  }
  return [...messages]
}

/** A state that a test corrupts. Its shape depends on the protocol. */
type Any = Plain & { [field: string]: Any }

describe('local-leader', () => {
  const steps = stepsOf('local-leader', { mode: 'majority' })
  // Typed, so that a renamed field cannot make a test pass or fail for another reason.
  const own = (state: Any): LocalLeaderState => state['upper'] as unknown as LocalLeaderState

  it('takes every step of an honest run', () => {
    expect(failures(steps, () => {})).toEqual([])
  })

  it('asserts that the end of a lock never moves back', () => {
    const found = failures(steps, (state) => {
      const { lock } = own(state).vote
      if (lock !== null) Object.assign(lock, { until: Number.NaN })
    })
    expect(found).toContain('the end of the lock decreased from N to N')
  })

  it('asserts that a lease does not outlast its request', () => {
    const found = failures(steps, (state) => {
      const { candidacy } = own(state)
      if (candidacy !== null) Object.assign(candidacy, { at: Number.NaN })
    })
    expect(found).toContain('the lease ends N µs after its request, but may last only N µs')
  })

  it('asserts that a renewal does not shorten the lease', () => {
    const found = failures(steps, (state) => {
      const { term } = own(state)
      if (term !== null) Object.assign(term, { until: term.until + 60_000_000 })
    })
    expect(found).toContain('the end of the lease decreased from N to N')
  })

  it('asserts that a new term has a new epoch', () => {
    const found = failures(steps, (state) => Object.assign(own(state), { largestLedEpoch: 1_000_000 }))
    expect(found).toContain('the epoch decreased from N to N')
  })
})

describe('epochs', () => {
  const steps = stepsOf('epochs')
  const leaseIn = (state: Any): Any | null => {
    const time = state['time'] as Any | null
    return time === null ? null : (time['lease'] as Any | null)
  }

  it('takes every step of an honest run', () => {
    expect(failures(steps, () => {})).toEqual([])
  })

  it('asserts that epochs never decrease', () => {
    const found = failures(steps, (state) => Object.assign(state, { ctr: 1_000_000 }))
    expect(found).toContain('the epoch decreased from N to N')
  })

  it('asserts that a lease does not outlast its request', () => {
    const found = failures(steps, (state) => {
      const lease = leaseIn(state)
      if (lease !== null) Object.assign(lease, { until: Number(lease['until']) + 60_000_000 })
    })
    expect(found).toContain('the lease ends N µs after its request, but may last only N µs')
  })

  it('asserts that the token of a term never decreases', () => {
    const found = failures(steps, (state) => {
      const lease = leaseIn(state)
      if (lease !== null) Object.assign(lease, { token: Number.NaN })
    })
    expect(found).toContain('the token decreased from N to N')
  })
})
