import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical, deepFreeze, equalPlain, hashPlain, type Plain, whyNotPlain } from './plain.ts'

const plain = fc
  .jsonValue()
  .map(
    (value) =>
      JSON.parse(JSON.stringify(value, (_, inner: unknown) => (Object.is(inner, -0) ? 0 : inner))) as Plain,
  )

describe('plain data', () => {
  it('has one canonical text, regardless of the order of its fields', () => {
    expect(canonical({ b: 1, a: [{ d: null, c: 'x' }] })).toBe('{"a":[{"c":"x","d":null}],"b":1}')
    expect(equalPlain({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true)
    expect(equalPlain({ a: 1 }, { a: 2 })).toBe(false)
    expect(hashPlain({ a: 1, b: 2 })).toBe(hashPlain({ b: 2, a: 1 }))
    expect(hashPlain([1, 2])).not.toBe(hashPlain([2, 1]))
  })

  it('is equal exactly when its canonical text is', () => {
    fc.assert(
      fc.property(plain, plain, (a, b) => {
        expect(equalPlain(a, b)).toBe(canonical(a) === canonical(b))
        expect(equalPlain(a, JSON.parse(canonical(a)) as Plain)).toBe(true)
      }),
    )
    expect(equalPlain({ a: 1 }, { a: 1, b: 2 })).toBe(false)
    expect(equalPlain({ a: 1, b: 2 }, { a: 1 })).toBe(false)
    expect(equalPlain([], {})).toBe(false)
  })

  it('reads back from its canonical text', () => {
    fc.assert(
      fc.property(plain, (value) => {
        expect(JSON.parse(canonical(value))).toEqual(value)
      }),
    )
  })

  it('accepts what JSON can say', () => {
    fc.assert(
      fc.property(plain, (value) => {
        expect(whyNotPlain(value)).toBeNull()
      }),
    )
  })

  it.each([
    [{ a: undefined }, 'value.a is undefined'],
    [[1, Number.NaN], 'value[1] is NaN'],
    [{ a: [-0] }, 'value.a[0] is -0'],
    [Number.POSITIVE_INFINITY, 'value is infinite'],
    [new Map(), 'value is not a plain object'],
    [{ at: new Date(0) }, 'value.at is not a plain object'],
    [() => 1, 'value is function'],
  ])('refuses %o and says where', (value, why) => {
    expect(whyNotPlain(value)).toBe(why)
  })

  it('freezes throughout', () => {
    const value = deepFreeze({ a: [{ b: 1 }] })
    expect(Object.isFrozen(value.a[0])).toBe(true)
  })
})
