/** What `conclave up` shows, and what its keys do. */
import type { LocalAgent } from './local-agent.ts'
import { table } from './output.ts'

export function tableOf(agents: readonly LocalAgent[], chosen: number): string {
  const rows = agents.map((agent, index) => [
    index === chosen ? '>' : ' ',
    agent.id,
    agent.standing === 'up' ? (agent.seen?.self.role ?? 'silent') : agent.standing,
    String(agent.seen?.leader?.id ?? '-'),
    String(agent.seen?.leader?.token ?? '-'),
    agent.seen?.leader === undefined || agent.seen.leader === null
      ? '-'
      : `${agent.seen.leader.expiresInMs.toFixed(0)} ms`,
    agent.url,
  ])
  const banner = agents.find(({ seen }) => seen !== null)?.seen?.banner ?? 'no agent answers'
  const keys = '1-9 choose  k kill  r restart  p pause  l kill the leader  d hand over  q quit'
  return [
    banner,
    '',
    table([['', 'node', 'role', 'leader', 'token', 'lease left', 'address'], ...rows]),
    '',
    keys,
  ].join('\n')
}

/** Does what a key asks for; the node that is chosen then, or that all is over. */
export function keysOf(key: string, agents: readonly LocalAgent[], chosen: number): number | 'quit' {
  const number = Number(key)
  if (Number.isInteger(number) && number >= 1 && number <= agents.length) return number - 1
  const leader = agents.find(({ seen }) => seen?.self.role === 'leader')
  switch (key) {
    case 'q':
    case '\u0003':
      return 'quit'
    case 'k':
      agents[chosen]?.kill()
      break
    case 'r':
      agents[chosen]?.start()
      break
    case 'p':
      agents[chosen]?.pause()
      break
    case 'l':
      leader?.kill()
      break
    case 'd':
      void leader?.handOver()
      break
    default:
  }
  return chosen
}
