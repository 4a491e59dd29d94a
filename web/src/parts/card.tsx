/** A panel with a heading, and what belongs beside the heading. */
import type { ComponentChildren } from 'preact'

export type CardProps = {
  readonly name: string
  readonly title: string
  /** Explains the panel in a few words. */
  readonly hint?: ComponentChildren
  readonly tools?: ComponentChildren
  readonly children: ComponentChildren
}

export function Card({ name, title, hint, tools, children }: CardProps) {
  return (
    <section class={`card ${name}`} aria-labelledby={`${name}-title`}>
      <header class="card-head">
        <h2 id={`${name}-title`}>{title}</h2>
        {hint === undefined ? null : <p class="hint">{hint}</p>}
        {tools === undefined ? null : <div class="tools">{tools}</div>}
      </header>
      {children}
    </section>
  )
}

export type TableToggleProps = {
  readonly isTable: boolean
  readonly of: string
  readonly onToggle: () => void
}

/** Every picture is also a table: for screen readers, and to copy numbers from. */
export function TableToggle({ isTable, of, onToggle }: TableToggleProps) {
  return (
    <button
      type="button"
      class="quiet"
      aria-pressed={isTable}
      aria-label={`Show ${of} as a table`}
      onClick={onToggle}
    >
      Table
    </button>
  )
}
