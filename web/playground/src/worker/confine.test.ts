import { describe, expect, it } from 'vitest'
import { confine } from './confine.ts'

describe('confine', () => {
  class Scope {
    get fetch(): () => string {
      return () => 'fetched'
    }
  }

  it('removes a property from the object and from its prototypes, for good', () => {
    const global = new Scope() as { fetch?: unknown; caches?: unknown; kept?: number }
    global.caches = {}
    global.kept = 1
    confine(global)
    expect([global.fetch, global.caches, global.kept]).toEqual([undefined, undefined, 1])
    expect(() => Object.defineProperty(global, 'caches', { value: {} })).toThrow(TypeError)
    expect((Object.getPrototypeOf(global) as Scope).fetch).toBeUndefined()
  })
})
