/**
 * Writes the documents as a website, with the playground inside, to dist/site or another folder. Any file server can
 * serve it, under any path.
 *
 *   npm run docs:site
 *   npm run docs:site -- FOLDER
 *
 * A block that consists of `conclave playground --lesson NAME` becomes that lesson, which runs in the page.
 */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative, resolve } from 'node:path'
import { lexer, Parser, Renderer } from 'marked'

const ROOT = resolve(import.meta.dirname, '..')
const PLAYGROUND = join(ROOT, 'dist/playground')
const LESSON = /^conclave playground --lesson (?<name>[\w-]+)$/

const folder = resolve(process.argv[2] ?? join(ROOT, 'dist/site'))
if (!existsSync(PLAYGROUND))
  throw new Error(`${PLAYGROUND} does not exist: run npm run build:playground first`)

const documents = findDocuments()
mkdirSync(folder, { recursive: true })
cpSync(PLAYGROUND, join(folder, 'playground'), { recursive: true })
cpSync(join(ROOT, 'docs/pictures'), join(folder, 'docs/pictures'), { recursive: true })
const styles = [join(ROOT, 'web/src/style/tokens.css'), join(import.meta.dirname, 'site.css')]
write('style.css', styles.map((file) => readFileSync(file, 'utf8')).join(''))
for (const file of documents) write(pageOf(file), render(file))
console.log(`${documents.length} pages in ${relative(process.cwd(), folder) || '.'}`)

function findDocuments() {
  const below = (name) =>
    readdirSync(join(ROOT, name), { recursive: true, encoding: 'utf8' }).map((file) => join(name, file))
  const files = [...readdirSync(ROOT), ...below('docs'), ...below('src/protocols'), 'examples/README.md']
  return files.filter((file) => file.endsWith('.md')).sort()
}

function pageOf(file) {
  return file.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html')
}

function write(page, text) {
  mkdirSync(dirname(join(folder, page)), { recursive: true })
  writeFileSync(join(folder, page), text)
}

function render(file) {
  const text = readFileSync(join(ROOT, file), 'utf8')
  const title = /^# (.*)$/m.exec(text)?.[1] ?? file
  const to = (target) => relative(dirname(pageOf(file)), target)
  const renderer = Object.assign(new Renderer(), rendererFor(file, to))
  const body = Parser.parse(lexer(text), { renderer })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title.replaceAll('`', ''))} · Conclave</title>
<link rel="stylesheet" href="${to('style.css')}">
<header><a href="${to(pageOf('README.md'))}">Conclave</a> <nav><a href="${to(pageOf('docs/README.md'))}">Documentation</a>
<a href="${to('playground/index.html')}">Playground</a></nav></header>
<main>
${body}</main>
</html>
`
}

function rendererFor(file, to) {
  return {
    heading: (text, level, raw) => `<h${level} id="${anchorOf(raw)}">${text}</h${level}>\n`,
    link: (href, _title, text) => {
      if (/^(https?:|#)/.test(href)) return `<a href="${escape(href)}">${text}</a>`
      const [path = '', anchor] = href.split('#')
      const target = normalize(join(dirname(file), path))
      // Source files are not part of the site.
      if (!documents.includes(target)) return text
      return `<a href="${to(pageOf(target))}${anchor === undefined ? '' : `#${anchor}`}">${text}</a>`
    },
    code: (code, info) => {
      const name = LESSON.exec(code.trim())?.groups?.name
      return `${name === undefined ? '' : lesson(name, to)}<pre tabindex="0"><code class="${escape(info ?? '')}">${escape(code)}</code></pre>\n`
    },
  }
}

function lesson(name, to) {
  const address = `${to('playground/index.html')}#lesson=${name}`
  return `<figure class="lesson"><iframe src="${address}" title="Lesson: ${name}" loading="lazy"></iframe>
<figcaption><a href="${address}">Open this lesson in a page of its own</a>, or run:</figcaption></figure>
`
}

/** The anchor of a heading, as GitHub derives it. */
function anchorOf(heading) {
  return heading
    .replaceAll(/<[^>]*>/g, '')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
