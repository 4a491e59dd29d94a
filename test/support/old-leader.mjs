// A leader in a process of its own, for tests: writes again and again under its token until it is refused. It says what
// happens, a line each. Arguments: the kind of receiver, its address, the token.
import { setTimeout as sleep } from 'node:timers/promises'

const [kind, address, text] = process.argv.slice(2)
const token = Number(text)
const fence = { resource: 'billing', token }

/** The transaction was idle for too long, or its connection is closed. */
const ENDED_BY_SERVER = ['25P03', 'CONNECTION_CLOSED']

const WRITERS = {
  async postgres() {
    const { default: postgres } = await import('postgres')
    const { fenced } = await import('conclave/fencing/postgres')
    const sql = postgres(address, {
      max: 1,
      onnotice: () => {},
      connection: { idle_in_transaction_session_timeout: 500 },
    })
    return async () => {
      try {
        await fenced(sql, fence, (transaction) => transaction`INSERT INTO ledger (token) VALUES (${token})`)
      } catch (error) {
        // The process may have been stopped in the middle of a transaction, which the server then ends.
        if (!ENDED_BY_SERVER.includes(error.code)) throw error
      }
    }
  },
  async redis() {
    const { Redis } = await import('ioredis')
    const { fenced } = await import('conclave/fencing/redis')
    const redis = new Redis(address)
    return () => fenced(redis, fence, ['ledger'], [['RPUSH', 'ledger', String(token)]])
  },
  async http() {
    return async () => {
      const answer = await fetch(address, { method: 'POST', headers: { 'conclave-token': String(token) } })
      if (answer.ok) return
      const { error, current } = await answer.json()
      throw Object.assign(new Error(error.message), { name: error.code, current, status: answer.status })
    }
  },
  async file() {
    const { openFenced } = await import('conclave/fencing/file')
    const file = await openFenced(address)
    return () => file.append(token, `by ${token}`)
  },
}

/** After these writes it waits for longer: as a rule it is stopped then, and not in the middle of a write. */
const QUICK_WRITES = 3

const write = await WRITERS[kind]()
for (let writes = 1; ; writes++) {
  try {
    // oxlint-disable-next-line no-await-in-loop -- one write after the other
    await write()
    console.log('wrote')
  } catch (error) {
    console.log(JSON.stringify({ refused: error.name, current: error.current }))
    process.exit(error.name === 'StaleTokenError' ? 5 : 1)
  }
  // oxlint-disable-next-line no-await-in-loop -- one write after the other
  await sleep(writes < QUICK_WRITES ? 5 : 1000)
}
