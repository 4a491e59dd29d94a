/** Prints what `conclave doctor` found out about a store. */
import type { Experiment, StoreFacts } from '../../service/registers/index.ts'
import { NEW_LINE, paint, print, printJson } from '../output.ts'
import { COLOURS, type Level, SIGNS } from './findings.ts'

type Line = { readonly mark: Level; readonly text: string }

const CANNOT_TEST =
  'the store always behaves as in this experiment, which can find a defect but cannot prove that there is none'

export function printReport(facts: StoreFacts, { findings, read, write }: Experiment, isJson: boolean): void {
  const broken = findings.filter(({ problem }) => problem !== null)
  if (isJson) {
    printJson({
      store: { kind: facts.kind, place: facts.place },
      fit: broken.length === 0,
      sound: facts.sound,
      weak: facts.weak,
      findings,
      latencyMs: { read, write },
      cannotKnow: [...facts.assumed, CANNOT_TEST],
    })
    return
  }
  const lines: readonly Line[] = [
    { mark: 'ok', text: `${facts.place} answers, and this user can read and write` },
    ...facts.sound.map((text): Line => ({ mark: 'ok', text })),
    ...facts.weak.map((text): Line => ({ mark: 'warning', text })),
    ...findings.map(
      ({ requirement, trials, problem }): Line =>
        problem === null
          ? { mark: 'ok', text: `${requirement} (tried ${trials} times)` }
          : {
              mark: 'error',
              text: `${requirement}: ${problem}${NEW_LINE}  Use another store: with this one two nodes can lead in one epoch.`,
            },
    ),
  ]
  for (const { mark, text } of lines) print(`${paint(COLOURS[mark], SIGNS[mark])} ${text}`)
  const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0)
  print('')
  print(
    `one read round  median ${ms(read.medianMs)} ms, 99 % ${ms(read.p99Ms)} ms, longest ${ms(read.maxMs)} ms`,
  )
  print(
    `one write       median ${ms(write.medianMs)} ms, 99 % ${ms(write.p99Ms)} ms, longest ${ms(write.maxMs)} ms`,
  )
  print('')
  print('Assumptions that this experiment cannot check:')
  for (const text of [...facts.assumed, CANNOT_TEST]) print(`- ${text}`)
}

/** For a store that could not be opened, or that stopped answering. */
export function printFailure(error: unknown, isJson: boolean): void {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  if (isJson) printJson({ fit: false, error: { name, message } })
  else print(`${paint('red', SIGNS.error)} ${message}`)
}
