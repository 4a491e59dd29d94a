/** A minimal XML writer. The output is always well formed. */

export type Attributes = { readonly [name: string]: string | number }

/** An element. Its children are XML. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${typeof value === 'number' ? decimal(value) : escape(value)}"`)
    .join('')
  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join('')}</${name}>`
}

/** Rounds to a tenth, so that floating-point differences between machines do not show. */
export function decimal(value: number): string {
  return String(Math.round(value * 10) / 10 + 0)
}

const ENTITIES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

/**
 * Characters that XML forbids even escaped, and all other control characters, become a replacement character.
 */
const FORBIDDEN = /[^\t\n\u{20}-\u{7e}\u{a0}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu

export function escape(text: string): string {
  return text
    .replaceAll(FORBIDDEN, '\u{fffd}')
    .replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? character)
}
