/**
 * The whole terminal, drawn anew as often as one likes. It is the alternate screen, which every frame fills from the
 * top: so nothing depends on where a former frame ended, or on how the terminal rewrapped it when it was resized.
 */
import { escapeControls, print } from '../output.ts'
import type { Size } from './text.ts'

const ENTER = '\u001B[?1049h\u001B[?25l\u001B[?7l'
const LEAVE = '\u001B[?7h\u001B[?25h\u001B[?1049l'
const HOME = '\u001B[H'
const CLEAR_LINE = '\u001B[K'
const CLEAR_REST = '\u001B[J'
/** Where a terminal does not say how large it is. */
const USUAL = { columns: 80, rows: 24 }

export class Screen {
  readonly #stdout = process.stdout
  readonly #linesIn: (size: Size) => readonly string[]
  readonly #onResize = (): void => this.draw(true)
  readonly #onExit = (): void => this.close()
  #shown = ''
  #isOpen = false

  /** `linesIn` gives what is to be seen, in lines that fit. */
  constructor(linesIn: (size: Size) => readonly string[]) {
    this.#linesIn = linesIn
  }

  open(): void {
    this.#isOpen = true
    this.#stdout.write(ENTER)
    this.#stdout.on('resize', this.#onResize)
    // However this process ends, the terminal is left as it was.
    process.on('exit', this.#onExit)
  }

  /** `isSpoilt`: what is on the terminal is no longer what was drawn. */
  draw(isSpoilt = false): void {
    if (!this.#isOpen) return
    const { columns, rows } = this.#size()
    const lines = this.#linesIn({ columns, rows })
    // Cleared before it is written: after a line that fills the terminal, the cursor stands on its last character.
    const frame = lines.map((line) => `${CLEAR_LINE}${escapeControls(line)}`).join('\r\n')
    if (frame === this.#shown && !isSpoilt) return
    this.#shown = frame
    this.#stdout.write(`${HOME}${frame}${lines.length < rows ? `\r\n${CLEAR_REST}` : ''}`)
  }

  /** What was seen last stays in sight, among what else the terminal shows. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#stdout.off('resize', this.#onResize)
    process.off('exit', this.#onExit)
    // Some terminals that were resized would bring parts of it back.
    this.#stdout.write(`${HOME}${CLEAR_REST}${LEAVE}`)
    for (const line of this.#linesIn({ ...this.#size(), rows: null })) print(line)
  }

  #size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = this.#stdout
    return { columns: columns || USUAL.columns, rows: rows || USUAL.rows }
  }
}
