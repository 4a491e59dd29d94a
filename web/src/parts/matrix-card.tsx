/** The links: who hears whom, with round-trip times. Links that work in one direction only are marked. */
import { useState } from 'preact/hooks'
import { isPartitioning, proposed } from '../data/act.ts'
import { local } from '../data/store.ts'
import type { Status } from '../data/types.ts'
import { type Cell, cellNumber, matrixOf } from '../view/matrix.ts'
import { Card, TableToggle } from './card.tsx'
import { Glyph } from './glyph.tsx'

export function MatrixCard({ status }: { readonly status: Status }) {
  const [isTable, setTable] = useState(false)
  if (status.mode === 'store')
    return (
      <Card name="matrix" title="Links">
        <p class="empty">The nodes exchange no messages: they elect in a store.</p>
      </Card>
    )
  const matrix = matrixOf(status, local.value)
  const canCut = local.value !== null
  const tools = (
    <>
      {canCut ? (
        <>
          <button type="button" class="quiet" onClick={() => (isPartitioning.value = true)}>
            Partition …
          </button>
          <button type="button" class="quiet" onClick={() => (proposed.value = { what: 'heal' })}>
            Heal
          </button>
        </>
      ) : null}
      <TableToggle isTable={isTable} of="who hears whom" onToggle={() => setTable(!isTable)} />
    </>
  )
  return (
    <Card name="matrix" title="Links" hint="in ms: who hears whom" tools={tools}>
      {isTable ? (
        <Sentences rows={matrix.rows} />
      ) : (
        <Grid ids={matrix.ids} rows={matrix.rows} canCut={canCut} />
      )}
    </Card>
  )
}

type Rows = readonly (readonly Cell[])[]

function Grid({
  ids,
  rows,
  canCut,
}: {
  readonly ids: readonly string[]
  readonly rows: Rows
  readonly canCut: boolean
}) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
    <div class="scroll" tabIndex={0} role="region" aria-label="Matrix of who hears whom">
      <table class="grid">
        <thead>
          <tr>
            <th scope="col" class="corner">
              <span class="only-read">listener</span>
            </th>
            {ids.map((id) => (
              <th key={id} scope="col">
                {id}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells) => (
            <tr key={cells[0]?.hearer}>
              <th scope="row">{cells[0]?.hearer}</th>
              {cells.map((cell) => (
                <GridCell key={cell.sender} cell={cell} canCut={canCut} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function GridCell({ cell, canCut }: { readonly cell: Cell; readonly canCut: boolean }) {
  const classes = `cell is-${cell.state} ${cell.isOneWay ? 'is-one-way' : ''} ${cell.isCut ? 'is-cut' : ''}`
  const content = (
    <>
      {cell.state === 'silent' ? <Glyph name="cut" /> : null}
      {cell.isOneWay && cell.state === 'heard' ? <Glyph name="one-way" /> : null}
      <span aria-hidden="true">{cellNumber(cell)}</span>
      <span class="only-read">{cell.text}</span>
    </>
  )
  const { hearer, sender } = cell
  return (
    <td class={classes} title={cell.text}>
      {canCut && cell.state !== 'self' && !cell.isCut ? (
        <button type="button" onClick={() => (proposed.value = { what: 'cut', hearer, sender })}>
          {content}
          <span class="only-read">. Cut this link</span>
        </button>
      ) : (
        <div>{content}</div>
      )}
    </td>
  )
}

function Sentences({ rows }: { readonly rows: Rows }) {
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of who hears whom">
      <table>
        <thead>
          <tr>
            <th scope="col">Listener</th>
            <th scope="col">Sender</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {rows.flat().map((cell) =>
            cell.state === 'self' ? null : (
              <tr key={`${cell.hearer} ${cell.sender}`}>
                <td>{cell.hearer}</td>
                <td>{cell.sender}</td>
                <td>{cell.text}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  )
}
