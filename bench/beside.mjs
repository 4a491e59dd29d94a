// npm run bench -- beside [SPANS] [SECONDS] [WARM_S] NAME=FOLDER[+FLAG...]...: what idle groups of three agents cost, with
// this build or with the builds in other checkouts, all at the same time. Figures of different runs do not compare,
// because machines are not equally fast at all times; figures of one span do.
//
//   npm run bench -- beside 3 60 150 now=. before=../before fixed=.+--timing+fixed
/* oxlint-disable no-await-in-loop -- one span after the other is what is measured */
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findFreePorts } from '../dist/service/chaos/free-ports.js'
import { endAll, makeFolder } from './adaptive-load.mjs'
import { cpuSeconds, untilLed } from './idle.mjs'

const IDS = ['n1', 'n2', 'n3']

/** `.+--timing+fixed`: the checkout in this folder, and flags for its agents. */
function parseBuild(word) {
  const [name, build = '.'] = word.split('=')
  const [folder, ...flags] = build.split('+')
  const command = join(resolve(folder), 'bin/conclave')
  if (!existsSync(command)) throw new Error(`${word}: ${command} does not exist; use NAME=FOLDER[+FLAG...]`)
  return { name, command, flags }
}

async function startAgents({ name, command, flags }, folder) {
  const [udp, http] = await Promise.all([findFreePorts(IDS.length, 'udp'), findFreePorts(IDS.length, 'tcp')])
  const children = IDS.map((id, index) => {
    const peers = IDS.flatMap((other, place) =>
      place === index ? [] : ['--peer', `${other}=127.0.0.1:${udp[place]}`],
    )
    const own = ['--id', id, '--listen', `127.0.0.1:${udp[index]}`, '--http', `127.0.0.1:${http[index]}`]
    const files = ['--key-file', join(folder, 'key'), '--data', join(folder, `${name}-${id}`)]
    const words = ['agent', '--group', name, ...own, ...files, ...peers, ...flags]
    return spawn(process.execPath, [command, ...words], { stdio: 'ignore' })
  })
  return { name, children, url: `http://127.0.0.1:${http[0]}` }
}

const spentBy = ({ children }) => children.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)

export async function printBeside(...words) {
  const numbers = words.filter((word) => typeof word === 'number')
  const builds = words.filter((word) => typeof word === 'string').map(parseBuild)
  const [spans = 3, seconds = 60, warmSeconds = 150] = numbers
  if (builds.length === 0) builds.push(parseBuild('adaptive=.'), parseBuild('fixed=.+--timing+fixed'))
  const folder = makeFolder()
  const groups = []
  try {
    for (const build of builds) groups.push(await startAgents(build, folder))
    for (const { url } of groups) await untilLed(url)
    console.log(
      `idle groups of three agents at the same time, in % of a core for all three; spans of ${seconds} s, after ${warmSeconds} s; in brackets: part of the first group's`,
    )
    await sleep(warmSeconds * 1000)
    for (let span = 1; span <= spans; span++) {
      const before = groups.map(spentBy)
      const began = performance.now()
      await sleep(seconds * 1000)
      const passed = (performance.now() - began) / 1000
      const costs = groups.map((group, index) => (100 * (spentBy(group) - before[index])) / passed)
      const shown = groups.map(
        ({ name }, index) => `${name} ${costs[index].toFixed(2)} (${(costs[index] / costs[0]).toFixed(2)})`,
      )
      console.log(`  span ${span}: ${shown.join(', ')}`)
    }
  } finally {
    await endAll(groups.flatMap(({ children }) => children))
    rmSync(folder, { recursive: true, force: true })
  }
}
