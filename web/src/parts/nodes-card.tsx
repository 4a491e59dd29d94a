/** The nodes of the group, as the agent sees them. */
import { ids, local } from '../data/store.ts'
import type { Status } from '../data/types.ts'
import { colourOf, handOverFor, type NodeRow, nodeRows } from '../view/nodes.ts'
import { Card } from './card.tsx'
import { Glyph } from './glyph.tsx'
import { NodeActions } from './node-actions.tsx'

const COLUMNS = ['Node', 'State', 'Role', 'Heard', 'Round trip', 'Lateness', 'Priority', 'Address', 'Version']

export function NodesCard({ status }: { readonly status: Status }) {
  const rows = nodeRows(status, local.value)
  return (
    <Card name="nodes" title="Nodes" hint={`as ${status.self.id} sees them`}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard */}
      <div class="scroll" tabIndex={0} role="region" aria-label="Nodes table">
        <table class={local.value === null ? '' : 'is-local'}>
          <thead>
            <tr>
              {COLUMNS.map((name) => (
                <th key={name} scope="col" class={`col-${name.replace(' ', '-').toLowerCase()}`}>
                  {name}
                </th>
              ))}
              <th scope="col">
                <span class="only-read">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <Row key={row.id} row={row} status={status} />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}

function Row({ row, status }: { readonly row: NodeRow; readonly status: Status }) {
  return (
    <tr class={`state-${row.state}`} data-node={row.id}>
      <th scope="row">
        <span class={`name node-colour c${colourOf(ids.value, row.id)}`} title={row.id}>
          {row.id}
        </span>
        {row.page === null ? null : (
          <a class="page-link" href={row.page} aria-label={`Page of ${row.id}`}>
            page
          </a>
        )}
        {row.isSelf ? <span class="tag">this agent</span> : null}
      </th>
      <td class="col-state">
        <span class="state">
          <Glyph name={row.state} />
          {row.stateWord}
        </span>
      </td>
      <td class="col-role">{row.role}</td>
      <td class="col-heard number">{row.heard}</td>
      <td class="col-round-trip number">{row.roundTrip}</td>
      <td class="col-lateness number" title={row.latenessDetail}>
        {row.isLate ? <Glyph name="warning" /> : null}
        {row.lateness}
      </td>
      <td class="col-priority number">{row.priority}</td>
      <td class="col-address number">{row.address}</td>
      <td class={`col-version number ${row.isOtherVersion ? 'is-other' : ''}`}>{row.version}</td>
      <td class="col-actions">
        <NodeActions row={row} handOver={handOverFor(status, local.value)} />
      </td>
    </tr>
  )
}
