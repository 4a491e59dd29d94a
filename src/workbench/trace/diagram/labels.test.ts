import { describe, expect, it } from 'vitest'
import { along, LabelSpace } from './label-space.ts'
import { alongLine, beside, shorten, widthOf } from './labels.ts'

describe('the space of labels', () => {
  it('is free at a distance from other labels', () => {
    const space = new LabelSpace()
    space.occupy([{ x: 100, y: 100 }])
    expect(space.isFree([{ x: 100, y: 110 }])).toBe(false)
    expect(space.isFree([{ x: 100, y: 111 }])).toBe(true)
    expect(
      space.isFree([
        { x: 300, y: 100 },
        { x: 95, y: 95 },
      ]),
    ).toBe(false)
  })
  it('counts each line that passes a label once, except its own', () => {
    const space = new LabelSpace()
    const [first, second] = [
      space.rule({ x: 0, y: 50 }, { x: 200, y: 50 }),
      space.rule({ x: 50, y: 0 }, { x: 50, y: 200 }),
    ]
    const points = along({ x: 20, y: 50 }, { x: 80, y: 50 })
    expect(space.crossings(points, null, 6)).toBe(2)
    expect(space.crossings(points, first, 6)).toBe(1)
    expect(space.crossings([{ x: 100, y: 100 }], second, 6)).toBe(0)
  })
  it('divides a line into short steps, with both ends', () => {
    expect(along({ x: 0, y: 0 }, { x: 12, y: 0 })).toEqual([
      { x: 0, y: 0 },
      { x: 4, y: 0 },
      { x: 8, y: 0 },
      { x: 12, y: 0 },
    ])
    expect(along({ x: 5, y: 5 }, { x: 5, y: 5 })).toHaveLength(2)
  })
})

describe('text', () => {
  it('is shortened with an ellipsis, within its length', () => {
    expect([shorten('short', 5), shorten('longer', 5)]).toEqual(['short', 'long…'])
  })
  it('is as wide as its characters', () => {
    expect(widthOf('1234567890')).toBeCloseTo(61.6)
  })
})

describe('a label beside a lane', () => {
  const at = { x: 300, y: 300 }
  it('stands on the preferred side', () => {
    expect(beside(new LabelSpace(), at, 'leads', 'leads', 'right')).toMatchObject({
      x: 312,
      y: 304,
      anchor: 'start',
    })
    expect(beside(new LabelSpace(), at, 'crash', 'crash', 'left')).toMatchObject({
      x: 288,
      y: 304,
      anchor: 'end',
    })
  })
  it('keeps clear of the sign of a command', () => {
    expect(beside(new LabelSpace(), at, 'go', 'command', 'left')?.x).toBe(284)
  })
  it('moves to the other side, then up or down, then nowhere', () => {
    const space = new LabelSpace()
    const place = () => {
      const label = beside(space, at, 'leads', 'leads', 'right')
      return label === null ? null : [label.anchor, label.y]
    }
    expect(place()).toEqual(['start', 304])
    expect(place()).toEqual(['end', 304])
    expect(place()).toEqual(['start', 316])
    const rest = Array.from({ length: 20 }, place)
    expect(rest.at(-1)).toBeNull()
  })
})

describe('a label along a line', () => {
  const labelled = (to: { readonly x: number; readonly y: number }, space = new LabelSpace()) =>
    alongLine(space, [{ x: 100, y: 100 }, to], 100, 'vote', 'vote', -1)

  it('stands halfway between two lanes, near the arrowhead', () => {
    expect(labelled({ x: 300, y: 100 })).toMatchObject({
      x: 250,
      y: 96,
      angle: 0,
      anchor: 'middle',
      kind: 'vote',
    })
  })
  it('is never upside down', () => {
    expect(labelled({ x: 0, y: 200 })?.angle).toBeCloseTo(-45)
    expect(labelled({ x: 200, y: 200 })?.angle).toBeCloseTo(45)
  })
  it('goes below the line if there is no space above', () => {
    const space = new LabelSpace()
    space.occupy([{ x: 250, y: 92 }])
    expect(labelled({ x: 300, y: 100 }, space)?.y).toBe(112)
  })
  it('is omitted where too many lines pass', () => {
    const space = new LabelSpace()
    for (let y = 60; y <= 140; y += 4) space.rule({ x: 100, y }, { x: 300, y })
    expect(labelled({ x: 300, y: 100 }, space)).toBeNull()
  })
})
