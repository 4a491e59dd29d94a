import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { conformance } from '../../test/support/conformance.ts'
import { openFile } from './file.ts'

const folder = mkdtempSync(join(tmpdir(), 'conclave-registers-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

conformance('a folder, a file a version,', {
  open: (group) => openFile({ path: join(folder, 'rename'), mode: 'rename' }, group),
})
conformance('a folder, sectors overwritten in place,', {
  open: (group) => openFile({ path: join(folder, 'sector'), mode: 'sector' }, group),
  locks: true,
})
