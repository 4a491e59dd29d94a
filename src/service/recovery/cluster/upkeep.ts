/** What a node does when the table of jobs or the view changes. */
import type { ReplicatedSink } from '../sink/index.ts'
import type { Cluster, ClusterView } from './cluster.ts'
import type { ManagerPort } from './ports.ts'
import type { Watch } from './watch.ts'

/**
 * Deletes the outputs of jobs that have left the table. A cancelled job leaves it once all nodes know it. To be called
 * whenever the table has changed.
 */
export function createForgetter(manager: ManagerPort, outputs: ReplicatedSink): () => void {
  let known: ReadonlySet<string> = new Set()
  return () => {
    const jobs = new Set(manager.look().jobs.map(({ name }) => name))
    for (const job of known) if (!jobs.has(job)) void outputs.forget(job).catch(() => {})
    known = jobs
  }
}

/** Reports every new view, until the node closes. */
export async function followViews(
  cluster: Pick<Cluster, 'view'>,
  watch: Watch,
  closing: AbortSignal,
  changed: (view: ClusterView) => void,
): Promise<void> {
  let last: number | null = null
  while (!closing.aborted) {
    // oxlint-disable-next-line no-await-in-loop -- one view after the other
    await watch.until(() => cluster.view().token !== last)
    if (closing.aborted) return
    const view = cluster.view()
    last = view.token
    changed(view)
  }
}
