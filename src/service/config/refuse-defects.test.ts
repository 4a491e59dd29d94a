import { describe, expect, it } from 'vitest'
import { configFrom } from './config.ts'
import { networkSettings } from './join-options.ts'
import { storeSettings } from './store-join-options.ts'

const PROBLEM =
  'options.misreading: "no-start" is a deliberate defect for simulations and searches; remove it'
const options = { misreading: 'no-start' }

describe('a node that is given a deliberate defect', () => {
  it.each(['local-leader', 'omega'])('does not join a group of %s', (protocol) => {
    const given = { group: 'g', id: 'a', listen: '127.0.0.1:0', peers: ['b=127.0.0.1:9'], data: '/nowhere' }
    const key = new Uint8Array(32).fill(7)
    expect(() => networkSettings({ ...given, key, protocol, options })).toThrow(PROBLEM)
  })

  it('does not join a group in a store', () => {
    const given = { group: 'g', id: 'a', protocol: 'epochs', store: 'file:/s' } as const
    expect(() => storeSettings({ ...given, options })).toThrow(PROBLEM)
  })

  it('does not start from a configuration', () => {
    const fields = { group: 'g', id: 'a', protocol: 'epochs', store: 'file:/s', options }
    const flags = Object.fromEntries(
      Object.entries(fields).map(([field, value]) => [field, { value, by: `--${field}` }]),
    )
    expect(() => configFrom({ file: null, flags, environment: {} })).toThrow(PROBLEM)
  })
})
