/** The kustomize base: built by kubectl, and checked for what no schema can say: that names, ports and labels match. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { openApi } from '../../src/service/agent/openapi.ts'
import { parseConfig } from '../../src/service/config/file.ts'
import { isVariable, unknownFlags } from '../support/command-lines.ts'
import { ROOT } from '../support/documents.ts'
import { findTool } from '../support/servers.ts'

const KUBERNETES = join(ROOT, 'deploy/kubernetes')
const BASE = join(KUBERNETES, 'base')

type Labels = { readonly [name: string]: string }
type Port = {
  readonly name: string
  readonly port?: number
  readonly containerPort?: number
  readonly protocol?: string
  readonly targetPort?: string | number
}
type Probe = { readonly httpGet: { readonly path: string; readonly port: string } }
type Container = {
  readonly image: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string }[]
  readonly ports: readonly Port[]
  readonly startupProbe: Probe
  readonly readinessProbe: Probe
  readonly livenessProbe: Probe
  readonly securityContext: { readonly readOnlyRootFilesystem: boolean }
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
}
type Volume = {
  readonly name: string
  readonly configMap?: { readonly name: string }
  readonly secret?: { readonly secretName: string }
}
type Manifest = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Labels; readonly namespace?: string }
  readonly data?: { readonly [name: string]: string }
  readonly spec: {
    readonly serviceName?: string
    readonly clusterIP?: string
    readonly publishNotReadyAddresses?: boolean
    readonly replicas: number
    readonly maxUnavailable?: number
    readonly ports: readonly Port[]
    readonly selector: Labels & { readonly matchLabels: Labels }
    readonly template: {
      readonly metadata: { readonly labels: Labels; readonly annotations: Labels }
      readonly spec: {
        readonly securityContext: { readonly runAsUser: number; readonly runAsNonRoot: boolean }
        readonly containers: readonly [Container]
        readonly volumes: readonly Volume[]
      }
    }
    readonly volumeClaimTemplates: readonly { readonly metadata: { readonly name: string } }[]
  }
}

const parse = (text: string): readonly Manifest[] =>
  parseAllDocuments(text).map((document) => document.toJS() as Manifest)

const files = readdirSync(BASE).filter((name) => !['kustomization.yaml', 'conclave.yaml'].includes(name))
const base = files.flatMap((name) => parse(readFileSync(join(BASE, name), 'utf8')))
const named = (kind: string, name: string): Manifest =>
  base.find((each) => each.kind === kind && each.metadata.name === name) as Manifest

const set = named('StatefulSet', 'conclave')
const pod = set.spec.template.spec
const [container] = pod.containers
const config = parseConfig('conclave.yaml', readFileSync(join(BASE, 'conclave.yaml'), 'utf8')).fields
const portNamed = (name: string): Port | undefined => container.ports.find((port) => port.name === name)

describe('deploy/kubernetes/base', () => {
  it('selects the pods by labels that they have', () => {
    const { labels } = set.spec.template.metadata
    const selectors = base.map(({ kind, spec }) =>
      kind === 'Service' ? spec.selector : spec.selector.matchLabels,
    )
    expect(selectors).toEqual([labels, labels, labels, labels])
  })

  it('has a headless service with the names and ports of the peers', () => {
    const service = named('Service', set.spec.serviceName ?? '')
    expect([service.spec.clusterIP, service.spec.publishNotReadyAddresses]).toEqual(['None', true])
    const { containerPort: port } = portNamed('election') ?? {}
    expect(config['listen']).toBe(`0.0.0.0:${port}`)
    const peer = (index: number): string =>
      `conclave-${index}=conclave-${index}.${service.metadata.name}:${port}`
    expect(config['peers']).toEqual(Array.from({ length: set.spec.replicas }, (_, index) => peer(index)))
  })

  it('serves the ports of the container under the same names', () => {
    const services = base.filter(({ kind }) => kind === 'Service')
    for (const { name, port, protocol, targetPort } of services.flatMap(({ spec }) => spec.ports)) {
      expect(portNamed(String(targetPort ?? name))).toMatchObject({ containerPort: port })
      expect(portNamed(name)?.protocol).toBe(protocol)
    }
  })

  it('probes paths that exist, at the address of the pod, and never leadership', () => {
    const probes = [container.startupProbe, container.readinessProbe, container.livenessProbe]
    expect(probes.map(({ httpGet }) => httpGet.path)).toEqual(['/healthz', '/readyz', '/healthz'])
    const paths = Object.keys((openApi('') as { readonly paths: object }).paths)
    for (const { httpGet } of probes) {
      expect(paths).toContain(httpGet.path)
      expect(config['http']).toBe(`0.0.0.0:${portNamed(httpGet.port)?.containerPort}`)
    }
    expect(set.spec.template.metadata.annotations['prometheus.io/port']).toBe(
      String(portNamed('http')?.containerPort),
    )
  })

  it('starts the agent with existing flags and variables', () => {
    expect(unknownFlags(['conclave', ...container.args])).toEqual([])
    expect(container.env.filter(({ name }) => !isVariable(name))).toEqual([])
  })

  it('mounts every file that the configuration names, and every volume', () => {
    const volumes = [...pod.volumes, ...set.spec.volumeClaimTemplates.map(({ metadata }) => metadata)]
    const mounts = container.volumeMounts
    expect(mounts.map(({ name }) => name).toSorted()).toEqual(volumes.map(({ name }) => name).toSorted())
    const needed = [config['keyFile'], config['adminTokenFile'], config['data'], container.args.at(-1)]
    const isMounted = (file: unknown): boolean =>
      mounts.some(({ mountPath }) => String(file) === mountPath || String(file).startsWith(`${mountPath}/`))
    expect(needed.filter((file) => !isMounted(file))).toEqual([])
  })

  it('runs as the user of the image, and survives the drain of a machine', () => {
    const dockerfile = readFileSync(join(ROOT, 'deploy/docker/Dockerfile'), 'utf8')
    expect(dockerfile).toContain(`\nUSER ${pod.securityContext.runAsUser}:`)
    expect(pod.securityContext.runAsNonRoot).toBe(true)
    const budget = named('PodDisruptionBudget', 'conclave').spec.maxUnavailable ?? 0
    expect(set.spec.replicas - budget).toBeGreaterThan(set.spec.replicas / 2)
  })
})

const kubectl = await findTool('kubectl')
const version =
  kubectl.missing === undefined ? execFileSync(kubectl.program, ['version', '--client', '-o', 'json']) : ''
const missing =
  kubectl.missing ??
  (version.includes('kustomizeVersion') ? undefined : 'kubectl is older than 1.21: its kustomize is too old')

describe.skipIf(missing !== undefined)(
  `kubectl kustomize${missing === undefined ? '' : ` (${missing})`}`,
  () => {
    const folder = missing === undefined ? mkdtempSync(join(tmpdir(), 'conclave-kustomize-')) : ''
    afterAll(() => rmSync(folder, { recursive: true, force: true }))
    const build = (): { readonly status: number | null; readonly all: readonly Manifest[]; said: string } => {
      const words = ['kustomize', join(folder, 'example')]
      const { status, stdout, stderr } = spawnSync(kubectl.program, words, { encoding: 'utf8' })
      return { status, all: parse(stdout), said: stderr }
    }

    it('builds the example once its secrets exist, without complaints', () => {
      cpSync(KUBERNETES, folder, { recursive: true })
      expect(build()).toMatchObject({ status: 1 })
      for (const name of ['key', 'admin-token']) writeFileSync(join(folder, 'example', name), 'a secret')
      const { status, all, said } = build()
      expect([status, said]).toEqual([0, ''])
      expect(all.map(({ kind }) => kind).toSorted()).toEqual([
        'ConfigMap',
        'PodDisruptionBudget',
        'Secret',
        'Service',
        'Service',
        'StatefulSet',
      ])
      expect(all.filter(({ metadata }) => metadata.namespace !== 'conclave')).toEqual([])
      const of = (kind: string): Manifest => all.find((each) => each.kind === kind) as Manifest
      const { volumes, containers } = of('StatefulSet').spec.template.spec
      expect(volumes.flatMap(({ configMap }) => configMap?.name ?? [])).toEqual([
        of('ConfigMap').metadata.name,
      ])
      expect(volumes.flatMap(({ secret }) => secret?.secretName ?? [])).toEqual([of('Secret').metadata.name])
      expect(containers[0].image).toBe('registry.example.com/conclave:0.1.0')
      expect(Object.keys(of('Secret').data ?? {}).toSorted()).toEqual(['admin-token', 'key'])
    })
  },
)
