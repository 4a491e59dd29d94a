/**
 * The Dockerfile, built by buildah. Tests must not need a registry, so the base image is made of this machine's Node.js
 * and shell. Its npm does not download: it copies the build and the packages of this checkout.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { findFreePorts } from '../../src/service/chaos/free-ports.ts'
import { isVariable } from '../support/command-lines.ts'
import { ROOT } from '../support/documents.ts'
import { findTool } from '../support/servers.ts'
import { until } from '../support/wait.ts'

const DOCKERFILE = join(ROOT, 'deploy/docker/Dockerfile')
const TIMEOUT_MS = 180_000

describe('deploy/docker/compose.yaml', () => {
  type Service = {
    readonly environment: { readonly [name: string]: string }
    readonly volumes: readonly string[]
    readonly secrets: readonly string[]
  }
  const { services, volumes, secrets } = parse(
    readFileSync(join(ROOT, 'deploy/docker/compose.yaml'), 'utf8'),
    {
      merge: true,
    },
  ) as { readonly services: { readonly [id: string]: Service }; volumes: object; secrets: object }

  it.each(Object.entries(services))('gives %s its id, its volume and the secrets', (id, service) => {
    expect(service.environment['CONCLAVE_ID']).toBe(id)
    expect(Object.keys(service.environment).filter((name) => !isVariable(name))).toEqual([])
    expect(service.environment['CONCLAVE_PEER']).toContain(`${id}=${id}:7400`)
    expect(service.volumes).toEqual([`${id}:/var/lib/conclave`])
    expect(Object.keys(volumes)).toContain(id)
    expect(service.secrets).toEqual(Object.keys(secrets))
  })
})

const NPM = `#!/usr/local/bin/node
const { cpSync, readFileSync } = require('node:fs')
const { dependencies } = JSON.parse(readFileSync('package.json'))
const copied = new Set()
function copy(name) {
  if (copied.has(name)) return
  copied.add(name)
  const from = '/prepared/node_modules/' + name
  cpSync(from, 'node_modules/' + name, { recursive: true })
  Object.keys(JSON.parse(readFileSync(from + '/package.json')).dependencies ?? {}).forEach(copy)
}
if (process.argv[2] === 'ci') Object.keys(dependencies).forEach(copy)
if (process.argv[2] === 'run') cpSync('/prepared/dist', 'dist', { recursive: true })
`

/** Copies programs and the libraries that they load. */
function copyPrograms(root: string, programs: { readonly [target: string]: string }): void {
  const put = (from: string, to: string): void => {
    if (existsSync(join(root, to))) return
    mkdirSync(dirname(join(root, to)), { recursive: true })
    cpSync(realpathSync(from), join(root, to))
  }
  for (const [target, program] of Object.entries(programs)) {
    put(program, target)
    const libraries = execFileSync('ldd', [program], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
    for (const library of libraries) put(library, library)
  }
}

function makeBase(folder: string): void {
  const root = join(folder, 'root')
  copyPrograms(root, {
    '/usr/local/bin/node': process.execPath,
    ...Object.fromEntries(['sh', 'mkdir', 'chown', 'chmod'].map((name) => [`/bin/${name}`, `/bin/${name}`])),
    '/usr/bin/env': '/usr/bin/env',
  })
  writeFileSync(join(root, 'usr/local/bin/npm'), NPM)
  chmodSync(join(root, 'usr/local/bin/npm'), 0o755)
  for (const name of ['tmp', 'proc', 'dev', 'etc']) mkdirSync(join(root, name), { recursive: true })
  chmodSync(join(root, 'tmp'), 0o1777)
  writeFileSync(
    join(folder, 'Dockerfile'),
    'FROM scratch\nCOPY root /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n',
  )
}

type Image = {
  readonly User: string
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly Healthcheck: { readonly Test: readonly string[] }
  readonly ExposedPorts: object
  readonly Volumes: object
}

const buildah = await findTool('buildah')
/** Containers need rights that a container without privileges does not have. */
const missing = buildah.missing ?? (process.getuid?.() === 0 ? undefined : 'only root can build images here')

describe.skipIf(missing !== undefined)(`the image${missing === undefined ? '' : ` (${missing})`}`, () => {
  const folder = missing === undefined ? mkdtempSync(join(tmpdir(), 'conclave-image-')) : ''
  const store = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run')]
  const run = (...words: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(buildah.program, [...store, ...words], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`buildah ${words.join(' ')}: ${stderr}`)
    return stdout.trim()
  }
  let container = ''

  beforeAll(() => {
    makeBase(folder)
    const build = ['bud', '--isolation', 'chroot', '--format', 'docker']
    run(...build, '-t', 'base', folder)
    const prepared = ['node_modules', 'dist'].flatMap((name) => [
      '--volume',
      `${join(ROOT, name)}:/prepared/${name}:ro`,
    ])
    const words = ['--build-arg', 'NODE_IMAGE=localhost/base', '-f', DOCKERFILE, '-t', 'conclave', ROOT]
    run(...build, ...prepared, ...words)
    container = run('from', 'localhost/conclave')
  }, TIMEOUT_MS)
  afterAll(() => {
    run('rm', '--all')
    rmSync(folder, { recursive: true, force: true })
  }, TIMEOUT_MS)

  it('runs the agent as an unprivileged user, with a health check', () => {
    const { Docker } = JSON.parse(run('inspect', '--type', 'image', 'conclave')) as {
      readonly Docker: { readonly config: Image }
    }
    const { User, Entrypoint, Cmd, Healthcheck, ExposedPorts, Volumes } = Docker.config
    expect({
      User,
      Entrypoint,
      Cmd,
      ports: Object.keys(ExposedPorts),
      volumes: Object.keys(Volumes),
    }).toEqual({
      User: '65532:65532',
      Entrypoint: ['conclave'],
      Cmd: ['agent'],
      ports: ['7400/udp', '7480/tcp'],
      volumes: ['/var/lib/conclave'],
    })
    expect(Healthcheck.Test.slice(0, 2)).toEqual(['CMD', 'node'])
  })

  it(
    'contains what conclave needs, and no sources, tests or development packages',
    () => {
      const list = (path: string): readonly string[] =>
        run(
          'run',
          '--isolation',
          'chroot',
          container,
          '--',
          'node',
          '-p',
          `fs.readdirSync('${path}').join()`,
        ).split(',')
      expect(list('/opt/conclave').toSorted()).toEqual(['bin', 'dist', 'node_modules', 'package.json'])
      expect(list('/opt/conclave/node_modules')).not.toContain('vitest')
      expect(run('run', '--isolation', 'chroot', container, '--', 'conclave', '--version')).toMatch(
        /^\d+\.\d+\.\d+$/,
      )
    },
    TIMEOUT_MS,
  )

  it(
    'is healthy while its agent runs, and not before',
    async () => {
      const [port] = await findFreePorts(1, 'tcp')
      const key = join(folder, 'key')
      writeFileSync(key, 'a key that is long enough for this', { mode: 0o644 })
      const agent = `http://127.0.0.1:${port}`
      const inside = [
        'run',
        '--isolation',
        'chroot',
        '--env',
        `CONCLAVE_AGENT=${agent}`,
        '--volume',
        `${key}:/key:ro`,
      ]
      const { Docker } = JSON.parse(run('inspect', '--type', 'image', 'conclave')) as {
        readonly Docker: { readonly config: Image }
      }
      const check = Docker.config.Healthcheck.Test.slice(1)
      const isHealthy = (): boolean =>
        spawnSync(buildah.program, [...store, ...inside, container, '--', ...check]).status === 0
      expect(isHealthy()).toBe(false)
      const flags = ['--group', 'g', '--id', 'a', '--listen', '127.0.0.1:0', '--http', `127.0.0.1:${port}`]
      const words = [...inside, container, '--', 'conclave', 'agent', ...flags, '--key-file', '/key']
      const child = spawn(buildah.program, [...store, ...words], { stdio: ['ignore', 'ignore', 'pipe'] })
      onTestFinished(async () => {
        child.kill('SIGTERM')
        await new Promise((resolve) => child.once('close', resolve))
      })
      let log = ''
      child.stderr.on('data', (data: Buffer) => (log += data.toString()))
      await until(() => log.includes('"started"') || child.exitCode !== null)
      expect(log).toContain('"started"')
      expect(isHealthy()).toBe(true)
    },
    TIMEOUT_MS,
  )
})
