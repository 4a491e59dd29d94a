/** What the application learns when a request is won. */
import { output } from '../../core/index.ts'
import type { Deed } from './context.ts'
import type { Campaign, LocalLeaderState } from './state.ts'
import { isNewer } from './voters.ts'

export function newsOf(
  state: LocalLeaderState,
  campaign: Campaign,
  token: number | null | undefined,
): Deed[] {
  const news: Deed[] = []
  if (token !== undefined) {
    news.push(output({ type: 'elected', token, cause: campaign.succeeds ? 'handed over' : 'elected' }))
  }
  const { config } = campaign
  const isChange = campaign.renew && state.lead !== null && isNewer(config, state.lead.config)
  if (isChange) news.push(output({ type: 'config', id: config.id, sets: config.sets }))
  return news
}

/** The voters that were wanted are the only ones now. */
export function isReached({ wanted }: LocalLeaderState, { config }: Campaign): boolean {
  const [current, next] = config.sets
  return wanted !== null && next === undefined && current?.join() === wanted.join()
}
