/** The diagram's symbols as XML: one arrowhead per kind of message, and the marks on lanes. */
import type { Mark } from './history.ts'
import type { Point } from './label-space.ts'
import { KIND_COLOURS } from './style.ts'
import { decimal, element } from './xml.ts'

/** The style of a kind of message: a colour and an arrowhead. */
export function colourOfKind(index: number): string {
  return `kind${index % KIND_COLOURS}`
}

type Head = { readonly path: string; readonly look: 'fill' | 'line' | 'hollow' }

/** Arrowheads that point right, with the tip at the origin. */
const HEADS: readonly Head[] = [
  { path: 'M0 0L-10 -4.2L-10 4.2Z', look: 'fill' },
  { path: 'M-8.5 -5L0 0L-8.5 5', look: 'line' },
  { path: 'M-0.5 0L-11 -4.5L-11 4.5Z', look: 'hollow' },
  { path: 'M0 0L-6.5 -4L-13 0L-6.5 4Z', look: 'fill' },
  { path: 'M-0.5 0L-7 -4.2L-13.5 0L-7 4.2Z', look: 'hollow' },
  { path: 'M0 0L-7 -4.5L-7 4.5ZM-7 0L-14 -4.5L-14 4.5Z', look: 'fill' },
]

export function head(kind: number, tip: Point, degrees: number): string {
  const { path, look } = HEADS[kind % HEADS.length] as Head
  return element('path', {
    class: `${colourOfKind(kind)}-${look}`,
    d: path,
    transform: `translate(${decimal(tip.x)} ${decimal(tip.y)}) rotate(${decimal(degrees)})`,
    'stroke-width': 1.4,
  })
}

/** Marks the loss of a message. */
export function cross({ x, y }: Point, size: number): string {
  const [left, right, top, bottom] = [x - size, x + size, y - size, y + size].map(decimal)
  return element('path', {
    class: 'bad-line',
    d: `M${left} ${top}L${right} ${bottom}M${right} ${top}L${left} ${bottom}`,
    'stroke-width': 2.2,
    'stroke-linecap': 'round',
  })
}

export function sign(type: Mark['type'], { x, y }: Point): string {
  const disc = (colour: string, r: number): string =>
    element('circle', { class: `${colour}-hollow`, cx: x, cy: y, r, 'stroke-width': 1.6 })
  const stroke = (colour: string, path: string): string =>
    element('path', {
      class: `${colour}-line`,
      d: path,
      transform: `translate(${decimal(x)} ${decimal(y)})`,
      'stroke-width': 1.6,
      'stroke-linecap': 'round',
      'stroke-linejoin': 'round',
    })
  switch (type) {
    case 'crash':
      return disc('bad', 7) + cross({ x, y }, 3.4)
    case 'restart':
      return disc('ink', 7) + stroke('ink', 'M0 3.6V-3.4M-3 -0.4L0 -3.6L3 -0.4')
    case 'timer':
      return disc('ink', 5.5) + stroke('ink', 'M0 -3V0L2.4 1.4')
    case 'command':
      return element('path', {
        class: 'ink-fill',
        d: 'M-1 0L-10 -5L-10 5Z',
        transform: `translate(${decimal(x)} ${decimal(y)})`,
      })
    case 'link':
    case 'register':
      return disc('quiet', 4)
    default:
      return type satisfies never
  }
}
