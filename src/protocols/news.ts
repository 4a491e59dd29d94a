/** The outputs of a change of leader, for protocols without leases. */
import { type Effect, type Message, type NodeId, output, type Plain, type Step } from '../core/index.ts'

/** Adds the outputs of a change of leader to a step, for the application and the layers above. */
export function withLeaderNews<S, M extends Message, D extends Plain>(
  self: NodeId,
  was: NodeId | null,
  is: NodeId | null,
  step: Step<S, M, D>,
): Step<S, M, D> {
  return was === is ? step : { state: step.state, effects: [...step.effects, ...leaderNews(self, was, is)] }
}

function leaderNews(self: NodeId, was: NodeId | null, is: NodeId | null): readonly Effect<never, never>[] {
  const demoted = was === self ? [output({ type: 'demoted' })] : []
  if (is === self) return [...demoted, output({ type: 'elected' })]
  return is === null ? demoted : [...demoted, output({ type: 'following', leader: is })]
}
