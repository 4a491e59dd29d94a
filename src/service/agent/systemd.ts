/**
 * Sends notifications to systemd (Type=notify): ready, status, watchdog, stopping.
 *
 * systemd expects datagrams on a Unix socket, which Node cannot send, so `systemd-notify` sends them. It runs as a child
 * process, so the unit needs NotifyAccess=all. The first failure is reported through `onFailure`.
 */
import { spawn } from 'node:child_process'

export type SystemdHooks = {
  /** Called once, with the reason why a notification failed. */
  onFailure(why: string): void
}

export class SystemdNotifier {
  readonly #hooks: SystemdHooks
  readonly #isEnabled: boolean
  readonly #watchdogMs: number | null
  #watchdog: NodeJS.Timeout | null = null
  #hasFailed = false
  #status = ''

  constructor(env: NodeJS.ProcessEnv, hooks: SystemdHooks) {
    this.#hooks = hooks
    this.#isEnabled = (env['NOTIFY_SOCKET'] ?? '') !== ''
    const micros = Number(env['WATCHDOG_USEC'] ?? 0)
    // The watchdog can be configured for another process.
    const isMine = env['WATCHDOG_PID'] === undefined || Number(env['WATCHDOG_PID']) === process.pid
    this.#watchdogMs = this.#isEnabled && isMine && micros > 0 ? micros / 1000 : null
  }

  /** Reports readiness. Then pings the watchdog twice per interval as long as `isHealthy` returns true. */
  async ready(status: string, isHealthy: () => boolean): Promise<void> {
    await this.#notify('READY=1', `STATUS=${status}`)
    if (this.#watchdogMs === null) return
    this.#watchdog = setInterval(() => {
      if (isHealthy()) void this.#notify('WATCHDOG=1')
    }, this.#watchdogMs / 2)
    this.#watchdog.unref()
  }

  /** Sets the sentence that `systemctl status` shows. Sends it only when it changes. */
  status(sentence: string): void {
    if (sentence === this.#status) return
    this.#status = sentence
    void this.#notify(`STATUS=${sentence}`)
  }

  async stopping(): Promise<void> {
    if (this.#watchdog !== null) clearInterval(this.#watchdog)
    await this.#notify('STOPPING=1')
  }

  #notify(...variables: readonly string[]): Promise<void> {
    if (!this.#isEnabled) return Promise.resolve()
    return new Promise((resolve) => {
      const child = spawn('systemd-notify', [`--pid=${process.pid}`, ...variables], { stdio: 'ignore' })
      child.once('error', (error) => {
        this.#reportFailure(`cannot run systemd-notify (${error.message}); install it or use Type=exec`)
        resolve()
      })
      child.once('exit', (code) => {
        if (code !== 0)
          this.#reportFailure(
            `systemd-notify exited with code ${code}; check that the unit has NotifyAccess=all`,
          )
        resolve()
      })
    })
  }

  #reportFailure(why: string): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#hooks.onFailure(why)
  }
}
