/** Opens the recent history of the group in the playground, which the agent serves too. */
import { useState } from 'preact/hooks'
import { packText } from '../data/link.ts'
import { status, terms } from '../data/store.ts'
import { scenarioOf } from '../view/scenario.ts'

export function PlaygroundButton() {
  const [problem, setProblem] = useState<string | null>(null)
  const seen = status.value
  if (seen === null) return null
  const openIt = async (): Promise<void> => {
    const scenario = scenarioOf(seen, terms.value)
    const fragment = await packText(JSON.stringify({ n: `recent history of ${seen.group}`, s: scenario }))
    const opened = open(`playground/#${fragment}`, '_blank')
    setProblem(opened === null ? 'The browser did not open the page: allow pop-ups for it.' : null)
  }
  return (
    <button
      type="button"
      class="quiet"
      title={problem ?? 'The same nodes, delays and faults, simulated: an approximation of what happened'}
      onClick={() => void openIt()}
    >
      Open in playground
    </button>
  )
}
