/** The warning about dropped datagrams: what is wrong, and what to do. */
import type { NodeId } from '../../core/index.ts'
import type { DroppedDatagrams } from './refusal-log.ts'

/** `peer`: the node that is configured at the address of the sender; null if there is none. */
export function dropWarning(
  { reason, count, from, detail }: DroppedDatagrams,
  self: NodeId,
  peer: NodeId | null,
): readonly [what: string, detail: string] {
  const sender = peer === null ? from : `${peer} at ${from}`
  const datagrams = count === 1 ? '1 datagram' : `${count} datagrams`
  switch (reason) {
    case 'unknown key':
      return ['key', `${sender} uses another key: give all nodes of the group the same key (${datagrams})`]
    case 'not authentic':
      return ['key', `datagrams of ${sender} were changed on their way, or forged (${datagrams})`]
    case 'another receiver':
      return [
        'address',
        `${sender} sends datagrams that are not for ${self} to this address (${detail}): correct the address there (${datagrams})`,
      ]
    case 'unknown sender':
      return [
        'peers',
        `${sender} is not among the peers of ${self} (${detail}): add it here, or remove ${self} from its peers (${datagrams})`,
      ]
    default:
      return ['dropped', `${datagrams} from ${sender} and others (${reason}: ${detail})`]
  }
}
