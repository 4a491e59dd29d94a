/** The colours of the theme, for drawings on canvas. */
import { effect, signal } from '@preact/signals'
import { theme } from '../../../src/data/theme.ts'

const NAMES = [
  'ground',
  'surface',
  'raised',
  'line',
  'edge',
  'text',
  'quiet',
  'accent',
  'accent-pale',
  'on-accent',
  'good',
  'warn',
  'bad',
  'bad-pale',
] as const

export type Colours = { readonly [name in (typeof NAMES)[number]]: string } & {
  /** One colour per node. */
  readonly own: readonly string[]
}

const OWN_COLOURS = 8

/** The number of a node's colour, for the classes of the style sheet: from 1. */
export const colourNumber = (place: number): number => 1 + (Math.max(0, place) % OWN_COLOURS)

/** A colour that uses `light-dark()` arrives resolved only as the colour of an element. */
function readColours(): Colours {
  const probe = document.createElement('span')
  document.body.append(probe)
  const read = (name: string): string => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const named = Object.fromEntries(NAMES.map((name) => [name, read(name)])) as Omit<Colours, 'own'>
  const own = Array.from({ length: OWN_COLOURS }, (_, place) => read(`c${place + 1}`))
  probe.remove()
  return { ...named, own }
}

export const colours = signal<Colours | null>(null)

export const ownColour = (from: Colours, place: number): string =>
  from.own[Math.max(0, place) % OWN_COLOURS] ?? from.text

export function startColours(): void {
  const read = (): void => {
    colours.value = readColours()
  }
  effect(() => {
    // The effect that sets the attribute of the theme ran before this one.
    if (theme.value !== null) read()
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', read)
}
