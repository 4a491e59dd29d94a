/** Opens an address in the reader's browser, as far as the system has a command for it. */
import { spawn } from 'node:child_process'

const COMMANDS: { readonly [platform: string]: readonly [string, ...string[]] } = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', '""'],
}
const OTHERS: readonly [string, ...string[]] = ['xdg-open']

/** False if there is no such command. The browser outlives this process. */
export function openPage(address: string, platform: string = process.platform): Promise<boolean> {
  const [command, ...words] = COMMANDS[platform] ?? OTHERS
  return new Promise((resolve) => {
    const child = spawn(command, [...words, address], { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
