/**
 * The line of a syntax error in a module. An error of `import()` does not name it, but the error event of a classic
 * worker does. So the text becomes a script with the same lines, inside of a function that is never called.
 */
const LONGEST_MS = 2000

/** Returns a function that takes the module as the user wrote it. The constructor is given, because modules must not have it. */
export function syntaxErrorFinder(ClassicWorker: typeof Worker): (text: string) => Promise<number | null> {
  return (text) => findLine(text, ClassicWorker)
}

function findLine(text: string, ClassicWorker: typeof Worker): Promise<number | null> {
  const script = `async function module() { ${scriptOf(text)}\n}\npostMessage(null)`
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }))
  return new Promise((resolve) => {
    const worker = new ClassicWorker(url)
    const end = (line: number | null): void => {
      clearTimeout(timer)
      worker.terminate()
      URL.revokeObjectURL(url)
      resolve(line)
    }
    const timer = setTimeout(() => end(null), LONGEST_MS)
    worker.addEventListener('message', () => end(null))
    worker.addEventListener('error', (event) => {
      event.preventDefault()
      end(event.lineno > 0 ? event.lineno : null)
    })
  })
}

const IMPORT = /^([ \t]*)import\s+([^"']+?)\s*\bfrom\s*(["'])[^"'\n]*\3/gm
const BARE_IMPORT = /^([ \t]*)import\s*(["'])[^"'\n]*\2/gm
const EXPORT_LIST = /^([ \t]*)export\s*(\{[^}]*\})(?:\s*from\s*(["'])[^"'\n]*\3)?/gm
const EXPORT_DEFAULT = /^([ \t]*)export\s+default\b/gm
const EXPORT = /^([ \t]*)export\s+(?=const|let|var|function|class|async)/gm

/** Imports become declarations, so that a name declared twice is found, too. */
export function scriptOf(text: string): string {
  return text
    .replaceAll(IMPORT, (_, indent: string, names: string) => `${indent}const ${patternOf(names)} = 0`)
    .replaceAll(BARE_IMPORT, '$1')
    .replaceAll(EXPORT_LIST, (_, indent: string, names: string) => indent + names.replaceAll(/[^\n]/g, ''))
    .replaceAll(EXPORT_DEFAULT, '$1void')
    .replaceAll(EXPORT, '$1')
}

function patternOf(names: string): string {
  return names.replace(/\*\s*as\s+/, '').replaceAll(/\bas\b/g, ':')
}
