/** Parser for server-sent events (text/event-stream) whose body arrives in chunks. */

export type ServerSentEvent = { readonly event: string; readonly id: string; readonly data: string }

/** Yields each complete event. An event that the stream cuts off is dropped, as the specification demands. */
export async function* parseEventStream(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerSentEvent, void, void> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = parseBlock(block)
      if (event !== null) yield event
    }
  }
}

/** Null for a block without data, such as a keep-alive comment. */
function parseBlock(block: string): ServerSentEvent | null {
  const fields = { event: '', id: '', data: '' }
  for (const line of block.split('\n')) {
    const at = line.indexOf(': ')
    const name = line.slice(0, at)
    if (name === 'event' || name === 'id' || name === 'data') fields[name] = line.slice(at + 2)
  }
  return fields.data === '' ? null : fields
}
