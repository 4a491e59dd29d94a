/** A message on the wire in words: the messages of the protocol in it, or that of a layer. */
import type { Definition, Message } from '../../../../../src/core/index.ts'
import { messageText } from '../../../../../src/workbench/trace/text.ts'

export type MessageWords = { readonly text: string; readonly isRoutine: boolean }

export function describeMessage(definition: Definition, body: Message): MessageWords {
  const own = carriedIn(definition, body).filter(({ kind }) => definition.kinds.includes(kind))
  // Of a message of a layer, such as a heartbeat, its kind says enough.
  if (own.length === 0) return { text: attempt(() => definition.kindOf(body)) ?? body.kind, isRoutine: true }
  const words = own.map((message) => summarize(definition, message))
  return {
    text: words.map(({ text }) => text).join(' and '),
    isRoutine: words.every(({ isRoutine }) => isRoutine),
  }
}

/** A message of a damaged trace may have other fields than its kind says. */
function carriedIn({ carried }: Definition, body: Message): readonly Message[] {
  try {
    return carried(body)
  } catch {
    return [body]
  }
}

function summarize({ summaryOf }: Definition, message: Message): MessageWords {
  const summary = attempt(() => summaryOf(message))
  if (summary === null) return { text: messageText(message), isRoutine: false }
  const { words, isRoutine } = summary
  return { text: words === '' ? message.kind : `${message.kind}(${words})`, isRoutine }
}

function attempt<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
