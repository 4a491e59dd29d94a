// One node of bench/recovery-checkpoint.mjs, a process of its own: stores columns on disk and serves them. Its parent
// tells it the ports of the others, and makes one of them store and restore checkpoints.
/* oxlint-disable no-await-in-loop -- one write after the other */
import { randomFillSync } from 'node:crypto'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Checkpoints, describePayload } from '../dist/service/recovery/checkpoints/index.js'
import { openDiskStore } from '../dist/service/recovery/store/index.js'
import { ColumnClient, ColumnOffers, ColumnServer } from '../dist/service/recovery/transport/index.js'

const [folder, name, keyText] = process.argv.slice(2)
const self = Number(name)
const keys = [Buffer.from(keyText, 'hex')]
/** Columns of the first group are written over the files of dropped ones, those of the second into new files. */
const SPARE_BYTES = { recycled: 2 ** 30, new: 0 }
const TOKEN = 1
const WRITE_BYTES = 1024 * 1024

let ports = new Map()
const offers = new ColumnOffers()
const client = new ColumnClient({
  self,
  keys,
  addressOf: (node) => ({ host: '127.0.0.1', port: ports.get(node) }),
  offers,
})
const fetch = client.fetchOffered.bind(client)
const server = await ColumnServer.listen({ self, host: '127.0.0.1', port: 0, keys, offers, fetch })
const allow = async () => ({ ok: true })
const checkpoints = {}
for (const [group, maxSpareBytes] of Object.entries(SPARE_BYTES)) {
  const store = await openDiskStore({ folder: join(folder, group), maxSpareBytes })
  server.serve(group, { store, gate: { mayStore: allow, mayRead: allow, recordStored: allow } })
  checkpoints[group] = new Checkpoints({
    self,
    group,
    store,
    client,
    getToken: () => TOKEN,
    recordStored: allow,
  })
}
let payload = new Uint8Array()
let filler = new Uint8Array()

const orders = {
  async meet({ peers }) {
    ports = new Map(peers)
  },
  async fill({ bytes }) {
    payload = randomFillSync(new Uint8Array(bytes))
  },
  /** As many bytes as a column has, written as a column is, without anything else. */
  async write({ size }) {
    if (filler.length !== size) filler = randomFillSync(new Uint8Array(size))
    const file = join(folder, 'plain')
    const handle = await open(`${file}.new`, 'w')
    for (let at = 0; at < size; at += WRITE_BYTES)
      await handle.write(filler, at, Math.min(WRITE_BYTES, size - at))
    await handle.datasync()
    await handle.close()
    await rename(`${file}.new`, file)
    const parent = await open(folder, 'r')
    await parent.sync()
    await parent.close()
    await rm(file)
  },
  async store({ group, epoch, code, holders }) {
    const from = performance.now()
    const described = await describePayload(payload)
    const digestMs = performance.now() - from
    const id = { job: 'bench', assignment: [TOKEN, 0], epoch, token: TOKEN }
    const plan = { id, code, holders, ...described }
    const { columns, problems } = await checkpoints[group].upload(plan, payload)
    if (columns.length !== holders.length) throw new Error(JSON.stringify(problems))
    return { ms: performance.now() - from, digestMs, commit: plan }
  },
  async restore({ group, commit, sources }) {
    const from = performance.now()
    const restored = await checkpoints[group].restore(commit, sources)
    return { ms: performance.now() - from, bad: restored.bad }
  },
  async drop({ group, ids }) {
    await checkpoints[group].drop(ids)
  },
  async cpu() {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  },
}

process.on('message', async ({ order, ...rest }) => {
  try {
    process.send({ reply: (await orders[order](rest)) ?? null })
  } catch (error) {
    process.send({ error: String(error) })
  }
})
// A node ends with its parent.
process.on('disconnect', () => process.exit())
process.send({ port: server.address.port })
