/**
 * Detects the file system of a folder and checks whether files on it can be registers.
 *
 * Caches of network file systems silently return stale data. So such a folder is refused unless the user names the mount
 * options that turn the caches off. On Linux the actual options are checked as well.
 */
import { readFile, statfs } from 'node:fs/promises'
import { LOCAL_MOUNT, NETWORK_MOUNT } from './assumptions.ts'

/** By the type that statfs(2) returns. `needs`: mount options without which reads can be stale or writes delayed. */
const NETWORK: { readonly [type: number]: { readonly name: string; readonly needs: readonly string[] } } = {
  0x6969: { name: 'NFS', needs: ['noac', 'lookupcache=none', 'hard'] },
  0xff534d42: { name: 'CIFS', needs: ['cache=none'] },
  0xfe534d42: { name: 'SMB', needs: ['cache=none'] },
  0x517b: { name: 'SMB', needs: ['cache=none'] },
  0x01021997: { name: '9p', needs: ['cache=none'] },
  0x65735546: { name: 'FUSE', needs: [] },
  0x00c36400: { name: 'Ceph', needs: [] },
  0x0bd00bd0: { name: 'Lustre', needs: [] },
  0x01161970: { name: 'GFS2', needs: [] },
  0x7461636f: { name: 'OCFS2', needs: [] },
  0x5346414f: { name: 'AFS', needs: [] },
  0x19830326: { name: 'BeeGFS', needs: [] },
  0x47504653: { name: 'GPFS', needs: [] },
  0x786f4256: { name: 'a folder shared with a virtual machine', needs: [] },
}

export type Mount = { readonly type: number; readonly options: readonly string[] | null }

/** The mount of a folder. `options` is null if they are not available. */
export async function findMount(folder: string): Promise<Mount> {
  const { type } = await statfs(folder)
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => null)
  return { type: type >>> 0, options: table === null ? null : findMountOptions(table, folder) }
}

/** Options of the mount with the longest matching path; of equal paths the last one counts. */
export function findMountOptions(table: string, folder: string): readonly string[] {
  let best: { readonly length: number; readonly options: readonly string[] } = { length: -1, options: [] }
  for (const line of table.split('\n')) {
    const [fields = '', more = ''] = line.split(' - ')
    const [, , , , encoded, options = ''] = fields.split(' ')
    if (encoded === undefined) continue
    const at = encoded.replace(/\\([0-7]{3})/g, (_, code: string) =>
      String.fromCodePoint(Number.parseInt(code, 8)),
    )
    const isAbove = at === '/' || folder === at || folder.startsWith(`${at}/`)
    if (!isAbove || at.length < best.length) continue
    best = { length: at.length, options: [...options.split(','), ...(more.split(' ')[2] ?? '').split(',')] }
  }
  return best.options
}

export type MountVerdict =
  | { readonly fit: true; readonly sound: readonly string[]; readonly assumed: readonly string[] }
  | { readonly fit: false; readonly why: string }

/** `named`: the mount options in the configuration. */
export function checkMount({ type, options }: Mount, named: readonly string[] | null): MountVerdict {
  const network = NETWORK[type]
  if (network === undefined) {
    return {
      fit: true,
      sound: ['a local file system: all processes of this host see each write at once'],
      assumed: [LOCAL_MOUNT],
    }
  }
  const { name, needs } = network
  const wanted = needs.length === 0 ? 'options that disable its caches' : needs.join(', ')
  if (named === null) {
    const why = `it is on a network file system (${name}), whose caches can return stale data: use a local folder or a database, or mount it with the right options (${wanted}) and list them in mountOptions`
    return { fit: false, why }
  }
  const unnamed = needs.filter((each) => !named.includes(each))
  if (unnamed.length > 0)
    return { fit: false, why: `it is on ${name} and also needs the mount options ${unnamed.join(', ')}` }
  const absent = options === null ? [] : named.filter((each) => !options.includes(each))
  if (absent.length > 0)
    return {
      fit: false,
      why: `mountOptions lists ${absent.join(', ')}, but the folder is not mounted with that`,
    }
  return {
    fit: true,
    sound: [`${name} with the options ${named.join(', ')}`],
    assumed: [NETWORK_MOUNT],
  }
}
