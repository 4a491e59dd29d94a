/** A sink in memory, for tests and for callers that handle outputs themselves. */
import type { Acceptance, Sink, SinkEntry } from './sink.ts'

/** `deliver` is called once per output. If it rejects, the output is offered again. */
export function openMemorySink(deliver: (entry: SinkEntry) => void | Promise<void> = () => {}): Sink {
  const jobs = new Map<string, { submission: string; token: number; readonly seqs: Set<number> }>()
  /** One output after the other. */
  let last: Promise<unknown> = Promise.resolve()
  const accept = async (entry: SinkEntry): Promise<Acceptance> => {
    const { job, submission, seq, token } = entry
    const known = jobs.get(job)
    const isSame = known?.submission === submission
    if (known !== undefined && (isSame ? token < known.token : submission < known.submission)) return 'fenced'
    const seqs = isSame ? known.seqs : new Set<number>()
    jobs.set(job, { submission, token, seqs })
    if (seqs.has(seq)) return 'duplicate'
    await deliver(entry)
    seqs.add(seq)
    return 'accepted'
  }
  return {
    place: 'memory',
    accept(entry) {
      const accepting = last.then(() => accept(entry))
      last = accepting.catch(() => {})
      return accepting
    },
    async close() {
      await last
    },
  }
}
