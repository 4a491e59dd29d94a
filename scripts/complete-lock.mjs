// Adds to package-lock.json the optional packages of other platforms that a registry did not offer when the lock file
// was written: without them `npm ci` refuses it. Run it after changing dependencies: node scripts/complete-lock.mjs
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))
const systems = [
  'aix',
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'win32',
]
const processors = [
  'arm64',
  'x64',
  'ia32',
  'arm',
  'ppc64',
  's390x',
  'riscv64',
  'loong64',
  'mips64el',
  'wasm32',
]

/** What the name of a platform package says about where it runs. */
function platformOf(name) {
  const words = name.split(/[/-]/)
  const cpu = processors.find((each) => words.includes(each)) ?? 'wasm32'
  const os = systems.find((each) => words.includes(each))
  const libc = words.some((word) => word.startsWith('musl')) ? 'musl' : 'glibc'
  return {
    cpu: [cpu],
    ...(os === undefined ? {} : { os: [os] }),
    ...(os === 'linux' ? { libc: [libc] } : {}),
  }
}

let added = 0
for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const place = `node_modules/${name}`
    if (lock.packages[place] !== undefined) continue
    lock.packages[place] = { version, ...platformOf(name), dev: true, optional: true }
    added += 1
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
console.log(`${added} packages of other platforms added`)
