/**
 * The addresses on which this process listens. Groups on one address share its endpoint, so they must agree on its
 * settings. They are joined one after the other, because the first group decides.
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

const addresses = new Map<string, SharedAddress>()
const queues = new Map<string, Promise<unknown>>()

/** Runs `act` after all earlier calls for this address. */
export async function queueAt<T>(
  listen: NetworkElectionSettings['listen'],
  act: () => Promise<T>,
): Promise<T> {
  const place = addressKey(listen)
  if (place === null) return act()
  const before = queues.get(place) ?? Promise.resolve()
  const own = before.then(act, act)
  queues.set(place, own)
  try {
    return await own
  } finally {
    if (queues.get(place) === own) queues.delete(place)
  }
}

/** Aborted attempts to join and closing elections that have not ended yet, by the resources that they hold. */
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

/** Resolves when no aborted attempt and no closing election holds any of these resources. */
export async function waitUntilFree(used: readonly string[]): Promise<void> {
  await Promise.all(used.map((what) => abandoned.get(what) ?? Promise.resolve()))
}

/** The ids of peers by address, as far as the groups on this address know them; null when this process does not listen there. */
export function knownPeersAt(listen: NetworkElectionSettings['listen']): ReadonlyMap<string, string> | null {
  const place = addresses.get(addressKey(listen) ?? '')
  if (place === undefined) return null
  const peers = [...place.groups.values()].flatMap((settings) => settings.peers)
  return new Map(peers.map(({ id, address }) => [showAddress(address), id]))
}

/** Throws InvalidOptionsError when the group cannot share the address. The result releases the claim. */
export function claimAddress(settings: NetworkElectionSettings, isolation: Isolation): () => void {
  const key = addressKey(settings.listen)
  if (key === null) return () => {}
  let place = addresses.get(key)
  if (place === undefined) {
    place = { settings, isolation, groups: new Map() }
    addresses.set(key, place)
  }
  const { groups } = place
  const difference = groups.size === 0 ? null : disagreement(key, place, settings, isolation)
  if (difference !== null) throw difference
  groups.set(settings.group, settings)
  return () => {
    if (groups.get(settings.group) !== settings) return
    groups.delete(settings.group)
    if (groups.size === 0) addresses.delete(key)
  }
}

function disagreement(
  key: string,
  { settings: first, isolation: firsts, groups }: SharedAddress,
  settings: NetworkElectionSettings,
  isolation: Isolation,
): InvalidOptionsError | null {
  const { group, id, keys, secrecy } = settings
  if (groups.has(group))
    return new InvalidOptionsError('group', `this process has already joined ${JSON.stringify(group)}`)
  const [other] = groups.keys()
  const apart = (field: string, ours: string, theirs: string): InvalidOptionsError =>
    new InvalidOptionsError(
      field,
      `is ${ours} here but ${theirs} in ${JSON.stringify(other)}, which this process has joined on the same address, ${key}; use the same value, or another address`,
    )
  if (id !== first.id) return apart('id', id, first.id)
  const isSameKey =
    keys.length === first.keys.length &&
    keys.every((each, index) => Buffer.compare(each, first.keys[index] ?? new Uint8Array()) === 0)
  if (!isSameKey) return apart('key', 'one key', 'another')
  if (secrecy !== first.secrecy) return apart('secrecy', String(secrecy), String(first.secrecy))
  return isolation === firsts ? null : apart('isolation', isolation, firsts)
}
