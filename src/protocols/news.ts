import { type Effect, NOTHING, type NodeId, output } from '../core/index.ts'

/** What a change of leader means to the application, and to the layers that listen. */
export function news(self: NodeId, was: NodeId | null, is: NodeId | null): readonly Effect<never, never>[] {
  if (was === is) return NOTHING
  const demoted = was === self ? [output({ type: 'demoted' })] : []
  if (is === self) return [...demoted, output({ type: 'elected' })]
  return is === null ? demoted : [...demoted, output({ type: 'following', leader: is })]
}
