// Real servers for tests and experiments, on loopback, with data in temporary folders.
//
//   node scripts/servers.mjs postgres redis     starts these, prints their addresses, stops them on Ctrl-C
//   node scripts/servers.mjs --serve            for tests: starts servers on HTTP requests from loopback, prints its own
//                                               address, and stops everything when its standard input ends
//
// Tests also ask for programs that are not servers, such as compilers. A missing program is installed from Debian's
// packages if this process is root; otherwise the reason is printed.
import { createServer } from 'node:http'
import { startServer, whyMissing } from './servers/keeper.mjs'
import { RECIPES } from './servers/recipes.mjs'
import { TOOLS } from './servers/tools.mjs'

const shared = new Map()
const own = new Map()
const starting = new Set()
let isEnding = false

/** One installation at a time: the package manager has one lock. */
let installing = Promise.resolve()
function missing(recipe) {
  const why = installing.then(() => whyMissing(recipe))
  installing = why
  return why
}

/** So that a server which is just being started when all shall end is ended too. */
function tracked(promise) {
  starting.add(promise)
  return promise.finally(() => starting.delete(promise))
}

async function obtain(name, more) {
  const why = await missing(RECIPES[name])
  return why === null ? { server: await tracked(startServer(name, more)) } : { missing: why }
}

async function endAll() {
  isEnding = true
  const late = await Promise.allSettled(starting)
  const sharedOnes = await Promise.allSettled(shared.values())
  const answers = [...late, ...sharedOnes].flatMap(({ value }) => (value === undefined ? [] : [value]))
  const all = new Set([...answers.map((each) => each.server ?? each), ...own.values()])
  await Promise.all([...all].map((server) => server.end?.()))
}

async function answer(request) {
  const [, what, key, action] = request.url.split('/')
  if (isEnding) throw new Error('everything is being ended')
  if (what === 'tool' && key in TOOLS) {
    const why = await missing(TOOLS[key])
    return why === null ? { program: TOOLS[key].program() } : { missing: why }
  }
  if (what === 'shared' && key in RECIPES) {
    if (!shared.has(key)) shared.set(key, obtain(key, []))
    const { server, missing: why } = await shared.get(key)
    return server === undefined ? { missing: why } : { url: server.url }
  }
  if (what === 'own' && key in RECIPES) {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const { server, missing: why } = await obtain(key, JSON.parse(Buffer.concat(chunks).toString()))
    if (server === undefined) return { missing: why }
    const id = String(own.size + 1)
    own.set(id, server)
    return { url: server.url, folder: server.folder, id }
  }
  const server = what === 'server' ? own.get(key) : undefined
  if (server === undefined || !['kill', 'restart', 'pause', 'resume', 'end'].includes(action))
    throw new Error(`${request.url}: no such thing`)
  await server[action]()
  return {}
}

function serve() {
  const server = createServer((request, response) => {
    answer(request).then(
      (value) => response.end(JSON.stringify(value)),
      (error) => {
        response.statusCode = 500
        response.end(JSON.stringify({ error: error.message }))
      },
    )
  })
  server.requestTimeout = 0
  // A connection that the server closes is lost to a test that sends a request at that moment.
  server.keepAliveTimeout = 0
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
  const end = () => endAll().finally(() => process.exit())
  process.stdin.on('end', end).on('error', end).resume()
  // An interrupt at the terminal reaches the whole group; what decides is that the tests are over.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', end)
}

async function start(names) {
  const unknown = names.filter((name) => !(name in RECIPES))
  if (names.length === 0 || unknown.length > 0) {
    console.error(`usage: node scripts/servers.mjs ${Object.keys(RECIPES).join('|')} ...`)
    process.exit(2)
  }
  const end = (code) => endAll().finally(() => process.exit(code))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end(0))
  for (const name of names) shared.set(name, obtain(name, []))
  const answers = await Promise.all(shared.values())
  const absent = answers.flatMap(({ missing: why }) => why ?? [])
  if (absent.length > 0) {
    console.error(absent.join('\n'))
    await end(1)
  }
  for (const { server } of answers) console.log(server.url)
}

if (process.argv[2] === '--serve') serve()
else await start(process.argv.slice(2))
