import { expect, it } from 'vitest'
import { ASSUMPTIONS, assumptionsOf, LOCAL_MOUNT, NETWORK_MOUNT, SECTOR_LOCK } from './assumptions.ts'
import { parseStore } from './config.ts'

it.each<[string, readonly string[]]>([
  ['memory:', ASSUMPTIONS.memory],
  ['file:/s', [LOCAL_MOUNT, ...ASSUMPTIONS.file]],
  ['file:/s?mode=sector', [LOCAL_MOUNT, ...ASSUMPTIONS.file, SECTOR_LOCK]],
  ['file:/s?mountOptions=noac', [NETWORK_MOUNT, ...ASSUMPTIONS.file]],
  ['file:/s?mode=sector&mountOptions=noac', [NETWORK_MOUNT, ...ASSUMPTIONS.file, SECTOR_LOCK]],
  ['postgres://h/db', ASSUMPTIONS.postgres],
  ['redis://h?acceptWeak=true', ASSUMPTIONS.redis],
  ['etcd://h', ASSUMPTIONS.etcd],
  ['nats://h', ASSUMPTIONS.nats],
  ['s3://b', ASSUMPTIONS.s3],
])('%s assumes what cannot be verified', (url, expected) => {
  expect(assumptionsOf(parseStore(url))).toEqual(expected)
})

it.each<[keyof typeof ASSUMPTIONS, RegExp]>([
  ['postgres', /failover the old primary is fenced/],
  ['redis', /not made a replica/],
  ['etcd', /--unsafe-no-fsync/],
  ['nats', /sync_interval: always/],
  ['s3', /strongly consistent/],
])('%s names its main risk first', (kind, risk) => {
  expect(ASSUMPTIONS[kind][0]).toMatch(risk)
})
