import { describe, expect, it } from 'vitest'
import { LinkStates } from './link-states.ts'

const states = (slack = 1): LinkStates => new LinkStates(2, { slack, labelled: true }, () => true)

describe('link states', () => {
  it('start up or down as the world says', () => {
    const some = new LinkStates(3, { slack: 1, labelled: true }, (a, b) => a + b === 1)
    expect(some.isUp(0, 1)).toBe(true)
    expect(some.isUp(1, 2)).toBe(false)
  })

  it('change at the end that notices first; the other end follows', () => {
    const links = states()
    expect(links.check(0, 1, true)).toBeNull()
    expect(links.check(0, 1, false)).toEqual({ up: false })
    expect(links.isUp(1, 0)).toBe(true)
    expect(links.check(1, 0, true)).toEqual({ up: false })
    expect(links.check(1, 0, true)).toEqual({ up: true })
    expect(links.count(1, 0)).toBe(2)
  })

  it('let no end be further ahead than the slack', () => {
    const links = states()
    links.check(0, 1, false)
    expect(links.check(0, 1, true)).toBeNull()
    const loose = states(2)
    loose.check(0, 1, false)
    expect(loose.check(0, 1, true)).toEqual({ up: true })
    expect(loose.check(0, 1, false)).toBeNull()
  })

  it('go down once at both ends after a loss, even if the network is open again', () => {
    const links = states()
    links.break(0, 1)
    expect(links.check(1, 0, true)).toEqual({ up: false })
    expect(links.check(0, 1, true)).toEqual({ up: false })
    expect(links.check(0, 1, true)).toEqual({ up: true })
    expect(links.check(1, 0, true)).toEqual({ up: true })
    expect(links.check(1, 0, true)).toBeNull()
  })

  it('are down at a crashed node, and its peer follows', () => {
    const links = states()
    links.crash(0)
    expect(links.isUp(0, 1)).toBe(false)
    expect(links.check(1, 0, false)).toEqual({ up: false })
    expect(links.check(1, 0, false)).toBeNull()
  })
})
