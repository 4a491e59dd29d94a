/** The events that the application receives when the node wins a request. */
import { output } from '../../core/index.ts'
import type { LocalLeaderEffect } from './context.ts'
import type { Candidacy, LocalLeaderState } from './state.ts'
import { isNewer } from './voters.ts'

export function newsOf(
  state: LocalLeaderState,
  candidacy: Candidacy,
  token: number | null | undefined,
): LocalLeaderEffect[] {
  const news: LocalLeaderEffect[] = []
  if (token !== undefined) {
    news.push(output({ type: 'elected', token, cause: candidacy.succeeds ? 'handed over' : 'elected' }))
  }
  const { config } = candidacy
  const isChange = candidacy.renew && state.term !== null && isNewer(config, state.term.config)
  if (isChange) news.push(output({ type: 'config', id: config.id, sets: config.sets }))
  return news
}

/** The wanted voters are the only voters now. */
export function isReached({ wanted }: LocalLeaderState, { config }: Candidacy): boolean {
  const [current, next] = config.sets
  return wanted !== null && next === undefined && current?.join() === wanted.join()
}
