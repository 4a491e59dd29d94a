/**
 * Nodes that a message names and this node does not know, because the two are configured with different peers. That part
 * cannot concern this node, which never supported them. So it is left out, and the difference is reported.
 */
import type { NodeId } from '../../core/index.ts'
import type { Election, LocalLeaderMessage, Reply } from './messages.ts'
import type { Configuration } from './voters.ts'

export type Vetted = {
  /** Null when no part of the message can be used. */
  readonly body: LocalLeaderMessage | null
  /** The first unknown node. */
  readonly stranger: NodeId | null
}

export function createVetting(nodes: readonly NodeId[]): (body: LocalLeaderMessage) => Vetted {
  const known = new Set(nodes)
  /** The last voters that this node knows: in a simulation, the messages share them. */
  let knownSets: Configuration['sets'] | null = null

  function among(ids: readonly NodeId[]): NodeId | null {
    for (const id of ids) if (!known.has(id)) return id
    return null
  }

  function amongVoters({ sets }: Configuration): NodeId | null {
    if (sets === knownSets) return null
    for (const voters of sets) {
      const stranger = among(voters)
      if (stranger !== null) return stranger
    }
    knownSets = sets
    return null
  }

  function election(body: Election): Vetted {
    const { certificate, tree, config } = body
    const owner = certificate === null ? null : among([certificate.owner])
    const branch = tree === null ? null : among(tree)
    const stranger = owner ?? branch ?? amongVoters(config)
    if (owner === null && branch === null) return { body, stranger }
    return {
      body: {
        ...body,
        certificate: owner === null ? certificate : null,
        tree: branch === null ? tree : null,
      },
      stranger,
    }
  }

  function reply(body: Reply): Vetted {
    const stranger = among([body.candidate])
    return stranger === null ? { body, stranger: amongVoters(body.config) } : { body: null, stranger }
  }

  return (body) => {
    switch (body.kind) {
      case 'Election':
        return election(body)
      case 'Reply':
        return reply(body)
      default:
        return { body, stranger: null }
    }
  }
}
