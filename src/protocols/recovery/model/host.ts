/**
 * One step of the modelled host. Storing a column takes a random time, after which the manager checks the fence. A job
 * appends its assignment to its outputs, so that two owners that both go on produce different outputs.
 */
import {
  type Command,
  type Effect,
  type Message,
  type Micros,
  type NodeId,
  output,
  send,
  setTimer,
  stopTimer,
} from '../../../core/index.ts'
import {
  type Assignment,
  type CheckpointId,
  compareAssignments,
  isSameCheckpoint,
  isSameContent,
  type ManagerCommand,
  type ManagerOutput,
} from '../../../recovery/manager/index.ts'
import { handleCommitted, workOn } from './apps.ts'
import { digestOf, type HostContext } from './context.ts'
import { beginRestore, handleFetch, handleFetched, retryRestore } from './restores.ts'
import type {
  Column,
  ColumnKey,
  Content,
  ModelCommand,
  ModelMessage,
  ModelOutput,
  ModelSettings,
  ModelState,
} from './state.ts'

const MS = 1000
const WRITE = 'model/write/'
const UPLOAD = 'model/upload/'
const RESTORE = 'model/restore/'
const WORK = 'model/work/'
const SCRUB = 'model/scrub'
const SUBMIT = 'model/submit'
const DEFINE = 'model/define/'
const BYTES = 64

type Of<T extends ManagerOutput['type']> = Extract<ManagerOutput, { readonly type: T }>

/** Runs a command of the host at the manager, and returns the outputs. */
export type RunCommand = (command: ManagerCommand) => readonly ManagerOutput[]

export class Host implements HostContext {
  state: ModelState
  readonly settings: ModelSettings
  readonly self: NodeId
  readonly effects: Effect<Message, never>[] = []
  readonly #links: () => readonly NodeId[]
  readonly #now: Micros
  readonly #run: RunCommand

  constructor(
    self: NodeId,
    settings: ModelSettings,
    state: ModelState,
    context: { readonly links: () => readonly NodeId[]; readonly now: Micros; readonly run: RunCommand },
  ) {
    this.self = self
    this.settings = settings
    this.state = state
    this.#links = context.links
    this.#now = context.now
    this.#run = context.run
  }

  set(change: Partial<ModelState>): void {
    this.state = { ...this.state, ...change }
  }

  isLinked(peer: NodeId): boolean {
    return peer === this.self || this.#links().includes(peer)
  }

  send(to: NodeId, body: ModelMessage): void {
    if (to === this.self) this.handleMessage(this.self, body)
    else if (this.isLinked(to)) this.effects.push(send(to, body as Message))
  }

  output(event: ModelOutput): void {
    this.effects.push(output(event))
  }

  command(command: ManagerCommand): readonly ManagerOutput[] {
    return this.#run(command)
  }

  setTimer(name: string, leastMs: number, mostMs: number): void {
    this.effects.push(setTimer(name, [this.#now + leastMs * MS, this.#now + mostMs * MS]))
  }

  boot(place: number): void {
    this.command({ do: 'slots', slots: this.settings.slots })
    if (place < this.settings.jobs) this.setTimer(SUBMIT, 0, 50)
  }

  scheduleWork(job: string): void {
    this.setTimer(WORK + job, 5, 60)
  }

  scheduleRestore(no: number): void {
    this.setTimer(RESTORE + no, 40, 80)
  }

  stopRestore(no: number): void {
    this.effects.push(stopTimer(RESTORE + no))
  }

  handleTimer(name: string, place: number): void {
    if (name === SUBMIT) this.command({ do: 'submit', job: `job-${place + 1}` })
    else if (name.startsWith(DEFINE)) {
      const [label = '', job = ''] = name.slice(DEFINE.length).split('/')
      const [token = 0, n = 0] = label.split('.').map(Number)
      this.#define(job, [token, n])
    } else if (name === SCRUB) this.#scrub()
    else if (name.startsWith(WORK)) workOn(this, name.slice(WORK.length))
    else if (name.startsWith(RESTORE)) retryRestore(this, Number(name.slice(RESTORE.length)))
    else if (name.startsWith(WRITE)) this.#finishWrite(Number(name.slice(WRITE.length)))
    else if (name.startsWith(UPLOAD)) this.#finishUpload(name)
  }

  handleMessage(from: NodeId, body: ModelMessage): void {
    switch (body.kind) {
      case 'copy': {
        const no = this.nextNumber()
        this.set({ writes: [...this.state.writes, { no, from, column: body.column }] })
        this.setTimer(WRITE + no, 0, 20)
        break
      }
      case 'copied':
        this.#acknowledge(body)
        break
      case 'fetch':
        handleFetch(this, from, body)
        break
      case 'fetched':
        handleFetched(this, from, body, body.content)
        break
      default:
        body satisfies never
    }
  }

  handleCommand(command: ModelCommand | Command): void {
    if (command.do !== 'corrupt') return
    const { disk } = this.state
    if (disk.every(({ isGood }) => !isGood)) return
    for (const { id, column, digest, isGood } of disk)
      if (isGood) this.output({ type: 'corrupted', id, column, digest })
    this.set({ disk: disk.map((column) => ({ ...column, isGood: false })) })
    this.setTimer(SCRUB, 20, 300)
  }

  handleOutput(event: ManagerOutput): void {
    switch (event.type) {
      case 'submitted':
        this.#define(event.job, event.assignment)
        break
      case 'upload':
        this.#upload(event)
        break
      case 'start': {
        const { assignment, commit, sources } = event
        beginRestore(this, { why: 'start', assignment, commit, sources, target: null, column: 0 })
        break
      }
      case 'reencode': {
        const { commit, sources, id, code, holders } = event
        const target = { id, code, holders }
        const { assignment } = commit.id
        beginRestore(this, { why: 'recode', assignment, commit, sources, target, column: 0 })
        break
      }
      case 'repair': {
        const { commit, column, sources } = event
        const { assignment } = commit.id
        beginRestore(this, { why: 'repair', assignment, commit, sources, target: null, column })
        break
      }
      case 'committed':
        handleCommitted(this, event.commit)
        break
      case 'checkpointFailed':
        this.#failCheckpoint(event)
        break
      case 'stop':
        this.#stop(event)
        break
      case 'drop': {
        const { job, keep } = event
        const isKept = (id: CheckpointId): boolean =>
          id.job !== job || keep.some((kept) => isSameCheckpoint(kept, id))
        this.set({ disk: this.state.disk.filter(({ id }) => isKept(id)) })
        break
      }
      default:
    }
  }

  /** Stores the definition; again and again, until the group knows the outcome of the submission. */
  #define(job: string, assignment: Assignment): void {
    const digest = digestOf(DEFINITION)
    this.command({ do: 'checkpoint', job, assignment, epoch: 0, bytes: BYTES, digest })
  }

  /** Sends every column of a content to its holder. */
  store(
    of: {
      readonly id: CheckpointId
      readonly code: Of<'upload'>['code']
      readonly holders: readonly NodeId[]
    },
    content: Content,
  ): void {
    const { id, code, holders } = of
    const others = this.state.uploads.filter((upload) => !isSameCheckpoint(upload.id, id))
    const digest = digestOf(content)
    this.set({ uploads: [...others, { id, digest, holders, acknowledged: [] }] })
    this.setTimer(uploadTimer(id), 150, 200)
    for (const [column, holder] of holders.entries())
      this.send(holder, {
        kind: 'copy',
        column: { id, column, code, bytes: BYTES, digest, content, isGood: true },
      })
  }

  /** Writes one column of a committed checkpoint to the own disk. */
  repair(column: Column): void {
    this.handleMessage(this.self, { kind: 'copy', column })
  }

  /** The least number that no write and no restore has: so that states repeat. */
  nextNumber(): number {
    const { writes, restores } = this.state
    const taken = new Set([...writes, ...restores].map(({ no }) => no))
    let no = 0
    while (taken.has(no)) no += 1
    return no
  }

  #upload({ id, code, holders }: Of<'upload'>): void {
    const app = this.state.apps.find(({ job }) => job === id.job)
    this.store({ id, code, holders }, id.epoch === 0 || app === undefined ? DEFINITION : app.content)
  }

  /** The data is on the disk; only then does the manager decide whether the column counts. */
  #finishWrite(no: number): void {
    const write = this.state.writes.find((each) => each.no === no)
    if (write === undefined) return
    const { column, from } = write
    const { id, code, bytes, digest } = column
    const others = this.state.disk.filter(
      (each) => !(each.column === column.column && isSameContent(each, column)),
    )
    this.set({ writes: this.state.writes.filter((each) => each !== write), disk: [...others, column] })
    const outputs = this.command({ do: 'held', id, column: column.column, code, bytes, digest })
    if (outputs.some(({ type }) => type === 'holds'))
      this.send(from, { kind: 'copied', id, column: column.column, digest })
    else this.set({ disk: this.state.disk.filter((each) => each !== column) })
  }

  #acknowledge({ column, ...of }: ColumnKey): void {
    const upload = this.state.uploads.find((each) => isSameContent(each, of))
    if (upload === undefined || upload.acknowledged.includes(column)) return
    const acknowledged = [...upload.acknowledged, column].sort((a, b) => a - b)
    this.set({
      uploads: this.state.uploads.map((each) => (each === upload ? { ...upload, acknowledged } : each)),
    })
    if (acknowledged.length === upload.holders.length) this.#finishUpload(uploadTimer(of.id))
  }

  #finishUpload(timer: string): void {
    const upload = this.state.uploads.find(({ id }) => uploadTimer(id) === timer)
    if (upload === undefined) return
    this.set({ uploads: this.state.uploads.filter((each) => each !== upload) })
    this.effects.push(stopTimer(timer))
    this.command({ do: 'uploaded', id: upload.id, columns: upload.acknowledged, problems: [] })
  }

  #failCheckpoint({ job, assignment, epoch, reason }: Of<'checkpointFailed'>): void {
    const isSame = (id: CheckpointId): boolean =>
      id.job === job && id.epoch === epoch && compareAssignments(id.assignment, assignment) === 0
    for (const { id } of this.state.uploads) if (isSame(id)) this.effects.push(stopTimer(uploadTimer(id)))
    this.set({ uploads: this.state.uploads.filter(({ id }) => !isSame(id)) })
    const isOver = /not assigned|is due/.test(reason)
    if (epoch === 0 && !isOver) this.setTimer(`${DEFINE}${assignment.join('.')}/${job}`, 10, 50)
    const app = this.state.apps.find((each) => each.job === job)
    if (app === undefined || !app.isCheckpointing || compareAssignments(app.assignment, assignment) !== 0)
      return
    this.set({
      apps: this.state.apps.map((each) => (each === app ? { ...app, isCheckpointing: false } : each)),
    })
    this.scheduleWork(job)
  }

  #stop({ job }: Of<'stop'>): void {
    this.effects.push(stopTimer(WORK + job))
    this.set({
      apps: this.state.apps.filter((app) => app.job !== job),
      restores: this.state.restores.filter(({ why, commit }) => why !== 'start' || commit.id.job !== job),
    })
  }

  #scrub(): void {
    const bad = this.state.disk.filter(({ isGood }) => !isGood)
    this.set({ disk: this.state.disk.filter(({ isGood }) => isGood) })
    for (const { id, column } of bad) this.command({ do: 'lost', id, column, problem: 'checksum mismatch' })
  }
}

/** What a job consists of before it has run. */
const DEFINITION: Content = { from: 0, log: [] }

function uploadTimer({ job, epoch, token }: CheckpointId): string {
  return `${UPLOAD}${job}/${epoch}/${token}`
}
