import { describe, expect, it } from 'vitest'
import type { DiagramHistory } from './history.ts'
import type { Layout } from './layout.ts'
import { legendOf } from './legend.ts'
import { colourOfKind, cross, head, sign } from './shapes.ts'
import { KIND_COLOURS } from './style.ts'

describe('the kinds of messages', () => {
  it('have a colour and an arrowhead, of which few pairs repeat', () => {
    const looks = Array.from(
      { length: 30 },
      (_, kind) => `${colourOfKind(kind)} ${head(kind, { x: 0, y: 0 }, 0)}`,
    )
    expect(new Set(looks).size).toBe(30)
    expect(colourOfKind(KIND_COLOURS + 2)).toBe('kind2')
  })
  it('have an arrowhead that points along the line', () => {
    expect(head(0, { x: 10, y: 20 }, 45)).toBe(
      '<path class="kind0-fill" d="M0 0L-10 -4.2L-10 4.2Z" transform="translate(10 20) rotate(45)" stroke-width="1.4"/>',
    )
  })
})

describe('the signs', () => {
  it('of a loss are two crossed strokes', () => {
    expect(cross({ x: 10, y: 20 }, 3)).toContain('d="M7 17L13 23M13 17L7 23"')
  })
  it('differ for each type of event, except for links and registers', () => {
    const types = ['crash', 'restart', 'timer', 'command', 'link', 'register'] as const
    expect(new Set(types.map((type) => sign(type, { x: 0, y: 0 }))).size).toBe(5)
  })
})

describe('the legend', () => {
  const LAYOUT = {
    bottom: 100,
    width: 600,
    pieces: [],
    arrows: [],
    hatches: [],
    breaks: [],
  } as unknown as Layout
  const HISTORY = { flights: [], marks: [] } as unknown as DiagramHistory
  const captions = (history: object, layout: object, kinds: readonly string[] = []): readonly string[] =>
    [
      ...legendOf({ ...HISTORY, ...history }, { ...LAYOUT, ...layout }, kinds).xml.matchAll(
        /<text[^>]*>([^<]*)<\/text>/g,
      ),
    ].map(([, text]) => text ?? '')

  it('explains what occurs in the picture, and nothing else', () => {
    expect(captions({}, {})).toEqual([])
    const history = {
      flights: [{ kind: 'vote' }],
      marks: [{ type: 'register' }, { type: 'crash' }],
    }
    const layout = {
      pieces: [{ state: 'leaderless' }, { state: 'leads' }],
      arrows: [{ ending: 'lost' }, { ending: 'open' }],
      hatches: [{}],
      breaks: [{}],
    }
    expect(captions(history, layout, ['ping', 'vote'])).toEqual([
      'leads',
      'has no leader',
      'vote',
      'lost',
      'in flight',
      'crash',
      'register answers',
      'stalled',
      'time omitted',
    ])
  })
  it('escapes the names of messages', () => {
    expect(captions({ flights: [{ kind: '<b>' }] }, {}, ['<b>'])).toEqual(['&lt;b&gt;'])
  })
  it('starts a new row at the edge of the page', () => {
    const kinds = ['first kind of message', 'second kind of message', 'third kind of message']
    const history = { ...HISTORY, flights: kinds.map((kind) => ({ kind })) } as unknown as DiagramHistory
    expect(legendOf(history, LAYOUT, kinds).bottom).toBe(100 + 34 + 20 + 20)
    expect(legendOf(history, { ...LAYOUT, width: 2000 }, kinds).bottom).toBe(100 + 34 + 20)
  })
})
