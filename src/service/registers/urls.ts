/** Store URLs, and loading of the client packages, which are optional. */
import { MissingClientError } from './errors.ts'

/** Loads a client package. Throws MissingClientError if it is not installed. */
export async function loadClient<T>(kind: string, packageName: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND')
      throw new MissingClientError(kind, [packageName], error)
    throw error
  }
}

/** A URL that can name several hosts, as PostgreSQL, etcd and NATS allow: `postgres://me@db1:5432,db2:5432/app`. */
export type UrlParts = {
  readonly protocol: string
  readonly username: string
  readonly password: string
  /** With ports, where given. One empty string if there is no host. */
  readonly hosts: readonly string[]
  /** Decoded, without the leading slash. */
  readonly path: string
  readonly search: URLSearchParams
  /** The same URL with only this host. */
  at(host: string): string
}

const URL_FORM =
  /^(?<protocol>[a-z][a-z0-9+.-]*:)\/\/(?<user>[^/?#]*@)?(?<hosts>[^/?#@]*)(?<path>\/[^?#]*)?(?<search>\?[^#]*)?(?:#.*)?$/i

/** Throws a TypeError whose message does not contain the password. */
export function parseUrl(url: string): UrlParts {
  const groups = URL_FORM.exec(url)?.groups
  if (groups === undefined) throw new TypeError('not a URL: use KIND://HOST:PORT')
  const { protocol = '', user = '', hosts = '', path = '', search = '' } = groups
  // What looks like HOST:PORT is USER and the start of a password, and must not be shown.
  if (user === '' && hosts.includes(':') && url.includes('@'))
    throw new TypeError(
      '@ after the first / ? or #: in a password write %2F for /, %3F for ? and %23 for #; elsewhere write %40 for @',
    )
  // The last @ ends the password, so the other hosts would be a part of it.
  if (/@[^@]*,.*@$/.test(user)) throw new TypeError('write user and password once, before the first host')
  const each = hosts.split(',')
  for (const host of each) {
    const isHost = URL.canParse(`${protocol}//${host}`) && !(host === '' && each.length > 1)
    if (!isHost) throw new TypeError(`"${host}" is not a host: use HOST or HOST:PORT`)
  }
  const [username = '', ...password] = user.slice(0, -1).split(':')
  return {
    protocol: protocol.toLowerCase(),
    username: decodePercent(username),
    password: decodePercent(password.join(':')),
    hosts: each,
    path: decodePercent(path.slice(1)),
    search: new URLSearchParams(search),
    // Clients compare the protocol with its lower-case form, for example to decide whether to use TLS.
    at: (host) => `${protocol.toLowerCase()}//${user}${host}${path}${search}`,
  }
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new TypeError('% must be followed by two hexadecimal digits: write %25 for a percent sign')
  }
}

/** NATS: as in its tools, a user without a password is a token. */
export function isToken({ protocol, password }: Pick<UrlParts, 'protocol' | 'password'>): boolean {
  return password === '' && (protocol === 'nats:' || protocol === 'tls:')
}

/** The URL without its password or token, for messages. */
export function redactUrl(url: string): string {
  const { protocol, username, password, hosts, path } = parseUrl(url)
  const name = username !== '' && isToken({ protocol, password }) ? '***' : encodeURIComponent(username)
  const user = name + (password === '' ? '' : ':***')
  const place = `${protocol}//${user === '' ? '' : `${user}@`}${hosts.join(',')}`
  return path === '' ? place : `${place}/${path}`
}
