/** The roles of a node over time. */
import { equalPlain, type Micros, type View } from '../../../../../src/core/index.ts'
import { isLeading } from '../../../../../src/workbench/trace/index.ts'
import type { RoleSpan } from '../picture.ts'

type Span = Omit<RoleSpan, 'to'>

/** Before its first start a node is down. */
const DOWN = { role: 'crashed', leader: null, token: null, leads: false, members: null } as const
/** A recording that begins late shows no view at first. */
const UNKNOWN = { ...DOWN, role: 'candidate' } as const

export class RoleLine {
  readonly #spans: Span[] = [{ from: 0, moment: 0, ...DOWN }]

  get isUp(): boolean {
    return this.#last.role !== 'crashed'
  }

  see(at: Micros, moment: number, { role, leader, token, members, detail }: View): void {
    const leads = isLeading(role, detail)
    this.#enter({ from: at, moment, role, leader, token, leads, members })
  }

  resume(at: Micros, moment: number): void {
    if (!this.isUp) this.#enter({ from: at, moment, ...UNKNOWN })
  }

  crash(at: Micros, moment: number): void {
    this.#enter({ from: at, moment, ...DOWN })
  }

  build(endsAt: Micros): readonly RoleSpan[] {
    const ended = this.#spans.map((span, index): RoleSpan => {
      return { ...span, to: this.#spans[index + 1]?.from ?? Math.max(endsAt, span.from) }
    })
    const [first, ...rest] = ended as [RoleSpan, ...RoleSpan[]]
    return first.to > first.from || rest.length === 0 ? ended : rest
  }

  get #last(): Span {
    return this.#spans.at(-1) as Span
  }

  #enter(span: Span): void {
    const { from: _from, moment: _moment, ...before } = this.#last
    const { from: _at, moment: _in, ...after } = span
    if (!equalPlain(before, after)) this.#spans.push(span)
  }
}
