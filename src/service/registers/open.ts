/** A store by its description. A backend is loaded only when it is asked for. */
import type { StoreConfig } from './config.ts'
import { InvalidStoreError } from './errors.ts'
import { type Memory, openMemory } from './memory.ts'
import type { CellStore } from './store.ts'

/** What stores of kind `memory` in this process share. */
const MEMORY: Memory = new Map()

/**
 * Connects, finds out what the store is, and throws what is wrong with it: see errors.ts. `limitMs`: how long a call is
 * waited for; a server that can be told so does not go on with it after that.
 */
export async function openStore(config: StoreConfig, group: string, limitMs?: number): Promise<CellStore> {
  switch (config.kind) {
    case 'memory':
      return openMemory(MEMORY, group)
    case 'file':
      return (await import('./file.ts')).openFile(config, group)
    case 'postgres':
      return (await import('./postgres.ts')).openPostgres(config, group, limitMs)
    case 'redis':
      return (await import('./redis.ts')).openRedis(config, group)
    case 'etcd':
      return (await import('./etcd.ts')).openEtcd(config, group)
    case 'nats':
      return (await import('./nats.ts')).openNats(config, group)
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
