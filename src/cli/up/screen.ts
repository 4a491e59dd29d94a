/**
 * Draws full frames on the alternate screen of the terminal. Every frame starts at the top, so it does not depend on
 * where the previous frame ended or on how the terminal wrapped lines when it was resized.
 */
import { escapeControls, print } from '../output.ts'
import type { Size } from './frame.ts'

const ENTER = '\u001B[?1049h\u001B[?25l\u001B[?7l'
const LEAVE = '\u001B[?7h\u001B[?25h\u001B[?1049l'
const HOME = '\u001B[H'
const CLEAR_LINE = '\u001B[K'
const CLEAR_REST = '\u001B[J'
/** For a terminal that does not report its size. */
const DEFAULT_SIZE = { columns: 80, rows: 24 }

export class Screen {
  readonly #stdout = process.stdout
  readonly #render: (size: Size) => readonly string[]
  readonly #onResize = (): void => this.draw(true)
  readonly #onExit = (): void => this.close()
  #lastFrame = ''
  #isOpen = false

  /** `render` returns the lines of a frame. Each must fit into the given size. */
  constructor(render: (size: Size) => readonly string[]) {
    this.#render = render
  }

  open(): void {
    this.#isOpen = true
    this.#stdout.write(ENTER)
    this.#stdout.on('resize', this.#onResize)
    // Restores the terminal in whichever way the process exits.
    process.on('exit', this.#onExit)
  }

  /** Draws a frame if it differs from the last one. `isForced`: the terminal no longer shows the last frame. */
  draw(isForced = false): void {
    if (!this.#isOpen) return
    const { columns, rows } = this.#size()
    const lines = this.#render({ columns, rows })
    // Clear each line first: after a line as wide as the terminal, the cursor is still on its last character.
    const frame = lines.map((line) => `${CLEAR_LINE}${escapeControls(line)}`).join('\r\n')
    if (frame === this.#lastFrame && !isForced) return
    this.#lastFrame = frame
    this.#stdout.write(`${HOME}${frame}${lines.length < rows ? `\r\n${CLEAR_REST}` : ''}`)
  }

  /** Leaves the alternate screen, and prints the last frame below the earlier output. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#stdout.off('resize', this.#onResize)
    process.off('exit', this.#onExit)
    // Without clearing, some terminals show parts of the frame again after a resize.
    this.#stdout.write(`${HOME}${CLEAR_REST}${LEAVE}`)
    for (const line of this.#render({ ...this.#size(), rows: null })) print(line)
  }

  #size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = this.#stdout
    return { columns: columns || DEFAULT_SIZE.columns, rows: rows || DEFAULT_SIZE.rows }
  }
}
