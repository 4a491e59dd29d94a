// How each server is found, started on loopback with its data in a folder of its own, and asked whether it is ready.
// One entry a server; nothing here starts anything by itself.
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join } from 'node:path'

/** The name and password of the superuser in the PostgreSQL that is started. */
const USER = 'conclave'
const PASSWORD = 'a password for tests'

export function onPath(name) {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/sbin']
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
  return found ?? null
}

/** Debian keeps the server's programs out of the path, one folder a version: the newest counts. */
function postgresProgram(name) {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  const found = versions.map((each) => join(root, each, 'bin', name)).find((file) => existsSync(file))
  return found ?? onPath(name)
}

/** Whether somebody listens, and says what is expected when spoken to. */
function answers(port, said, expected) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let heard = ''
    const end = (isReady) => {
      socket.destroy()
      resolve(isReady)
    }
    socket.setTimeout(1000, () => end(false))
    socket.on('error', () => end(false))
    socket.on('close', () => end(false))
    socket.on('connect', () => socket.write(said))
    socket.on('data', (data) => {
      heard += data.toString('latin1')
      if (expected.test(heard)) end(true)
    })
  })
}

/** What a PostgreSQL client says first. The server asks for a password once it takes connections, and refuses before. */
function postgresHello() {
  const words = Buffer.from(`user\0${USER}\0database\0postgres\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(words.length + 8, 0)
  head.writeInt32BE(196_608, 4)
  return Buffer.concat([head, words])
}

/**
 * `user`: PostgreSQL refuses to run as root, so root starts it as this one. `prepare`: run once on an empty folder.
 * `ports`: how many it needs. `quit`: the signal that ends it without waiting for anybody.
 */
export const RECIPES = {
  postgres: {
    package: 'postgresql',
    program: () => postgresProgram('postgres'),
    user: 'postgres',
    ports: 1,
    quit: 'SIGQUIT',
    prepare: (folder) => ({
      files: { password: `${PASSWORD}\n` },
      command: [
        postgresProgram('initdb'),
        '-D',
        join(folder, 'data'),
        '-U',
        USER,
        '--pwfile',
        join(folder, 'password'),
        '--auth',
        'scram-sha-256',
        '--no-sync',
        '--encoding',
        'UTF8',
        '--locale',
        'C.UTF-8',
      ],
    }),
    command: (folder, [port], more) => [
      postgresProgram('postgres'),
      '-D',
      join(folder, 'data'),
      '-h',
      '127.0.0.1',
      '-p',
      String(port),
      '-k',
      folder,
      '-c',
      'max_connections=200',
      '-c',
      'shared_buffers=16MB',
      ...more,
    ],
    url: ([port]) => `postgres://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/postgres`,
    isReady: ([port]) => answers(port, postgresHello(), /^R/),
  },
  redis: {
    package: 'redis-server',
    program: () => onPath('redis-server'),
    ports: 1,
    quit: 'SIGKILL',
    command: (folder, [port], more) => [
      onPath('redis-server'),
      // A configuration file must come first.
      ...more.filter((word) => word.endsWith('.conf')),
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      folder,
      '--save',
      '',
      '--appendonly',
      'yes',
      '--appendfsync',
      'always',
      '--maxmemory-policy',
      'noeviction',
      ...more.filter((word) => !word.endsWith('.conf')),
    ],
    url: ([port]) => `redis://127.0.0.1:${port}`,
    isReady: ([port]) => answers(port, 'PING\r\n', /^(\+PONG|-NOAUTH)/),
  },
  etcd: {
    package: 'etcd-server',
    program: () => onPath('etcd'),
    ports: 2,
    quit: 'SIGKILL',
    command: (folder, [port, peerPort], more) => {
      const client = `http://127.0.0.1:${port}`
      const peer = `http://127.0.0.1:${peerPort}`
      return [
        onPath('etcd'),
        '--data-dir',
        join(folder, 'data'),
        '--name',
        'one',
        '--logger',
        'zap',
        '--listen-client-urls',
        client,
        '--advertise-client-urls',
        client,
        '--listen-peer-urls',
        peer,
        '--initial-advertise-peer-urls',
        peer,
        '--initial-cluster',
        `one=${peer}`,
        ...more,
      ]
    },
    url: ([port]) => `etcd://127.0.0.1:${port}`,
    isReady: ([port]) =>
      answers(port, 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n', /"health":\s*"true"/),
  },
  nats: {
    package: 'nats-server',
    program: () => onPath('nats-server'),
    ports: 1,
    quit: 'SIGKILL',
    command: (folder, [port], more) => [
      onPath('nats-server'),
      '-a',
      '127.0.0.1',
      '-p',
      String(port),
      '-js',
      '-sd',
      folder,
      ...more,
    ],
    url: ([port]) => `nats://127.0.0.1:${port}`,
    isReady: ([port]) => answers(port, 'CONNECT {"verbose":false}\r\nPING\r\n', /PONG|Authorization/),
  },
}
