/** Reading checkpoints in the model: fetches columns until there are enough. */
import type { NodeId } from '../../../core/index.ts'
import { isSameContent, type Source } from '../../../recovery/manager/index.ts'
import { startApp } from './apps.ts'
import { digestOf, type HostContext } from './context.ts'
import type { Column, ColumnKey, Content, Restore } from './state.ts'

export function beginRestore(host: HostContext, of: Omit<Restore, 'no' | 'found' | 'bad'>): void {
  const no = host.nextNumber()
  host.set({ restores: [...host.state.restores, { ...of, no, found: [], bad: [] }] })
  host.scheduleRestore(no)
  const { id, digest } = of.commit
  for (const { node, column } of of.sources) host.send(node, { kind: 'fetch', id, column, digest })
  finishRestores(host)
}

/** A bad column is found when it is read. */
export function handleFetch(host: HostContext, from: NodeId, { id, column, digest }: ColumnKey): void {
  const isWanted = (each: Column): boolean => each.column === column && isSameContent(each, { id, digest })
  const stored = host.state.disk.find(isWanted)
  const isGood = stored?.isGood === true
  if (stored !== undefined && !isGood) {
    host.set({ disk: host.state.disk.filter((each) => each !== stored) })
    host.command({ do: 'lost', id, column, problem: 'checksum mismatch' })
  }
  host.send(from, { kind: 'fetched', id, column, digest, content: isGood ? stored.content : null })
}

export function handleFetched(
  host: HostContext,
  from: NodeId,
  { column, ...of }: ColumnKey,
  content: Content | null,
): void {
  for (const restore of host.state.restores) {
    if (!isSameContent(restore.commit, of) || isAnswered(restore, { node: from, column })) continue
    const next =
      content === null
        ? { ...restore, bad: [...restore.bad, { node: from, column }] }
        : { ...restore, found: [...restore.found, { column, content }] }
    host.set({ restores: host.state.restores.map((each) => (each === restore ? next : each)) })
  }
  finishRestores(host)
}

function isAnswered({ found, bad }: Restore, { node, column }: Source): boolean {
  return (
    found.some((each) => each.column === column) ||
    bad.some((each) => each.node === node && each.column === column)
  )
}

function finishRestores(host: HostContext): void {
  for (const restore of host.state.restores) {
    const { found, bad, sources, commit } = restore
    if (found.length >= commit.code.data) complete(host, restore)
    else if (found.length + bad.length >= sources.length) giveUp(host, restore)
  }
}

/** Asks again the sources that may have lost the request with a link; gives up on sources that are gone. */
export function retryRestore(host: HostContext, no: number): void {
  const restore = host.state.restores.find((each) => each.no === no)
  if (restore === undefined) return
  const { commit, found, sources } = restore
  const open = sources.filter((source) => !isAnswered(restore, source) && host.isLinked(source.node))
  if (found.length + open.length < commit.code.data) {
    giveUp(host, restore)
    return
  }
  host.scheduleRestore(no)
  const { id, digest } = commit
  for (const { node, column } of open) host.send(node, { kind: 'fetch', id, column, digest })
}

function remove(host: HostContext, restore: Restore): void {
  host.set({ restores: host.state.restores.filter((each) => each !== restore) })
  host.stopRestore(restore.no)
}

function complete(host: HostContext, restore: Restore): void {
  remove(host, restore)
  const { why, commit, assignment, target, column } = restore
  const content = restore.found[0]?.content
  if (content === undefined) return
  const { id, code, bytes } = commit
  switch (why) {
    case 'start':
      startApp(host, {
        job: id.job,
        assignment,
        token: assignment[0],
        content,
        epoch: id.epoch,
        isCheckpointing: false,
      })
      break
    case 'recode':
      if (target !== null) host.store(target, content)
      break
    case 'repair':
      host.repair({ id, column, code, bytes, digest: digestOf(content), content, isGood: true })
      break
    default:
      why satisfies never
  }
}

function giveUp(host: HostContext, restore: Restore): void {
  remove(host, restore)
  const { why, commit, assignment, bad, target } = restore
  const { id } = commit
  if (why === 'start') host.command({ do: 'unrestorable', job: id.job, assignment, id, bad })
  else if (target !== null)
    host.command({
      do: 'uploaded',
      id: target.id,
      columns: [],
      problems: ['the checkpoint could not be read'],
    })
}
