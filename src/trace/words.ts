/** How things in a trace are called, in the transcript and in pictures alike. */
import type { Command, Message, PlainObject } from '../core/index.ts'

export function messageText(body: Message): string {
  return `${body.kind}${fieldsText(body, 'kind')}`
}

export function commandText(command: Command): string {
  return `${command.do}${fieldsText(command, 'do')}`
}

function fieldsText(object: PlainObject, except: string): string {
  const fields = Object.entries(object).filter(([field]) => field !== except)
  if (fields.length === 0) return ''
  return `(${fields.map(([field, value]) => `${field} ${JSON.stringify(value)}`).join(', ')})`
}

export function worldText(event: PlainObject): string {
  return Object.entries(event)
    .map(([field, value]) => `${field} ${JSON.stringify(value)}`)
    .join(', ')
}
