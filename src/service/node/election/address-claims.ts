/**
 * Where this process listens, and as whom. Groups that are joined at one address share what is there, so they must agree
 * on it; and they are joined one after the other, for the first decides.
 */

import type { NetworkElectionSettings } from '../../config/election-settings.ts'
import { showAddress } from '../../runtime/index.ts'
import { InvalidOptionsError } from '../api/errors.ts'
import { addressKey } from './shared-endpoint.ts'

export type Isolation = 'worker' | 'thread'

type SharedAddress = {
  readonly settings: NetworkElectionSettings
  readonly isolation: Isolation
  readonly groups: Map<string, NetworkElectionSettings>
}

const places = new Map<string, SharedAddress>()
const turns = new Map<string, Promise<unknown>>()

/** After all that came before at this address. */
export async function queueAt<T>(
  listen: NetworkElectionSettings['listen'],
  act: () => Promise<T>,
): Promise<T> {
  const place = addressKey(listen)
  if (place === null) return act()
  const before = turns.get(place) ?? Promise.resolve()
  const own = before.then(act, act)
  turns.set(place, own)
  try {
    return await own
  } finally {
    if (turns.get(place) === own) turns.delete(place)
  }
}

/** Attempts to join that were given up and have not ended yet, by what they use. */
const abandoned = new Map<string, Promise<unknown>>()

export function trackTeardown(used: readonly string[], attempt: Promise<unknown>): void {
  for (const what of used) {
    const before = abandoned.get(what)
    const over = Promise.allSettled([before, attempt]).then(() => {
      if (abandoned.get(what) === over) abandoned.delete(what)
    })
    abandoned.set(what, over)
  }
}

/** Kept when no attempt that was given up uses any of this. */
export async function waitUntilFree(used: readonly string[]): Promise<void> {
  await Promise.all(used.map((what) => abandoned.get(what) ?? Promise.resolve()))
}

/** By its address, every peer of which this process knows at this address who it is; null when it does not listen there. */
export function knownPeersAt(listen: NetworkElectionSettings['listen']): ReadonlyMap<string, string> | null {
  const place = places.get(addressKey(listen) ?? '')
  if (place === undefined) return null
  const peers = [...place.groups.values()].flatMap((settings) => settings.peers)
  return new Map(peers.map(({ id, address }) => [showAddress(address), id]))
}

/** Throws InvalidOptionsError when it cannot share with what is there. The answer gives the place up again. */
export function claimAddress(settings: NetworkElectionSettings, isolation: Isolation): () => void {
  const key = addressKey(settings.listen)
  if (key === null) return () => {}
  let place = places.get(key)
  if (place === undefined) {
    place = { settings, isolation, groups: new Map() }
    places.set(key, place)
  }
  const { groups } = place
  const difference = groups.size === 0 ? null : whyApart(key, place, settings, isolation)
  if (difference !== null) throw difference
  groups.set(settings.group, settings)
  return () => {
    if (groups.get(settings.group) !== settings) return
    groups.delete(settings.group)
    if (groups.size === 0) places.delete(key)
  }
}

function whyApart(
  key: string,
  { settings: first, isolation: firsts, groups }: SharedAddress,
  settings: NetworkElectionSettings,
  isolation: Isolation,
): InvalidOptionsError | null {
  const { group, id, keys, secrecy } = settings
  if (groups.has(group))
    return new InvalidOptionsError('group', `this process is in ${JSON.stringify(group)} already`)
  const [other] = groups.keys()
  const apart = (field: string, ours: string, theirs: string): InvalidOptionsError =>
    new InvalidOptionsError(
      field,
      `${ours} here and ${theirs} in ${JSON.stringify(other)}, which this process has joined at the same address, ${key}: say the same, or listen elsewhere`,
    )
  if (id !== first.id) return apart('id', id, first.id)
  const isSameKey =
    keys.length === first.keys.length &&
    keys.every((each, index) => Buffer.compare(each, first.keys[index] ?? new Uint8Array()) === 0)
  if (!isSameKey) return apart('key', 'one', 'another')
  if (secrecy !== first.secrecy) return apart('secrecy', String(secrecy), String(first.secrecy))
  return isolation === firsts ? null : apart('isolation', isolation, firsts)
}
