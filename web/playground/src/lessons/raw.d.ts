/** The text of a file, as Vite and Vitest import it. */
declare module '*?raw' {
  const text: string
  export default text
}
