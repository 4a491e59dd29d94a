import { type Effect, type Message, type NodeId, output, type Plain, type Step } from '../core/index.ts'

/** Adds to a step what a change of leader means to the application, and to the layers that listen. */
export function withLeaderNews<S, M extends Message, D extends Plain>(
  self: NodeId,
  was: NodeId | null,
  is: NodeId | null,
  step: Step<S, M, D>,
): Step<S, M, D> {
  return was === is ? step : { state: step.state, effects: [...step.effects, ...news(self, was, is)] }
}

function news(self: NodeId, was: NodeId | null, is: NodeId | null): readonly Effect<never, never>[] {
  const demoted = was === self ? [output({ type: 'demoted' })] : []
  if (is === self) return [...demoted, output({ type: 'elected' })]
  return is === null ? demoted : [...demoted, output({ type: 'following', leader: is })]
}
