import { conformance } from '../../test/support/conformance.ts'
import { describeWith } from '../../test/support/servers.ts'
import { openEtcd } from './etcd.ts'

await describeWith('etcd', 'etcd', (url) => {
  const endpoints = [url.replace('etcd:', 'http:')]
  conformance('a range of keys', { open: (group) => openEtcd({ endpoints, prefix: '/conclave' }, group) })
})
