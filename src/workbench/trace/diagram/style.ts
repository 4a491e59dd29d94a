/**
 * Colours for light and dark backgrounds: the Okabe-Ito palette, which is safe for colour-blind readers,
 * adjusted to a text contrast of at least 4.5. Colour never stands alone: each goes with a shape and a word.
 */
export type Palette = { readonly [name: string]: string }

export const LIGHT: Palette = {
  paper: '#ffffff',
  ink: '#1c1f23',
  quiet: '#5b626b',
  leads: '#0067a3',
  bad: '#b34700',
  stalled: '#7a5a00',
  kind0: '#00714f',
  kind1: '#9c3d78',
  kind2: '#8a5a00',
  kind3: '#3d4a9e',
  kind4: '#4a4f57',
}

export const DARK: Palette = {
  paper: '#14171a',
  ink: '#e8eaed',
  quiet: '#a3abb5',
  leads: '#56b4e9',
  bad: '#ff8f4d',
  stalled: '#f0d542',
  kind0: '#3fcf9f',
  kind1: '#e79ac6',
  kind2: '#e6a83a',
  kind3: '#a9b4ff',
  kind4: '#c3c9d1',
}

/**
 * Number of colours for kinds of messages. Shapes cycle with a different period, so that combinations rarely
 * repeat.
 */
export const KIND_COLOURS = 5

export function styleSheet(): string {
  const variables = (palette: Palette): string =>
    Object.entries(palette)
      .map(([name, colour]) => `--${name}:${colour}`)
      .join(';')
  // A fixed colour precedes each variable, for programs without CSS variables.
  const paint = (property: string, name: string): string =>
    `${property}:${LIGHT[name]};${property}:var(--${name})`
  const inColour = (name: string): string =>
    [
      `.${name}-line{${paint('stroke', name)};fill:none}`,
      `.${name}-fill{${paint('fill', name)}}`,
      `.${name}-hollow{${paint('stroke', name)};${paint('fill', 'paper')}}`,
      `text.${name}-text{${paint('fill', name)}}`,
    ].join('\n')
  return [
    `svg{${variables(LIGHT)}}`,
    `@media (prefers-color-scheme:dark){svg{${variables(DARK)}}}`,
    `text{font-family:sans-serif;font-size:11px;${paint('fill', 'ink')}}`,
    'text.title{font-size:15px;font-weight:bold}',
    'text.name{font-size:13px;font-weight:bold}',
    'text.strong{font-weight:bold}',
    'text.slant{font-style:italic}',
    `.label{paint-order:stroke;${paint('stroke', 'paper')};stroke-width:3px;stroke-linejoin:round}`,
    ...Object.keys(LIGHT).map(inColour),
  ].join('\n')
}
