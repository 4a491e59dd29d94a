import { conformance } from '../../test/support/conformance.ts'
import { describeWith } from '../../test/support/servers.ts'
import { openNats } from './nats.ts'

await describeWith('nats', 'NATS', (url) => {
  conformance('a bucket', {
    open: (group) => openNats({ url, bucket: 'conclave', acceptWeak: false }, group),
  })
})
