import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Size } from './frame.ts'
import { Screen } from './screen.ts'

const ENTER = '\u001B[?1049h'
const LEAVE = '\u001B[?1049l'

let written: string[] = []
const sizes: Size[] = []
beforeEach(() => {
  written = []
  sizes.length = 0
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    written.push(String(text))
    return true
  })
  for (const [name, value] of [
    ['columns', 40],
    ['rows', 3],
  ] as const)
    Object.defineProperty(process.stdout, name, { value, configurable: true })
})
afterEach(() => {
  vi.restoreAllMocks()
  for (const name of ['columns', 'rows']) Reflect.deleteProperty(process.stdout, name)
})

function open(lines: readonly string[]): { readonly screen: Screen; show(next: readonly string[]): void } {
  let shown = lines
  const screen = new Screen((size) => {
    sizes.push(size)
    return shown
  })
  screen.open()
  return {
    screen,
    show(next) {
      shown = next
      screen.draw()
    },
  }
}

describe('a screen', () => {
  it('draws on the alternate screen, and escapes control characters in lines', () => {
    const { screen } = open(['a\u0007'])
    screen.draw()
    screen.close()
    expect(written[0]).toContain(ENTER)
    expect(written[1]).toBe('\u001B[H\u001B[Ka\\u0007\r\n\u001B[J')
    expect(sizes[0]).toEqual({ columns: 40, rows: 3 })
  })

  it('writes a frame only if it differs from the last one, or after a resize', () => {
    const { screen, show } = open(['a'])
    screen.draw()
    screen.draw()
    expect(written).toHaveLength(2)
    show(['b'])
    expect(written).toHaveLength(3)
    process.stdout.emit('resize')
    expect(written).toHaveLength(4)
    screen.close()
  })

  it('does not clear below a frame that fills the terminal', () => {
    const { screen } = open(['a', 'b', 'c'])
    screen.draw()
    expect(written[1]?.endsWith('c')).toBe(true)
    screen.close()
  })

  it('restores the terminal once, and prints the last frame without a limit of rows', () => {
    const { screen } = open(['a'])
    const listeners = process.listenerCount('exit')
    screen.close()
    screen.close()
    screen.draw()
    expect(written.join('').split(LEAVE)).toHaveLength(2)
    expect(written.at(-1)).toBe('a\n')
    expect(sizes).toEqual([{ columns: 40, rows: null }])
    expect(process.listenerCount('exit')).toBe(listeners - 1)
    expect(process.stdout.listenerCount('resize')).toBe(0)
  })
})
