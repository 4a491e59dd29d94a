/** The moments of a run: one per record of its trace, each as a sentence. */
import { isList, type NodeId, type PlainObject } from '../../../../../src/core/index.ts'
import { isLeading, type TraceRecord, Transcript } from '../../../../../src/workbench/trace/index.ts'
import type { Flight, Moment } from '../picture.ts'
import type { RecordedRun } from '../recorded-run.ts'
import { eventText } from './event-text.ts'
import { crashOf } from './lanes.ts'

const LOSSES: { readonly [why in NonNullable<Flight['lost']>]: string } = {
  chance: 'by chance',
  cut: 'because the link is cut',
  rule: 'by a rule of the network',
  down: 'because its receiver is down',
  dropped: 'because it was dropped by hand',
}

/** The time at the start of a line of a transcript. */
const TIME = /^ *[\d.]+ ms {2}/

/** A transcript is terse; a reader of one line wants a sentence. */
const TIMER = /^(\S+) timer ([^:]+?)(?=:|$| --)/
const COMMAND = /^(\S+) command /

export function momentsOf(run: RecordedRun, flights: readonly Flight[]): readonly Moment[] {
  const builder = new MomentBuilder(run, flights)
  return run.records.map((record, index) => builder.take(record, index))
}

class MomentBuilder {
  /** Everything, and only what a reader should not skip. */
  readonly #whole: Transcript
  readonly #short: Transcript
  readonly #byMessage: ReadonlyMap<number, Flight>
  readonly #leaders = new Set<NodeId>()
  readonly #views: RecordedRun['views']

  constructor({ definition, views }: RecordedRun, flights: readonly Flight[]) {
    this.#whole = new Transcript({ ...definition, all: true })
    this.#short = new Transcript({ ...definition, all: false })
    this.#byMessage = new Map(flights.map((flight) => [flight.message, flight]))
    this.#views = views
  }

  take(record: TraceRecord, index: number): Moment {
    const { at } = record
    const isLeadership = this.#noteLeadership(record, index)
    switch (record.type) {
      case 'lost': {
        const flight = this.#byMessage.get(record.message)
        const what =
          flight === undefined
            ? `message ${record.message}`
            : `${flight.text} from ${flight.from} to ${flight.to}`
        const text = `${what} is lost ${LOSSES[record.why]}`
        const isRoutine = flight?.isRoutine ?? true
        return { at, node: null, kind: 'lost', message: record.message, text, isLeadership, isRoutine }
      }
      case 'world': {
        const text = eventText(record.event)
        // The step of a command or a restart follows, and says the same.
        return {
          at,
          node: subjectOf(record.event),
          kind: 'world',
          message: null,
          text,
          isLeadership,
          isRoutine: false,
        }
      }
      case 'tick':
      case 'resume': {
        const node = record.type === 'resume' ? record.node : null
        const { text } = this.#words(record)
        return {
          at,
          node,
          kind: record.type,
          message: null,
          text,
          isLeadership,
          isRoutine: record.type === 'resume',
        }
      }
      case 'start':
      case 'step': {
        const { node } = record
        const message = record.type === 'step' ? record.message : null
        const kind = record.type === 'start' ? 'start' : record.input.type
        return { at, node, kind, message, ...this.#words(record), isLeadership }
      }
      default:
        return record satisfies never
    }
  }

  #words(record: TraceRecord): { readonly text: string; readonly isRoutine: boolean } {
    const short = this.#short.line(record)
    const whole = this.#whole.line(record)
    const text = (short ?? whole ?? '').replace(TIME, '')
    return {
      text: text.replace(TIMER, "$1's timer $2 fires").replace(COMMAND, '$1 receives the command '),
      isRoutine: short === null,
    }
  }

  /** Whether a node begins to lead here, or ceases to. */
  #noteLeadership(record: TraceRecord, index: number): boolean {
    if (record.type === 'world') {
      const crashed = crashOf(record.event)
      return crashed !== null && this.#leaders.delete(crashed)
    }
    if (record.type === 'tick')
      return record.views
        .map(({ node, view }) => this.#see(node, isLeading(view.role, view.detail)))
        .includes(true)
    if (record.type === 'lost') return false
    const { node } = record
    if (record.type === 'resume') {
      const view = this.#views.get(index)
      return view !== undefined && this.#see(node, isLeading(view.role, view.detail))
    }
    const isFatal = record.type === 'step' && record.failed?.isFatal === true
    if (record.cutAfter !== null || isFatal) return this.#leaders.delete(node)
    const { view } = record
    return view !== null && this.#see(node, isLeading(view.role, view.detail))
  }

  #see(node: NodeId, leads: boolean): boolean {
    const led = this.#leaders.has(node)
    if (leads) this.#leaders.add(node)
    else this.#leaders.delete(node)
    return leads !== led
  }
}

/** The one node that an event is about; null for an event of the network. */
function subjectOf(event: PlainObject): NodeId | null {
  const { crash, recover, pause, suspend, unwritable, writable, drift, skew, command, node } = event
  const { load = null } = event
  const given = typeof command === 'object' && command !== null ? (command as PlainObject)['node'] : undefined
  const [alone, ...others] = isList(load) ? load : []
  const found =
    crash ??
    recover ??
    pause ??
    suspend ??
    unwritable ??
    writable ??
    drift ??
    skew ??
    given ??
    node ??
    (others.length === 0 ? alone : undefined)
  const isLink = event['do'] === 'cut' || event['do'] === 'heal'
  return !isLink && (typeof found === 'number' || typeof found === 'string') ? found : null
}
