/** Handles the keys of the screen of `conclave up`. */
import type { Selected } from './frame.ts'
import type { LocalGroup } from './local-group.ts'

const CTRL_C = '\u0003'
const ESCAPE = '\u001B'
/** How many lines PgUp and PgDn scroll. */
const PAGE_LINES = 10

/** Keys that terminals send as sequences of characters. */
const SEQUENCES: { readonly [sequence: string]: string } = {
  '\u001B[A': 'up',
  '\u001BOA': 'up',
  '\u001B[B': 'down',
  '\u001BOB': 'down',
  '\u001B[5~': 'page up',
  '\u001B[6~': 'page down',
}

export type KeyActions = {
  readonly quit: () => void
  readonly execute: (line: string) => void
}

export class Keys implements Selected {
  readonly #group: Pick<LocalGroup, 'agents' | 'log'>
  readonly #actions: KeyActions
  chosen = 0
  typed: string | null = null
  scrolled = 0
  isHelp = false

  constructor(group: Pick<LocalGroup, 'agents' | 'log'>, actions: KeyActions) {
    this.#group = group
    this.#actions = actions
  }

  /** Takes what the terminal has sent: one or more keys, or one sequence. */
  take(text: string): void {
    const isSequence = text.length > 1 && text.startsWith(ESCAPE)
    if (isSequence) this.#move(SEQUENCES[text] ?? '')
    else for (const key of text) this.#press(key)
  }

  #move(key: string): void {
    const { agents, log } = this.#group
    if (key === 'up') this.chosen = Math.max(0, this.chosen - 1)
    if (key === 'down') this.chosen = Math.min(agents.length - 1, this.chosen + 1)
    // The log is scrolled back from its end, the help forward from its start.
    const forward = this.isHelp ? 'page down' : 'page up'
    if (key === forward) this.scrolled = Math.min(this.scrolled + PAGE_LINES, Math.max(log.length, 100))
    else if (key.startsWith('page')) this.scrolled = Math.max(0, this.scrolled - PAGE_LINES)
  }

  #press(key: string): void {
    if (key === CTRL_C) this.#actions.quit()
    else if (this.typed !== null) this.#type(this.typed, key)
    else if (this.isHelp) this.#inHelp(key)
    else if (/[1-9]/.test(key)) this.chosen = Math.min(Number(key), this.#group.agents.length) - 1
    else this.#act(key)
  }

  #inHelp(key: string): void {
    if (key === 'q') this.#actions.quit()
    else if (key === '?' || key === ESCAPE || key === '\r') this.#showHelp(false)
  }

  #showHelp(isHelp: boolean): void {
    this.isHelp = isHelp
    this.scrolled = 0
  }

  #type(typed: string, key: string): void {
    if (key === '\r' || key === '\n') {
      this.typed = null
      if (typed.trim() === 'quit') this.#actions.quit()
      else this.#actions.execute(typed)
    } else if (key === ESCAPE) this.typed = null
    else if (key === '\u007F' || key === '\b') this.typed = typed === '' ? null : typed.slice(0, -1)
    else if (key >= ' ') this.typed = typed + key
  }

  #act(key: string): void {
    const agent = this.#group.agents[this.chosen]
    if (agent === undefined) return
    const { id, state } = agent
    const commands: { readonly [key: string]: string } = {
      k: `kill ${id}`,
      r: `restart ${id}`,
      p: `${state === 'paused' ? 'resume' : 'pause'} ${id}`,
      x: `cut ${id}-all`,
      h: 'heal',
      l: 'kill leader',
      d: 'step-down',
    }
    const command = commands[key]
    if (key === 'q') this.#actions.quit()
    else if (key === ':') this.typed = ''
    else if (key === '?') this.#showHelp(true)
    else if (command !== undefined) this.#actions.execute(command)
  }
}
