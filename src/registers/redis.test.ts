import { conformance } from '../../test/support/conformance.ts'
import { describeWith } from '../../test/support/servers.ts'
import { openRedis } from './redis.ts'

await describeWith('redis', 'Redis', (url) => {
  conformance('a hash', { open: (group) => openRedis({ url, prefix: 'conclave', acceptWeak: false }, group) })
})
