/** What is left of the fault budget, and which links are cut, as one number. */
import { type Budget, type Cut, flipped, isCut } from '../sim/index.ts'
import { Interner } from './intern.ts'

export type Environment = Budget & { readonly cut: Cut }

export type Flip = {
  readonly a: number
  readonly b: number
  readonly cutting: boolean
  readonly next: number
}

/** An environment and what follows it; -1 where the budget is used up. */
export type Outlook = {
  readonly crashed: number
  readonly recovered: number
  readonly ticked: number
  readonly flips: readonly Flip[]
  /** By sender and receiver: 1 where the link is cut. Null while none is. */
  readonly cut: Uint8Array | null
  /** The same number for the same cut links. */
  readonly cutId: number
}

export class Environments {
  readonly #environments = new Interner<Environment>()
  readonly #cuts = new Interner<Cut>()
  readonly #outlooks: (Outlook | undefined)[] = []
  readonly #nodes: number

  constructor(nodes: number) {
    this.#nodes = nodes
  }

  get size(): number {
    return this.#environments.size
  }

  idOf(environment: Environment): number {
    return this.#environments.idOf(environment)
  }

  valueOf(id: number): Environment {
    return this.#environments.valueOf(id)
  }

  outlook(id: number): Outlook {
    return this.#outlooks[id] ?? this.#compile(id)
  }

  #compile(id: number): Outlook {
    const environment = this.valueOf(id)
    const { crashes, recoveries, flips, ticks, cut } = environment
    const spend = (change: Partial<Environment>): number => this.idOf({ ...environment, ...change })
    const pairs = pairsOf(this.#nodes)
    const outlook: Outlook = {
      crashed: crashes > 0 ? spend({ crashes: crashes - 1 }) : -1,
      recovered: recoveries > 0 ? spend({ recoveries: recoveries - 1 }) : -1,
      ticked: ticks > 0 ? spend({ ticks: ticks - 1 }) : -1,
      flips: (flips > 0 ? pairs : []).map(([a, b]) => ({
        a,
        b,
        cutting: !isCut(cut, a, b),
        next: spend({ flips: flips - 1, cut: flipped(cut, a, b) }),
      })),
      cut: cut.length === 0 ? null : this.#matrix(cut),
      cutId: this.#cuts.idOf(cut),
    }
    this.#outlooks[id] = outlook
    return outlook
  }

  #matrix(cut: Cut): Uint8Array {
    const matrix = new Uint8Array(this.#nodes ** 2)
    for (const [a, b] of cut) {
      matrix[a * this.#nodes + b] = 1
      matrix[b * this.#nodes + a] = 1
    }
    return matrix
  }
}

function pairsOf(nodes: number): readonly (readonly [number, number])[] {
  const all = Array.from({ length: nodes }, (_, node) => node)
  return all.flatMap((a) => all.slice(a + 1).map((b) => [a, b] as const))
}
