/**
 * The line of a syntax error in a module. An error of `import()` does not name it, but the error event of a worker does:
 * the module is loaded once more, as a worker that cannot start.
 */
const LONGEST_MS = 2000

export function syntaxErrorLine(url: string): Promise<number | null> {
  return new Promise((resolve) => {
    const worker = new Worker(url, { type: 'module' })
    const end = (line: number | null): void => {
      clearTimeout(timer)
      worker.terminate()
      resolve(line)
    }
    const timer = setTimeout(() => end(null), LONGEST_MS)
    worker.addEventListener('error', (event) => {
      event.preventDefault()
      end(typeof event.lineno === 'number' && event.lineno > 0 ? event.lineno : null)
    })
  })
}
