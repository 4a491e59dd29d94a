import { expect, it } from 'vitest'
import { decimal, element, escape } from './xml.ts'

it.each([
  [element('path', {}), '<path/>'],
  [element('path', { d: 'M0 0', 'stroke-width': 1.25 }), '<path d="M0 0" stroke-width="1.3"/>'],
  [element('text', { x: 1 }, 'a', 'b'), '<text x="1">ab</text>'],
  [
    element('title', { id: '"<&' }, escape('a < b & c')),
    '<title id="&quot;&lt;&amp;">a &lt; b &amp; c</title>',
  ],
])('writes %s', (written, expected) => {
  expect(written).toBe(expected)
})

it.each([
  [1.24, '1.2'],
  [1.25, '1.3'],
  [-0.04, '0'],
  [100, '100'],
])('rounds %j to a tenth, without a negative zero', (value, text) => {
  expect(decimal(value)).toBe(text)
})

it('replaces characters that XML forbids', () => {
  expect(escape('a\u0000b\u001bc\uffffd')).toBe('a\ufffdb\ufffdc\ufffdd')
  expect(escape('tab\tline\nä😀')).toBe('tab\tline\nä😀')
})
