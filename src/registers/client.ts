/** The stores' clients are optional packages, loaded when a store is opened. */
import { ClientMissing } from './errors.ts'

/** Says which package to install where it is not there. */
export async function needed<T>(kind: string, packageName: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND')
      throw new ClientMissing(kind, [packageName], error)
    throw error
  }
}

/** A URL that may name several hosts, as the clients of PostgreSQL, etcd and NATS know it. */
export type UrlParts = {
  readonly protocol: string
  readonly username: string
  readonly password: string
  /** At least one, each with its port where one was given. */
  readonly hosts: readonly string[]
  /** From the slash on: the path and the question mark with what stands behind it. */
  readonly rest: string
}

const URL_FORM = /^(?<protocol>[a-z][a-z0-9+.-]*:)\/\/(?:(?<user>[^/?#]*)@)?(?<hosts>[^/?#@]*)(?<rest>[/?#].*)?$/i

/** Throws a TypeError, as `new URL` does, where it is none. */
export function partsOf(url: string): UrlParts {
  const { protocol = '', user = '', hosts = '', rest = '' } = URL_FORM.exec(url)?.groups ?? {}
  const each = hosts.split(',')
  if (protocol === '') throw new TypeError(`${url} is not a URL`)
  // Each must be a host by itself, with a port that is a number.
  for (const host of each) void new URL(`${protocol}//${host}`)
  if (each.includes('')) throw new TypeError(`${url} names an empty host`)
  const [username = '', ...password] = user.split(':')
  return {
    protocol: protocol.toLowerCase(),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password.join(':')),
    hosts: each,
    rest,
  }
}

/** A URL as it may be shown: without its password. */
export function shown(url: string): string {
  const { protocol, username, password, hosts, rest } = partsOf(url)
  const user = username === '' && password === '' ? '' : `${encodeURIComponent(username)}${password === '' ? '' : ':***'}@`
  return `${protocol}//${user}${hosts.join(',')}${rest.replace(/[?#].*$/, '')}`.replace(/\/$/, '')
}
