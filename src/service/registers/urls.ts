/** The stores' clients are optional packages, loaded when a store is opened. */
import { MissingClientError } from './errors.ts'

/** Says which package to install where it is not there. */
export async function loadClient<T>(kind: string, packageName: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND')
      throw new MissingClientError(kind, [packageName], error)
    throw error
  }
}

/** A URL that may name several hosts, as PostgreSQL, etcd and NATS have it: `postgres://me@db1:5432,db2:5432/app`. */
export type UrlParts = {
  readonly protocol: string
  readonly username: string
  readonly password: string
  /** Each with its port where one was given; one empty text where no host was named. */
  readonly hosts: readonly string[]
  /** Decoded, without the slash before it. */
  readonly path: string
  readonly search: URLSearchParams
  /** The same URL with one host alone. */
  at(host: string): string
}

const URL_FORM =
  /^(?<protocol>[a-z][a-z0-9+.-]*:)\/\/(?<user>[^/?#]*@)?(?<hosts>[^/?#@]*)(?<path>\/[^?#]*)?(?<search>\?[^#]*)?(?:#.*)?$/i

/** Throws what is wrong with it, without its password. */
export function parseUrl(url: string): UrlParts {
  const groups = URL_FORM.exec(url)?.groups
  if (groups === undefined) throw new TypeError('it is not a URL: write KIND://HOST:PORT')
  const { protocol = '', user = '', hosts = '', path = '', search = '' } = groups
  // What looks like HOST:PORT is then USER and the beginning of a password, and must not be shown.
  if (user === '' && hosts.includes(':') && url.includes('@'))
    throw new TypeError(
      'an @ stands after the first / ? or #: in a password write %2F for /, %3F for ? and %23 for #; elsewhere write %40 for @',
    )
  const each = hosts.split(',')
  for (const host of each) {
    const isHost = URL.canParse(`${protocol}//${host}`) && !(host === '' && each.length > 1)
    if (!isHost) throw new TypeError(`"${host}" is not a host: write HOST or HOST:PORT`)
  }
  const [username = '', ...password] = user.slice(0, -1).split(':')
  return {
    protocol: protocol.toLowerCase(),
    username: decodePercent(username),
    password: decodePercent(password.join(':')),
    hosts: each,
    path: decodePercent(path.slice(1)),
    search: new URLSearchParams(search),
    at: (host) => `${protocol}//${user}${host}${path}${search}`,
  }
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new TypeError('a % in it is not followed by two hexadecimal digits: write %25 for the sign itself')
  }
}

/** A URL as it may be shown: without its password. */
export function redactUrl(url: string): string {
  const { protocol, username, password, hosts, path } = parseUrl(url)
  const user = encodeURIComponent(username) + (password === '' ? '' : ':***')
  const place = `${protocol}//${user === '' ? '' : `${user}@`}${hosts.join(',')}`
  return path === '' ? place : `${place}/${path}`
}
