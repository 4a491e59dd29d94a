/** Real servers for tests. Each is started when the first test asks for it. */
import { describe, inject } from 'vitest'

/** One server for all tests, which must not disturb it: use names of your own in it. */
export type Server = { readonly url: string }

/** A server for one test, which may do to it what it likes. */
export type OwnServer = Server & {
  /** Where its data is. */
  readonly folder: string
  /** Killed at once (SIGKILL). */
  kill(): Promise<void>
  /** Started again after a kill, at the same address, with the data that it had. */
  restart(): Promise<void>
  /** Stopped where it stands (SIGSTOP), with all its processes. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Ended for good, its data removed. Whatever a test leaves is ended after the last test. */
  end(): Promise<void>
}

export type ServerName = 'postgres' | 'redis' | 'etcd' | 'nats'

type Answer = {
  readonly url?: string
  readonly folder?: string
  readonly id?: string
  readonly missing?: string
  readonly error?: string
}

async function ask(path: string, body?: readonly string[]): Promise<Answer> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${inject('servers')}/${path}`, init)
  const answer = (await response.json()) as Answer
  if (answer.error !== undefined) throw new Error(answer.error)
  // Where changes are judged, a test that was not run is a test that failed.
  if (answer.missing !== undefined && process.env['CI'] !== undefined) throw new Error(answer.missing)
  return answer
}

/** `describe` with a server; skipped by name and with the reason where there is none. Await it at the top of a file. */
export async function describeWith(
  name: ServerName,
  about: string,
  tests: (url: string) => void,
): Promise<void> {
  const { url = '', missing } = await ask(`shared/${name}`)
  const reason = missing === undefined ? '' : ` (${missing})`
  describe.skipIf(missing !== undefined)(`${about}${reason}`, () => {
    tests(url)
  })
}

/** `more`: further words for its command line. Only inside `describeWith`, so that the server is known to be there. */
export async function ownServer(name: ServerName, more: readonly string[] = []): Promise<OwnServer> {
  const { url, folder, id, missing } = await ask(`own/${name}`, more)
  if (url === undefined || folder === undefined) throw new Error(missing)
  const tell = async (action: string): Promise<void> => {
    await ask(`server/${id}/${action}`)
  }
  return {
    url,
    folder,
    kill: () => tell('kill'),
    restart: () => tell('restart'),
    pause: () => tell('pause'),
    resume: () => tell('resume'),
    end: () => tell('end'),
  }
}
