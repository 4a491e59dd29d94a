import { conformance } from '../../test/support/conformance.ts'
import { describeWith } from '../../test/support/servers.ts'
import { openPostgres } from './postgres.ts'

await describeWith('postgres', 'PostgreSQL', (url) => {
  conformance('a table', { open: (group) => openPostgres({ url, table: 'conclave_registers' }, group) })
})
