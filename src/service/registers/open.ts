/** Opens a store from its configuration. Backends are loaded on demand. */
import type { StoreConfig } from './config.ts'
import { InvalidStoreError } from './errors.ts'
import { type Memory, openMemory } from './memory.ts'
import type { CellStore } from './store.ts'

/** Shared by all memory stores of this process. */
const MEMORY: Memory = new Map()

/**
 * Connects, inspects the store, and throws if it is unsuitable: see errors.ts. `limitMs` is the timeout of a call; servers
 * that support it get the same timeout. `isTrial`: a table or bucket that is missing is not created. Another one takes its
 * place, and is removed when the store is closed.
 */
export async function openStore(
  config: StoreConfig,
  group: string,
  limitMs?: number,
  isTrial = false,
): Promise<CellStore> {
  switch (config.kind) {
    case 'memory':
      return openMemory(MEMORY, group)
    case 'file':
      return (await import('./file.ts')).openFile(config, group)
    case 'postgres':
      return (await import('./postgres.ts')).openPostgres(config, group, limitMs, isTrial)
    case 'redis':
      return (await import('./redis.ts')).openRedis(config, group)
    case 'etcd':
      return (await import('./etcd.ts')).openEtcd(config, group)
    case 'nats':
      return (await import('./nats.ts')).openNats(config, group, isTrial)
    default: {
      const { accessKeyId = fromEnvironment('AWS_ACCESS_KEY_ID'), ...rest } = config
      const { secretAccessKey = fromEnvironment('AWS_SECRET_ACCESS_KEY') } = config
      const { sessionToken = process.env['AWS_SESSION_TOKEN'] } = config
      return (await import('./s3.ts')).openS3({ ...rest, accessKeyId, secretAccessKey, sessionToken }, group)
    }
  }
}

function fromEnvironment(name: string): string {
  const value = process.env[name]
  if (value === undefined || value === '')
    throw new InvalidStoreError('store', `set ${name} in the environment`)
  return value
}
