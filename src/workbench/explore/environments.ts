/** The environment as one integer: the remaining fault budget and the state of the links. */
import {
  aheadOf,
  type Budget,
  type Cut,
  canFlip,
  closedPairs,
  type Ends,
  endOf,
  endsAfterCrash,
  isCut,
  type LinkHistory,
  moveEnd,
  mustFollow,
  toggleLink,
} from '../untimed/index.ts'
import { Interner } from './intern.ts'

/** `ends`: the link ends, if nodes are notified of link changes; otherwise empty. */
export type Environment = Budget & { readonly cut: Cut; readonly ends: Ends }

export type Flip = {
  readonly a: number
  readonly b: number
  readonly cutting: boolean
  readonly next: number
}

/** A link end that can move, or has to: the notification of its node, and the environment afterwards. */
export type Move = {
  readonly at: number
  readonly peer: number
  readonly up: boolean
  readonly next: number
  readonly owed: boolean
}

/** An environment and its successors; -1 if the budget does not allow the step. */
export type Outlook = {
  /** By the node that crashes. */
  readonly crashed: readonly number[]
  readonly recovered: number
  readonly ticked: number
  readonly flips: readonly Flip[]
  readonly moves: readonly Move[]
  /** Whether some end has to catch up with the other. */
  readonly busy: boolean
  /**
   * By sender and receiver: how many incarnations a message is ahead, or -1 if it is lost. Null if all are 0.
   */
  readonly ahead: Int8Array | null
  /**
   * By receiver and sender: 1 if the receiver sees the link down. Null if nodes are not notified of links.
   */
  readonly closed: Uint8Array | null
  /** The links that are cut or not up at both ends, and an integer that identifies this set. */
  readonly cut: Cut
  readonly cutId: number
}

export class Environments {
  readonly #environments = new Interner<Environment>()
  readonly #cuts = new Interner<Cut>()
  readonly #outlooks: (Outlook | undefined)[] = []
  readonly #nodes: number
  readonly #history: LinkHistory

  constructor(nodes: number, history: LinkHistory) {
    this.#nodes = nodes
    this.#history = history
  }

  get size(): number {
    return this.#environments.size
  }

  idOf(environment: Environment): number {
    return this.#environments.idOf(environment)
  }

  outlook(id: number): Outlook {
    return this.#outlooks[id] ?? this.#compile(id)
  }

  #compile(id: number): Outlook {
    const environment = this.#environments.valueOf(id)
    const { crashes, recoveries, flips, ticks, ends } = environment
    const spend = (change: Partial<Environment>): number => this.idOf({ ...environment, ...change })
    const reported = ends.length > 0
    const indexes = Array.from({ length: this.#nodes }, (_, node) => node)
    const cut = reported ? closedPairs(this.#nodes, ends) : environment.cut
    const outlook: Outlook = {
      crashed: indexes.map((node) => {
        if (crashes === 0) return -1
        return spend({
          crashes: crashes - 1,
          ends: reported ? endsAfterCrash(ends, this.#nodes, node) : ends,
        })
      }),
      recovered: recoveries > 0 ? spend({ recoveries: recoveries - 1 }) : -1,
      ticked: ticks > 0 ? spend({ ticks: ticks - 1 }) : -1,
      flips: (flips > 0 && !reported ? pairsOf(this.#nodes) : []).map(([a, b]) => ({
        a,
        b,
        cutting: !isCut(cut, a, b),
        next: spend({ flips: flips - 1, cut: toggleLink(cut, a, b) }),
      })),
      moves: reported ? this.#moves(environment) : [],
      busy: ends.some(({ lead }) => lead !== 0),
      ahead: this.#ahead(environment),
      closed: reported ? this.#matrix((at, peer) => (endOf(ends, this.#nodes, at, peer).up ? 0 : 1)) : null,
      cut,
      cutId: this.#cuts.idOf(cut),
    }
    this.#outlooks[id] = outlook
    return outlook
  }

  #moves(environment: Environment): readonly Move[] {
    const { ends, flips } = environment
    const moves: Move[] = []
    for (const [a, b] of pairsOf(this.#nodes)) {
      for (const [at, peer] of [
        [a, b],
        [b, a],
      ] as const) {
        const end = endOf(ends, this.#nodes, at, peer)
        const owed = mustFollow(end)
        if (!owed && !(flips > 0 && canFlip(end, at, peer, this.#history))) continue
        const after = moveEnd(ends, this.#nodes, at, peer, this.#history)
        const next = this.idOf({ ...environment, flips: owed ? flips : flips - 1, ends: after })
        moves.push({ at, peer, up: !end.up, next, owed })
      }
    }
    return moves
  }

  #ahead({ cut, ends }: Environment): Int8Array | null {
    if (ends.length === 0 && cut.length === 0) return null
    const matrix = new Int8Array(this.#nodes ** 2)
    this.#each((from, to) => {
      const lost = isCut(cut, from, to) ? -1 : 0
      matrix[from * this.#nodes + to] =
        ends.length === 0 ? lost : aheadOf(endOf(ends, this.#nodes, from, to), this.#history)
    })
    return matrix.every((ahead) => ahead === 0) ? null : matrix
  }

  #matrix(value: (row: number, column: number) => number): Uint8Array {
    const matrix = new Uint8Array(this.#nodes ** 2)
    this.#each((row, column) => {
      matrix[row * this.#nodes + column] = value(row, column)
    })
    return matrix
  }

  #each(visit: (row: number, column: number) => void): void {
    for (let row = 0; row < this.#nodes; row++) {
      for (let column = 0; column < this.#nodes; column++) if (row !== column) visit(row, column)
    }
  }
}

function pairsOf(nodes: number): readonly (readonly [number, number])[] {
  const all = Array.from({ length: nodes }, (_, node) => node)
  return all.flatMap((a) => all.slice(a + 1).map((b) => [a, b] as const))
}
