/** Assumptions about stores that cannot be verified from outside. Every guarantee rests on them. */
import type { StoreConfig } from './config.ts'
import type { StoreKind } from './store.ts'

const FLUSHED = 'the disk does not lose what it said it has flushed'

export const ASSUMPTIONS: { readonly [kind in StoreKind]: readonly string[] } = {
  memory: ['it need not outlive this process'],
  file: [FLUSHED],
  postgres: [
    'after a failover the old primary is fenced, and the new one was replicated to synchronously',
    FLUSHED,
  ],
  redis: ['it is not made a replica, its keys are not deleted, and no old copy is restored', FLUSHED],
  etcd: [
    'it runs without --unsafe-no-fsync and is not restored from an old snapshot',
    'the disks do not lose what they said they have flushed',
  ],
  nats: [
    'the server flushes before it answers (sync_interval: always, from NATS 2.10 on): by default a crash of its machine, though not of the server alone, loses up to two minutes of writes, and no client can see the setting',
  ],
  s3: [
    'reads are strongly consistent: no cache or content network before it, no bucket that is replicated from another',
  ],
}

/** For folders, depending on mount and mode. */
export const LOCAL_MOUNT = 'all nodes run on this host (a disk mounted on two hosts is not a register)'
export const NETWORK_MOUNT =
  'the server writes before it answers (export option sync), and every host mounts it alike'
export const SECTOR_LOCK =
  'each id runs on one host and in one network namespace: the lock reaches no further'

/** From the configuration alone, without opening the store. */
export function assumptionsOf(store: StoreConfig): readonly string[] {
  const general = ASSUMPTIONS[store.kind]
  if (store.kind !== 'file') return general
  const mount = store.mountOptions === undefined ? LOCAL_MOUNT : NETWORK_MOUNT
  return [mount, ...general, ...(store.mode === 'sector' ? [SECTOR_LOCK] : [])]
}
