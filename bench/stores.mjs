// npm run bench -- stores [TIMES]: the protocol epochs on a folder and on PostgreSQL, LAN profile (lease 650 ms): time to
// the next leader, next to etcd's own election; and store accesses per renewal.
/* oxlint-disable no-await-in-loop -- one thing after the other is what is measured */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openEpochs } from '../dist/protocols/epochs/open-group.js'
import { protocolNamed } from '../dist/protocols/index.js'
import { createRegisterCalls, openRegisters, openStore, parseStore } from '../dist/service/registers/index.js'
import { Loop, memoryStorage, openHostClock } from '../dist/service/runtime/index.js'
import { startServer, whyMissing } from '../scripts/servers/keeper.mjs'
import { RECIPES } from '../scripts/servers/recipes.mjs'
import { etcd, hold, measure, print, printHeading } from './failover.mjs'
import { printHundred } from './hundred.mjs'

const LEASE_MS = 500 + 6 * 25 * 1.001
const MOST_PART_OF_LEASE = 1.2
const RENEWALS = 20

/** Store accesses of a leader in RENEWALS renewals: a counting store under the real registers and loop. */
async function countRenewals(url, members) {
  const store = await openStore(parseStore(url), 'count')
  const counted = { reads: 0, writes: 0 }
  const counting = {
    facts: store.facts,
    read: (signal) => ((counted.reads += 1), store.read(signal)),
    write: (...words) => ((counted.writes += 1), store.write(...words)),
    remove: (...words) => store.remove(...words),
    close: () => store.close(),
  }
  for (const self of members.slice(1)) {
    const other = openRegisters(await openStore(parseStore(url), 'count'), {
      self,
      timeoutMs: 5000,
      probeMs: 50,
    })
    await other.claim()
    await other.close()
  }
  const registers = openRegisters(counting, { self: members[0], timeoutMs: 5000, probeMs: 50 })
  await registers.claim()
  const options = protocolNamed('epochs').options(members).parse({ periodMs: 150, accessMs: 20 })
  const clock = openHostClock()
  const epoch = () => loop.view().detail.epoch
  const loop = new Loop(openEpochs(members[0], members, options), clock, memoryStorage(), {
    send() {},
    output() {},
    trouble() {},
    failed(error) {
      throw error
    },
    register: (call) => execute(call),
  })
  const execute = createRegisterCalls(registers, {
    deliver: (input) => loop.answer(input),
    onFailure(error) {
      throw error
    },
  })
  loop.start()
  const isIdle = () =>
    loop.view().role === 'leader' &&
    loop.inspect(({ inner }) => inner.status === 'Leader' && inner.writing === null)
  const reach = async (isSo) => {
    while (!(isSo() && isIdle())) await sleep(1)
  }
  await reach(() => epoch() >= 3)
  const before = { ...counted, epoch: epoch() }
  await reach(() => epoch() >= before.epoch + RENEWALS)
  // Before closing: releasing the id is a write as well, but not a renewal.
  const { reads, writes } = counted
  const renewals = epoch() - before.epoch
  loop.stop()
  await registers.close()
  clock.close()
  return { renewals, reads: reads - before.reads, writes: writes - before.writes }
}

async function onStore(name, url, times) {
  const measured = await measure((index) => ['epochs', `n${index}`, url], times)
  const medians = print(`Conclave, epochs on ${name}`, measured)
  const most = MOST_PART_OF_LEASE * LEASE_MS
  hold(
    `median failover on ${name} at most ${MOST_PART_OF_LEASE} of the lease (${most.toFixed(0)} ms)`,
    medians.failOver,
    most,
  )
  for (const nodes of [3, 100]) {
    const members = Array.from({ length: nodes }, (_, index) => `m${index}`)
    const { renewals, reads, writes } = await countRenewals(url, members)
    console.log(
      `${reads === renewals && writes === renewals ? 'kept  ' : 'MISSED'}  a renewal among ${nodes} nodes on ${name} is one write and one read round: ${writes} and ${reads} in ${renewals} renewals`,
    )
  }
}

export async function printStores(times) {
  console.log(`next leader of 3 processes in a store; ms; ${times} times`)
  printHeading()
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'))
  try {
    await onStore('file', `file:${folder}`, times)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const missing = whyMissing(RECIPES.postgres)
  if (missing === null) {
    const server = await startServer('postgres')
    try {
      await onStore('PostgreSQL', server.url, times)
    } finally {
      await server.end()
    }
    await printHundred()
  } else console.log(`PostgreSQL: not measured: ${missing}`)
  print("etcd's own election, default, least TTL (1 s)", await etcd(Math.ceil(times / 2), '1', []))
}
