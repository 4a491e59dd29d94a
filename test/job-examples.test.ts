/** The host of jobs in a bucket (examples/jobs/kubernetes), with the job that the guide uses. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { ROOT } from './support/documents.ts'
import { ACCESS_KEY, type FakeS3, fakeS3 } from './support/fake-s3.ts'
import { until } from './support/wait.ts'

const HOST = join(ROOT, 'examples/jobs/kubernetes/run-in-bucket.mjs')
const MODULE = join(ROOT, 'examples/jobs/primes.mjs')
const TIMEOUT_MS = 60_000

let s3: FakeS3
beforeEach(async () => {
  s3 = await fakeS3()
})
afterEach(() => s3.end())

function start(input: object) {
  const child = spawn(process.execPath, [HOST, MODULE, 'primes', JSON.stringify(input)], {
    env: {
      ...process.env,
      S3_ENDPOINT: s3.endpoint,
      S3_BUCKET: 'bucket',
      S3_ACCESS_KEY: ACCESS_KEY,
      S3_SECRET_KEY: 'secret',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (data: Buffer) => {
    stdout += data.toString()
  })
  child.stderr.on('data', (data: Buffer) => {
    stderr += data.toString()
  })
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('close', (code, signal) => resolve(code ?? signal)),
  )
  return { child, ended, stdout: () => stdout.trim(), stderr: () => stderr }
}

const outputs = (): readonly string[] =>
  [...s3.objects.keys()].filter((key) => key.startsWith('primes/outputs/'))
const stored = (): { readonly token: number; readonly state: { readonly next: number } | null } =>
  JSON.parse(s3.objects.get('primes/state')?.toString() ?? '{"token":0,"state":null}') as never

it(
  'continues from the last checkpoint after kill -9, and writes every output once',
  async () => {
    const first = start({ below: 60_000, pauseMs: 1000 })
    await until(() => (stored().state?.next ?? 0) >= 20_000)
    first.child.kill('SIGKILL')
    await first.ended
    const second = start({ below: 60_000 })
    expect(await second.ended).toBe(0)
    expect(second.stdout()).toBe('6057')
    expect(second.stderr()).toMatch(/^starts at [2-5]0000$/m)
    expect(outputs()).toHaveLength(6)
    expect(s3.objects.get('primes/outputs/6')?.toString()).toBe('{"below":60000,"primes":6057}')
    expect(stored().token).toBe(2)
  },
  TIMEOUT_MS,
)

it(
  'stops a run that another one has replaced',
  async () => {
    // Long enough that the second run ends first, also on a busy machine.
    const first = start({ below: 60_000, pauseMs: 5000 })
    await until(() => (stored().state?.next ?? 0) >= 10_000)
    const second = start({ below: 60_000 })
    expect(await second.ended).toBe(0)
    expect(await first.ended).toBe(1)
    expect(first.stderr()).toContain('another run has taken over')
    expect(outputs()).toHaveLength(6)
  },
  TIMEOUT_MS,
)

it(
  'prints the result again when it is started after the end',
  async () => {
    expect(await start({ below: 10_000 }).ended).toBe(0)
    const again = start({ below: 10_000 })
    expect(await again.ended).toBe(0)
    expect(again.stdout()).toBe('1229')
    expect(again.stderr()).toBe('')
  },
  TIMEOUT_MS,
)

it('has a manifest that runs this host', () => {
  const [manifest] = parseAllDocuments(
    readFileSync(join(ROOT, 'examples/jobs/kubernetes/job.yaml'), 'utf8'),
  ).map(
    (document) =>
      document.toJS() as {
        readonly spec: {
          readonly template: {
            readonly spec: {
              readonly restartPolicy: string
              readonly containers: readonly { readonly args: readonly string[] }[]
            }
          }
        }
      },
  )
  const pod = manifest?.spec.template.spec
  expect(pod?.restartPolicy).toBe('OnFailure')
  const [, host, module, name, input = ''] = pod?.containers[0]?.args ?? []
  expect([host, module, name]).toEqual(['run-in-bucket.mjs', 'primes.mjs', 'primes'])
  expect(JSON.parse(input)).toEqual({ below: 200_000 })
})
