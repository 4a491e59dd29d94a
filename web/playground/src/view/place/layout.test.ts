import { expect, it } from 'vitest'
import { drawn } from '../../engine/fixture.ts'
import { WELCOME } from '../../welcome.ts'
import { hull, linkAt, nodeAt, nodeSpots, nodesInside } from './layout.ts'

const picture = drawn(WELCOME)
const spots = nodeSpots(picture, { width: 400, height: 300 })

it('places all nodes inside of the picture, apart from each other', () => {
  for (const { x, y, radius } of spots) {
    expect(x - radius).toBeGreaterThan(0)
    expect(x + radius).toBeLessThan(400)
    expect(y - radius).toBeGreaterThan(0)
    expect(y + radius).toBeLessThan(300)
  }
  for (const a of spots)
    for (const b of spots) if (a !== b) expect(Math.hypot(a.x - b.x, a.y - b.y)).toBeGreaterThan(a.radius * 2)
})

it('finds the node and the link at a point', () => {
  const [one, two] = spots
  if (one === undefined || two === undefined) throw new Error('the run has no nodes')
  expect(nodeAt(spots, one)?.node).toBe(1)
  expect(nodeAt(spots, { x: 0, y: 0 })).toBeUndefined()
  const between = { x: (one.x + two.x) / 2, y: (one.y + two.y) / 2 }
  expect(linkAt(spots, between)?.map(({ node }) => node)).toEqual([1, 2])
  expect(linkAt(spots, { x: 2, y: 2 })).toBe(null)
})

it('finds the nodes inside of a lasso', () => {
  const left = [
    { x: 0, y: 0 },
    { x: 195, y: 0 },
    { x: 195, y: 300 },
    { x: 0, y: 300 },
  ]
  expect(nodesInside(spots, left)).toEqual([4, 5])
})

it('draws the outline of a side around its outermost nodes', () => {
  const square = [
    { x: 0, y: 0 },
    { x: 10, y: 0 },
    { x: 10, y: 10 },
    { x: 0, y: 10 },
  ]
  expect(hull([...square, { x: 5, y: 5 }])).toHaveLength(4)
  expect(hull(square.slice(0, 2))).toHaveLength(2)
})
