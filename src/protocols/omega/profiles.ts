/** What the links of Omega+ are told for the network between the nodes; options that are given win. */
import type { HistoryOptions } from '../../links/index.ts'

type Profile = Pick<HistoryOptions, 'pingMs' | 'timeoutMs' | 'alphaMs' | 'retransmitMs'>

const PROFILES: { readonly [profile: string]: Profile } = {
  lan: { pingMs: 200, timeoutMs: 500, alphaMs: 200, retransmitMs: 40 },
  region: { pingMs: 300, timeoutMs: 1000, alphaMs: 400, retransmitMs: 120 },
  wan: { pingMs: 1000, timeoutMs: 3000, alphaMs: 1200, retransmitMs: 500 },
}

export function profileOptions(profile: 'lan' | 'region' | 'wan'): Profile {
  return PROFILES[profile] as Profile
}
