import { describe, expect, it } from 'vitest'
import { LOCAL_MOUNT, NETWORK_MOUNT } from './assumptions.ts'
import { checkMount, findMountOptions } from './file-systems.ts'

const EXT4 = 0xef53
const NFS = ['noac', 'lookupcache=none', 'hard']

describe('a local file system', () => {
  it.each([
    ['ext4', EXT4],
    ['tmpfs', 0x01021994],
    ['btrfs', 0x9123683e],
  ])('%s is fit, on the assumption that all nodes run on this host', (_name, type) => {
    expect(checkMount({ type, options: ['rw'] }, null)).toEqual({
      fit: true,
      sound: ['a local file system: all processes of this host see each write at once'],
      assumed: [LOCAL_MOUNT],
    })
  })
})

describe('a network file system', () => {
  it.each([
    ['NFS', 0x6969, 'noac, lookupcache=none, hard'],
    ['CIFS', 0xff534d42, 'cache=none'],
    ['SMB', 0xfe534d42, 'cache=none'],
    ['SMB', 0x517b, 'cache=none'],
    ['9p', 0x01021997, 'cache=none'],
    ['FUSE', 0x65735546, 'options that disable its caches'],
    ['Ceph', 0x00c36400, 'options that disable its caches'],
    ['Lustre', 0x0bd00bd0, 'options that disable its caches'],
    ['GPFS', 0x47504653, 'options that disable its caches'],
  ])('%s (%i) is refused without options: %s', (name, type, wanted) => {
    expect(checkMount({ type, options: null }, null)).toEqual({
      fit: false,
      why: `it is on a network file system (${name}), whose caches can return stale data: use a local folder or a database, or mount it with the right options (${wanted}) and list them in mountOptions`,
    })
  })

  it('is fit with all the options that it needs, in the configuration and in the mount', () => {
    expect(checkMount({ type: 0x6969, options: ['rw', 'hard', 'lookupcache=none', 'noac'] }, NFS)).toEqual({
      fit: true,
      sound: ['NFS with the options noac, lookupcache=none, hard'],
      assumed: [NETWORK_MOUNT],
    })
  })

  it('is judged by the configuration alone where the mount is not known', () => {
    expect(checkMount({ type: 0x6969, options: null }, NFS)).toMatchObject({ fit: true })
  })

  it.each<[readonly string[], readonly string[] | null, string]>([
    [['noac'], null, 'it is on NFS and also needs the mount options lookupcache=none, hard'],
    [[], null, 'it is on NFS and also needs the mount options noac, lookupcache=none, hard'],
    [
      NFS,
      ['rw', 'soft'],
      'mountOptions lists noac, lookupcache=none, hard, but the folder is not mounted with that',
    ],
    [[...NFS, 'sync'], NFS, 'mountOptions lists sync, but the folder is not mounted with that'],
  ])('is refused with %j where the mount has %j', (named, options, why) => {
    expect(checkMount({ type: 0x6969, options }, named)).toEqual({ fit: false, why })
  })
})

describe('the mount table', () => {
  const TABLE = [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro',
    '40 22 0:40 / /srv rw,nosuid shared:5 - nfs4 host:/srv rw,hard',
    '41 40 0:41 / /srv/data rw - tmpfs tmpfs rw,size=1k',
    '',
  ].join('\n')

  it.each([
    ['/', ['rw', 'relatime', 'rw', 'errors=remount-ro']],
    ['/home', ['rw', 'relatime', 'rw', 'errors=remount-ro']],
    ['/srv', ['rw', 'nosuid', 'rw', 'hard']],
    ['/srv/other', ['rw', 'nosuid', 'rw', 'hard']],
    // Not below /srv, although the text starts alike.
    ['/srvother', ['rw', 'relatime', 'rw', 'errors=remount-ro']],
    ['/srv/data/deep', ['rw', 'rw', 'size=1k']],
  ])('has the options of %s', (folder, options) => {
    expect(findMountOptions(TABLE, folder)).toEqual(options)
  })

  it('may be empty', () => {
    expect(findMountOptions('', '/x')).toEqual([])
  })
})
