/** Real servers for tests, started on demand. */
import { describe, inject } from 'vitest'

/** One server shared by all tests. Tests must not disturb it, and use their own names in it. */
export type Server = { readonly url: string }

/** A server for one test, which may do anything to it. */
export type OwnServer = Server & {
  /** Its data directory. */
  readonly folder: string
  /** Kills it (SIGKILL). */
  kill(): Promise<void>
  /** Starts it again after a kill, at the same address, with its data. */
  restart(): Promise<void>
  /** Stops all its processes (SIGSTOP). */
  pause(): Promise<void>
  resume(): Promise<void>
  /** Ends it and removes its data. Servers that a test leaves behind are ended after the last test. */
  end(): Promise<void>
}

export type ServerName = 'postgres' | 'redis' | 'etcd' | 'nats'

export type ToolName =
  | 'python3'
  | 'go'
  | 'promtool'
  | 'systemd-analyze'
  | 'kubectl'
  | 'buildah'
  | 'openssl'
  | 'tmux'
  | 'zsh'
  | 'fish'
  | 'mypy'
  | 'chromium'

type Answer = {
  readonly url?: string
  readonly folder?: string
  readonly id?: string
  readonly program?: string
  readonly missing?: string
  readonly error?: string
}

async function ask(path: string, body?: readonly string[]): Promise<Answer> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${inject('servers')}/${path}`, init)
  const answer = (await response.json()) as Answer
  if (answer.error !== undefined) throw new Error(answer.error)
  // On CI a test that cannot run counts as failed.
  if (answer.missing !== undefined && process.env['CI'] !== undefined) throw new Error(answer.missing)
  return answer
}

/** `describe` with a server; skipped with the reason if there is none. Await it at the top of a file. */
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

/** The path of a program, or why there is none. */
export async function findTool(
  name: ToolName,
): Promise<{ readonly program: string; readonly missing?: string | undefined }> {
  const { program = '', missing } = await ask(`tool/${name}`)
  return { program, missing }
}

/** `describe` with a program, given by its path; skipped with the reason if there is none. */
export async function describeWithTool(
  name: ToolName,
  about: string,
  tests: (program: string) => void,
): Promise<void> {
  const { program, missing } = await findTool(name)
  const reason = missing === undefined ? '' : ` (${missing})`
  describe.skipIf(missing !== undefined)(`${about}${reason}`, () => {
    tests(program)
  })
}

/**
 * `more`: further command-line arguments. Use it only inside `describeWith`, where the server is known to
 * exist.
 */
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
