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

/** A URL as it may be shown: without its password. */
export function shown(url: string): string {
  const parsed = new URL(url)
  if (parsed.password !== '') parsed.password = '***'
  parsed.search = ''
  return parsed.href.replace(/\/$/, '')
}
