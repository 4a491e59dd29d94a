/** The buttons of one node: its process under `conclave up`, and the hand-over to it. */
import { proposed } from '../data/act.ts'
import type { Action } from '../view/actions.ts'
import type { NodeRow } from '../view/nodes.ts'

export type NodeActionsProps = { readonly row: NodeRow; readonly canHandOver: boolean }

type Offer = { readonly label: string; readonly action: Action }

function offersFor({ id, local, isLeader, state, role }: NodeRow, canHandOver: boolean): readonly Offer[] {
  const canFollow = canHandOver && !isLeader && state === 'reachable' && role === 'voter'
  return [
    ...(canFollow ? [{ label: 'Hand over', action: { what: 'step-down', to: id } as const }] : []),
    ...(local === 'up' ? [{ label: 'Pause', action: { what: 'pause', id } as const }] : []),
    ...(local === 'paused' ? [{ label: 'Resume', action: { what: 'resume', id } as const }] : []),
    ...(local === 'down' ? [{ label: 'Restart', action: { what: 'restart', id } as const }] : []),
    ...(local === 'up' || local === 'paused'
      ? [{ label: 'Kill', action: { what: 'kill', id } as const }]
      : []),
  ]
}

export function NodeActions({ row, canHandOver }: NodeActionsProps) {
  return (
    <div class="row-actions">
      {offersFor(row, canHandOver).map(({ label, action }) => (
        <button
          type="button"
          class={label === 'Kill' ? 'quiet danger' : 'quiet'}
          key={label}
          aria-label={label === 'Hand over' ? `Hand leadership over to ${row.id}` : `${label} ${row.id}`}
          onClick={() => {
            proposed.value = action
          }}
        >
          {label}
        </button>
      ))}
    </div>
  )
}
