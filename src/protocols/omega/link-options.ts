/** Options and faults of protocols whose nodes agree on views over links with a consistent history. */
import { z } from 'zod'
import { type FaultKind, type NodeId, perNode } from '../../core/index.ts'

export const linkOptions = (nodes: readonly NodeId[]) => ({
  links: z
    .enum(['datagrams', 'reported', 'hosted'])
    .default('datagrams')
    .describe(
      'what reports links: a layer over datagrams; the world (reported; simulations only); a real process, for several groups (hosted; recordings only)',
    ),
  hostedGroup: z.string().nullable().default(null).describe('with links hosted: the name of this group'),
  weights: perNode(nodes, z.number())
    .default({})
    .describe('the node with the least weight leads (default 0); ties are broken by id'),
})

const SEEN_BY_LINKS: readonly FaultKind[] = ['crash', 'partition', 'cut', 'cutOneWay', 'graph']
const SEEN_BY_PINGS: readonly FaultKind[] = ['pause', 'suspend', 'slow', 'loss', 'duplicate']
export const VIEW_FAULTS: readonly FaultKind[] = [...SEEN_BY_LINKS, ...SEEN_BY_PINGS]

/** The faults that a group bears. Where the world reports links, there are no pings. */
export function bearableFaults(links: string): readonly FaultKind[] {
  return links === 'reported' ? SEEN_BY_LINKS : VIEW_FAULTS
}
