/** Examples in other languages: a shell script, a Python client, Kubernetes manifests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { openApi } from '../src/service/agent/openapi.ts'
import { stepDown } from '../src/service/client/index.ts'
import { parseConfig } from '../src/service/config/file.ts'
import { CONCLAVE, Workplace } from './support/agents.ts'
import { isVariable, unknownFlags } from './support/command-lines.ts'
import { until } from './support/wait.ts'

const EXAMPLES = new URL('../examples/', import.meta.url).pathname

let place: Workplace
let children: ChildProcess[]

beforeEach(() => {
  place = new Workplace()
  children = []
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await place.close()
})

function started(
  command: string,
  words: readonly string[],
): { readonly process: ChildProcess; ended: Promise<number | null> } {
  const env = { ...process.env, PATH: `${dirname(CONCLAVE)}${delimiter}${process.env['PATH'] ?? ''}` }
  const child = spawn(command, words, { stdio: ['ignore', 'ignore', 'inherit'], env, cwd: place.folder })
  children.push(child)
  return { process: child, ended: new Promise((resolve) => child.once('close', (code) => resolve(code))) }
}

const linesOf = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []

describe('examples/shell', () => {
  it('works while its node leads, and ends on SIGTERM', async () => {
    const text = readFileSync(join(EXAMPLES, 'shell/conclave.yaml'), 'utf8')
    expect(parseConfig('conclave.yaml', text).fields['group']).toBe('nightly')
    writeFileSync(
      place.path('conclave.yaml'),
      text.replace(/^peers.*$/m, '').replace(/^listen.*$/m, 'listen: 127.0.0.1:0\noptions: { sigmaMs: 300 }'),
    )
    const log = place.path('work.log')
    const running = started(join(EXAMPLES, 'shell/start.sh'), ['conclave.yaml', log, '--quiet'])
    await until(() => linesOf(log).length > 2)
    expect(linesOf(log)[0]).toMatch(/^begin 1 on a in nightly, \d+ ms to go$/)
    expect(linesOf(log)[1]).toBe('work 1')
    running.process.kill('SIGTERM')
    expect(await running.ended).toBe(0)
    expect(linesOf(log).at(-1)).toBe('end 1')
  }, 60_000)
})

describe('examples/python', () => {
  it('works with the token of the current term, and never with an older one afterwards', async () => {
    const agent = place.start(
      place.alone('--admin-token-file', place.path('admin'), '--data', place.path('data')),
    )
    await agent.logged('elected')
    const log = place.path('work.log')
    started('python3', [join(EXAMPLES, 'python/leader.py'), '--agent', await agent.url(), '--log', log])
    await until(() => linesOf(log).length > 0)
    const adminToken = 'an admin token of some length'
    const url = await agent.url()
    // On a busy machine the agent may have lost its lease at this moment, and leads again soon.
    const { steppedDown } = await vi.waitFor(() => stepDown({ agent: url, adminToken }), {
      timeout: 25_000,
      interval: 50,
    })
    await until(() => linesOf(log).some((line) => Number(line) > (steppedDown.token ?? 0)))
    const tokens = linesOf(log).map(Number)
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b))
  }, 60_000)
})

type Container = {
  readonly name: string
  readonly command?: readonly string[]
  readonly env?: readonly { readonly name: string }[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
}
type Probe = { readonly httpGet: { readonly path: string; readonly port: string } }
type Manifest = {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: { readonly [file: string]: string }
  readonly spec: {
    readonly serviceName?: string
    readonly replicas?: number
    readonly ports?: readonly { readonly port: number; readonly protocol: string }[]
    readonly template?: {
      readonly spec: {
        readonly containers: readonly Container[]
        readonly volumes: readonly { readonly name: string }[]
      }
    }
    readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[]
  }
}

describe.each(readdirSync(join(EXAMPLES, 'kubernetes')))('examples/kubernetes/%s', (name) => {
  const text = readFileSync(join(EXAMPLES, 'kubernetes', name), 'utf8')
  const documents = parseAllDocuments(text).map((document) => document.toJS() as Manifest)
  const of = (kind: string): Manifest => documents.find((each) => each.kind === kind) as Manifest
  const { template, serviceName, replicas, volumeClaimTemplates = [] } = of('StatefulSet').spec
  const containers = template?.spec.containers ?? []
  const ours = containers.find(({ command = [] }) => command[0] === 'conclave')
  const config = parseConfig(name, of('ConfigMap').data?.['conclave.yaml'] ?? '').fields

  it('starts conclave with existing flags and variables, and probes nothing about leadership', () => {
    expect(unknownFlags(ours?.command ?? [])).toEqual([])
    expect(ours?.env?.map((each) => each.name).filter((each) => !isVariable(each))).toEqual([])
  })

  it('is probed over HTTP at the address of the pod, about its health and never about leadership', () => {
    // Only an agent answers HTTP.
    const isAgent = ours?.command?.[1] === 'agent'
    const probes = [ours?.readinessProbe, ours?.livenessProbe].flatMap((probe) => probe ?? [])
    expect(probes.map(({ httpGet }) => httpGet.path)).toEqual(isAgent ? ['/readyz', '/healthz'] : [])
    for (const { httpGet } of probes) {
      const port = ours?.ports?.find((each) => each.name === httpGet.port)?.containerPort
      expect(config['http']).toBe(`0.0.0.0:${port}`)
      expect(Object.keys((openApi('') as { readonly paths: object }).paths)).toContain(httpGet.path)
    }
  })

  it('uses the mounted files, and the DNS names of its peers', () => {
    const mounts = ours?.volumeMounts ?? []
    const volumes = [
      ...(template?.spec.volumes ?? []),
      ...volumeClaimTemplates.map(({ metadata }) => metadata),
    ]
    expect(mounts.map((mount) => mount.name).toSorted()).toEqual(
      volumes.map((volume) => volume.name).toSorted(),
    )
    const files = [config['keyFile'], config['data'], ours?.command?.[ours.command.indexOf('--config') + 1]]
    for (const file of files) {
      expect(mounts.some(({ mountPath }) => String(file).startsWith(mountPath))).toBe(true)
    }
    const service = of('Service')
    expect(service.metadata.name).toBe(serviceName)
    const port = service.spec.ports?.[0]?.port
    expect(config['listen']).toBe(`0.0.0.0:${port}`)
    const pod = of('StatefulSet').metadata.name
    const expected = Array.from(
      { length: replicas ?? 0 },
      (_, i) => `${pod}-${i}=${pod}-${i}.${serviceName}:${port}`,
    )
    expect(config['peers']).toEqual(expected)
  })
})
