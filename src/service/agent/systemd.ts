/**
 * Tells systemd how it goes, when systemd asks for it (Type=notify): ready, what is going on, still alive, ending.
 *
 * The messages are datagrams to a Unix socket, which Node cannot send; `systemd-notify`, which is wherever systemd is,
 * sends them. It runs as a child, so the unit needs NotifyAccess=all. What cannot be told is said once, to `trouble`.
 */
import { spawn } from 'node:child_process'

export type SystemdHooks = {
  /** Why systemd could not be told. */
  trouble(why: string): void
}

export class Systemd {
  readonly #hooks: SystemdHooks
  readonly #isAsked: boolean
  readonly #watchdogMs: number | null
  #watchdog: NodeJS.Timeout | null = null
  #isTroubled = false
  #status = ''

  constructor(env: NodeJS.ProcessEnv, hooks: SystemdHooks) {
    this.#hooks = hooks
    this.#isAsked = (env['NOTIFY_SOCKET'] ?? '') !== ''
    const micros = Number(env['WATCHDOG_USEC'] ?? 0)
    // The watchdog may be meant for another process than this.
    const isMine = env['WATCHDOG_PID'] === undefined || Number(env['WATCHDOG_PID']) === process.pid
    this.#watchdogMs = this.#isAsked && isMine && micros > 0 ? micros / 1000 : null
  }

  /** From now on it is up; and alive for as long as `isWell` says so, asked twice in the time that systemd allows. */
  async ready(status: string, isWell: () => boolean): Promise<void> {
    await this.#tell('READY=1', `STATUS=${status}`)
    if (this.#watchdogMs === null) return
    this.#watchdog = setInterval(() => {
      if (isWell()) void this.#tell('WATCHDOG=1')
    }, this.#watchdogMs / 2)
    this.#watchdog.unref()
  }

  /** One sentence, shown by `systemctl status`; told when it changes. */
  status(sentence: string): void {
    if (sentence === this.#status) return
    this.#status = sentence
    void this.#tell(`STATUS=${sentence}`)
  }

  async stopping(): Promise<void> {
    if (this.#watchdog !== null) clearInterval(this.#watchdog)
    await this.#tell('STOPPING=1')
  }

  #tell(...words: readonly string[]): Promise<void> {
    if (!this.#isAsked) return Promise.resolve()
    return new Promise((resolve) => {
      const child = spawn('systemd-notify', [`--pid=${process.pid}`, ...words], { stdio: 'ignore' })
      child.once('error', (error) => {
        this.#say(`systemd-notify cannot be run (${error.message}): use Type=exec, or install it`)
        resolve()
      })
      child.once('exit', (code) => {
        if (code !== 0) this.#say(`systemd-notify ended with ${code}: does the unit have NotifyAccess=all?`)
        resolve()
      })
    })
  }

  #say(why: string): void {
    if (this.#isTroubled) return
    this.#isTroubled = true
    this.#hooks.trouble(why)
  }
}
