// Failover and hand-over of leases that tune themselves, beside fixed leases, etcd, the recipe of Redis and keepalived, and
// a witness: no leader writes its token after a later leader has written.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { install } from '../scripts/servers/install.mjs'
import { onPath } from '../scripts/servers/recipes.mjs'
import { conclave, etcd, hold, MEMORY, measure, print, printHeading, withServer } from './failover.mjs'
import { withNamespaces } from './namespaces.mjs'

const MOST_FAST_MS = 45
const MOST_LAN_MS = 80
const MOST_HAND_OVER_MS = 5
/** After a failure a group needs some seconds until its leases are as short as before. */
const REST_MS = 6000
const CONTENDERS = 3

/** The tokens in the order in which leaders wrote them. Counts terms, and writes by a leader that was not the last one. */
function judge(file) {
  let terms = 0
  let newest = 0
  let late = 0
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue
    const token = Number(line.split(' ')[1])
    if (token > newest) terms += 1
    if (token < newest) late += 1
    newest = Math.max(newest, token)
  }
  return { terms, late }
}

function median(list) {
  const known = list.filter((each) => each !== null).sort((a, b) => a - b)
  return known[known.length >> 1] ?? null
}

async function ours(name, settings, where, kills, hands, restMs) {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-witness-'))
  const witness = join(folder, 'witness')
  try {
    const measured = await conclave({ ...settings, witness }, where, kills, hands, restMs)
    const medians = print(name, measured)
    const leaseMs = median(measured.leases)
    const { terms, late } = judge(witness)
    const length = leaseMs === null ? '' : `median lease of a killed leader ${leaseMs.toFixed(0)} ms; `
    console.log(`  ${length}witness: ${terms} terms, ${late} writes after a later leader's`)
    return { ...medians, terms, late }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function keepalived(times) {
  if (process.getuid?.() !== 0) return { missing: 'only root can make network namespaces' }
  const problem = onPath('keepalived') === null ? install('keepalived') : null
  if (problem !== null) return { missing: problem }
  const folder = mkdtempSync(join(tmpdir(), 'conclave-keepalived-'))
  try {
    return await withNamespaces(CONTENDERS, (names) =>
      measure(
        (index) => ['keepalived', names[index], folder, String(index), String(CONTENDERS)],
        times,
        times,
      ),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `kills`: of each group of Conclave. `restSeconds`: at least so long a leader leads before it is killed. */
export async function printAdaptiveFailover(kills, others, restSeconds = REST_MS / 1000) {
  const hands = Math.min(kills, Math.max(others, 20))
  console.log(`next leader of ${CONTENDERS} processes, ms; Conclave ${kills} kills, the others ${others}`)
  printHeading()
  const where = existsSync(MEMORY) ? MEMORY : tmpdir()
  const restMs = restSeconds * 1000
  const fast = await ours('Conclave, fast, data in memory', { profile: 'fast' }, where, kills, hands, restMs)
  const lan = await ours('Conclave, lan', {}, tmpdir(), kills, hands, restMs)
  const fixed = { timing: 'fixed' }
  const before = await ours('Conclave, lan, fixed timing', fixed, tmpdir(), others, others, 500)
  print(
    'etcd, heartbeat 10, election 100, least TTL',
    await etcd(others, '1', ['--heartbeat-interval', '10', '--election-timeout', '100']),
  )
  print(
    'Redis, SET NX PX 1000, tried every 50',
    await withServer('redis', [], others, (host, port) => ['redis', host, port, '1000', '50']),
  )
  print('keepalived, VRRP 3, every 10', await keepalived(others))
  hold(`median failover with fast at most ${MOST_FAST_MS} ms`, fast.failOver, MOST_FAST_MS)
  hold(`median hand-over with fast at most ${MOST_HAND_OVER_MS} ms`, fast.handOver, MOST_HAND_OVER_MS)
  hold(`median failover with lan at most ${MOST_LAN_MS} ms`, lan.failOver, MOST_LAN_MS)
  const late = fast.late + lan.late + before.late
  hold(`writes after a later leader's in ${fast.terms + lan.terms + before.terms} terms`, late, 0)
}
