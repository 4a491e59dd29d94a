/** XML as text: just enough of it, and always well formed. */

export type Attributes = { readonly [name: string]: string | number }

/** An element; its children are XML already. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${typeof value === 'number' ? decimal(value) : escape(value)}"`)
    .join('')
  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join('')}</${name}>`
}

/** To a tenth, so that the last bits of a sine make no difference between machines. */
export function decimal(value: number): string {
  return String(Math.round(value * 10) / 10 + 0)
}

const ENTITIES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

/** Characters that XML cannot hold, even escaped, and all others that control a terminal, become a replacement character. */
const FORBIDDEN = /[^\t\n\u{20}-\u{7e}\u{a0}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu

export function escape(text: string): string {
  return text
    .replaceAll(FORBIDDEN, '\u{fffd}')
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
}
