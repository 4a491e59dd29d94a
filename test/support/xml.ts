/** Checks that a text is well-formed XML. */

/** Returns the first problem, or null: tags match, attributes are quoted, special characters are escaped. */
export function findXmlProblem(text: string): string | null {
  const open: string[] = []
  let rest = text.trim()
  while (rest !== '') {
    const tag = /^<(\/?)([a-zA-Z][\w-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/.exec(rest)
    const words = /^[^<]+/.exec(rest)
    const [piece = ''] = tag ?? words ?? []
    if (piece === '') return `at ${rest.slice(0, 40)}`
    if (/&(?!(?:amp|lt|gt|quot);)/.test(piece)) return `a bare & in ${piece}`
    if (tag !== null && tag[1] === '/' && open.pop() !== tag[2]) return `${piece} closes something else`
    if (tag !== null && tag[1] === '' && tag[4] === '') open.push(tag[2] ?? '')
    rest = rest.slice(piece.length)
    if (open.length === 0 && rest.trim() !== '') return 'there is something after the root'
  }
  return open.length === 0 ? null : `${open.join(', ')} left open`
}
