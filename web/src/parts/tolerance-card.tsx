/** How many more nodes may fail before the group loses its leader. */
import type { Status } from '../data/types.ts'
import { toleranceOf } from '../view/nodes.ts'
import { Card } from './card.tsx'

export function ToleranceCard({ status }: { readonly status: Status }) {
  const { count, sentence, voters } = toleranceOf(status)
  return (
    <Card name="tolerance" title="Can still lose">
      <p class="big-number">
        <b>{count}</b> <span>{count === 1 ? 'node' : 'nodes'}</span>
      </p>
      <ul class="pips" aria-hidden="true">
        {voters.map(({ id, canVote }) => (
          <li key={id} class={canVote ? 'is-reachable' : ''} title={id} />
        ))}
      </ul>
      <p class="hint">{sentence}</p>
    </Card>
  )
}
