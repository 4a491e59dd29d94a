/** The buttons of one node: its process under `conclave up`, and the hand-over to it. */
import { proposed } from '../data/act.ts'
import type { Action } from '../view/actions.ts'
import type { NodeRow } from '../view/nodes.ts'

export type NodeActionsProps = { readonly row: NodeRow; readonly handOver: 'step-down' | 'yield' | null }

type Offer = { readonly label: string; readonly action: Action }

function offersFor(
  { id, local, isLeader, state, role }: NodeRow,
  handOver: NodeActionsProps['handOver'],
): readonly Offer[] {
  const canFollow = !isLeader && state === 'reachable' && role === 'voter'
  return [
    ...(canFollow && handOver !== null
      ? [{ label: 'Hand over', action: { what: handOver, to: id } as const }]
      : []),
    ...(local === 'up' ? [{ label: 'Pause', action: { what: 'pause', id } as const }] : []),
    ...(local === 'paused' ? [{ label: 'Resume', action: { what: 'resume', id } as const }] : []),
    ...(local === 'down' ? [{ label: 'Restart', action: { what: 'restart', id } as const }] : []),
    ...(local === 'up' || local === 'paused'
      ? [{ label: 'Kill', action: { what: 'kill', id } as const }]
      : []),
  ]
}

export function NodeActions({ row, handOver }: NodeActionsProps) {
  return (
    <div class="row-actions">
      {offersFor(row, handOver).map(({ label, action }) => (
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
