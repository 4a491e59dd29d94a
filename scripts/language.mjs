/**
 * Finds words that the language guide rules out (CONTRIBUTING.md, "Language"), in prose and in code.
 *
 *   npm run language                 the whole repository
 *   npm run language -- src/cli      one folder or file
 *   npm run language -- --count      the number of findings per folder
 *
 * Block quotes (lines that start with ">") are quotations of papers and are skipped. A line can be excepted with
 * "language-ignore -- REASON" on it or on the line above. Exit code 1 if there are findings.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const BE = '(?:is|are|am|was|were|be|been|being|unless|when|if)'
const THINGS =
  'line|node|core|pair|step|state|process|group|peer|key|thread|term|message|file|version|requirement|condition|zone'
/** What comes before the first word of a sentence: a paragraph's start, a list item, a quote, or another sentence. */
const START = '(?:^|[.!?]\\s+|["\'`]\\s*|\\n[#*\\-|\\s]*|\\*\\*\\s*)'

/** [pattern, what to write instead]: matched in everything, with camelCase names split into words. */
const PHRASES = [
  [/\bwho(?:m|se)?ever\b/gi, 'name the actor: a node, the leader, a caller'],
  [/\bwhat(?:so)?ever\b/gi, 'name the thing'],
  [new RegExp(`${START}(?:Nobody|nobody|Who)\\b(?!\\?)`, 'g'), 'start with the actor: no node, a caller'],
  [/\banew\b/gi, 'again'],
  [/\bbesides\b/gi, 'also; except; beside'],
  [/\bso many\b/gi, 'give the number, or "the number of ..."'],
  [/\b(?:for|after) so long\b/gi, 'give the duration'],
  [new RegExp(`\\b${BE}\\s+(?:not\\s+)?told\\b`, 'gi'), 'learns, receives, is notified; "by default"'],
  [/\bas told\b/g, 'as configured; as reported'],
  [/\b(?:is|are|was|were) come to\b/gi, 'is reached'],
  [/\bthose that\b/gi, 'name them: nodes that'],
  [/\bone that\b/gi, 'name it: a node that'],
  [new RegExp(`\\ban? (?:${THINGS}) an? (?:${THINGS})\\b`, 'gi'), 'one ... per ...'],
  [/\b(?:object|timer|row|entry|session|thread) a (?:line|node|core|pair)\b/gi, 'one ... per ...'],
  [/\b(?:un)?herald(?:s|ed|ing)?\b/gi, 'beacon'],
  [/\berrands?\b/gi, 'request'],
  [/\breign(?:s|ed|ing)?\b/gi, 'term'],
  [/\b(?:un)?seat(?:s|ed)?\b/gi, 'election backend'],
  [/\bspoil(?:s|ed|t|ing)?\b/gi, 'inject a fault'],
  [/\bteas(?:e|es|ed|ing)\b/gi, 'inject faults'],
  [/\bbef(?:all|alls|ell|allen|alling)\b/gi, 'happen to; inject a fault'],
  [/\b(?:un)?heed(?:s|ed|ing|less)?\b/gi, 'handle; follow'],
  [
    /\b(?:letters? (?:to|from|of (?:a|the)|that)|(?:a|each|every|of|which|the) letter)\b(?! or (?:a )?digit)/gi,
    'message record',
  ],
  [/\bheld ?lead\b/gi, 'term'],
  [/\b(?:whence|whither|thither|hither|hitherto|wherein|therein|forthwith|lest)\b/gi, 'plain modern English'],
  [
    /(?<!there )\bis no (?:text|number|object|list|key|id|name|address|command|link|file)\b/gi,
    '"must be ..."',
  ],
]

/** Words that make a poor name, though they are good English. Matched in the names that code declares. */
const NAME_WORDS = {
  told: 'name what is reported',
  letter: 'message record',
  letters: 'message records',
  lapsed: 'use a verb, or is/has',
  begun: 'use a verb, or is/has',
  yielded: 'use a verb, or is/has',
  blow: 'fault',
  blows: 'faults',
  fans: 'expansions',
  ways: 'sleep sets',
  turns: 'successors; steps',
  still: 'untimed',
}
const ADJECTIVES = ['lapsed', 'begun', 'yielded', 'still']
/** Options, specifications and messages whose names are public. */
const PUBLIC_NAMES = /\byieldWhenTold\b|\btold-in-pairs\b|\btoldInPairs\b|\bWhoAreYou\b/g

const DECLARED = [
  /\b(?:const|let|function\*?|type|class|interface|enum)\s+(\w+)/g,
  /^\s*(?:export\s+)?(?:readonly |static |async |get |set |private )*#?(\w+)\??(?:\(|<|:)/gm,
]

const IGNORE = /language-ignore -- \S/
const QUOTATION = /^\s*(?:\*|\/\/)?\s*>/
const LEADER = /^\s*(?:\/\*\*?|\*\/|\*(?!\*)|\/\/+)?\s*/

/** The words of a text as one string, comments joined to sentences, with the line number of each character. */
function wordsOf(text, isCode) {
  const lines = text.split('\n')
  const numbers = []
  let words = ''
  const add = (part, line) => {
    words += part
    for (let i = 0; i < part.length; i += 1) numbers.push(line)
  }
  lines.forEach((line, index) => {
    const isExcepted = QUOTATION.test(line) || IGNORE.test(line) || IGNORE.test(lines[index - 1] ?? '')
    const isComment = /^\s*(?:\*|\/\/)/.test(line)
    const checked = line.replaceAll(PUBLIC_NAMES, '_')
    const plain = isCode ? splitNames(checked.replace(LEADER, '')) : checked.replace(/^\s+/, '')
    const continues = plain !== '' && (isCode ? isComment : !/^(?:[#|*-]|\d+\.)/.test(plain))
    add(continues ? ' ' : '\n', index + 1)
    if (!isExcepted) add(plain, index + 1)
  })
  return { words, numbers }
}

function splitNames(text) {
  return text.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').replaceAll('_', ' ')
}

/** @returns {{ line: number, found: string, instead: string }[]} in the order of the lines */
function check(text, isCode) {
  const findings = []
  const { words, numbers } = wordsOf(text, isCode)
  for (const [pattern, instead] of PHRASES) {
    for (const match of words.matchAll(pattern)) {
      const end = match.index + match[0].length - 1
      findings.push({ line: numbers[end], found: match[0].trim().replaceAll(/\s+/g, ' '), instead })
    }
  }
  if (isCode) findings.push(...checkNames(text))
  return findings.toSorted((a, b) => a.line - b.line)
}

function checkNames(text) {
  const lines = text.split('\n')
  const found = new Map()
  for (const pattern of DECLARED) {
    for (const match of text.replaceAll(PUBLIC_NAMES, (name) => '_'.repeat(name.length)).matchAll(pattern)) {
      const line = text.slice(0, match.index + match[0].length).split('\n').length
      const bad = findBadWord(match[1])
      const isComment = /^\s*(?:\*|\/\/|\/\*)/.test(lines[line - 1])
      const isExcepted = IGNORE.test(lines[line - 1]) || IGNORE.test(lines[line - 2] ?? '')
      if (bad === undefined || isComment || isExcepted) continue
      found.set(`${line} ${match[1]}`, { line, found: match[1], instead: NAME_WORDS[bad] })
    }
  }
  return [...found.values()]
}

/** A participle is fine in the name of a boolean, such as `hasBegun`. */
function findBadWord(name) {
  const words = splitNames(name).toLowerCase().split(' ')
  const isBoolean = words.length > 1 && ['is', 'has', 'can'].includes(words[0])
  return words
    .filter((word) => !(isBoolean && ADJECTIVES.includes(word)))
    .find((word) => Object.hasOwn(NAME_WORDS, word))
}

const root = fileURLToPath(new URL('..', import.meta.url))

/** The files in the given files and folders, by default in the repository. Untracked files count too. */
function filesIn(paths) {
  const folders = paths.filter((path) => !isFile(path))
  if (paths.length > 0 && folders.length === 0) return paths
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', ...folders], {
    cwd: root,
    encoding: 'utf8',
  })
  const listed = list.split('\n').filter((file) => /\.(?:tsx?|mjs|js|md)$/.test(file) && file !== OWN)
  // A file that is deleted but not yet committed is listed too.
  return [...paths.filter(isFile), ...listed.filter(isFile)]
}

/** This file is a list of the words. */
const OWN = 'scripts/language.mjs'

function isFile(path) {
  return statSync(resolve(root, path), { throwIfNoEntry: false })?.isFile() === true
}

function main(words) {
  const isCount = words.includes('--count')
  const counts = new Map()
  let total = 0
  for (const file of filesIn(words.filter((word) => word !== '--count'))) {
    const findings = check(readFileSync(resolve(root, file), 'utf8'), !file.endsWith('.md'))
    total += findings.length
    if (findings.length > 0) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + findings.length)
    if (isCount) continue
    for (const { line, found, instead } of findings)
      console.log(`${file}:${line}: "${found}" (write: ${instead})`)
  }
  if (isCount) for (const [folder, count] of counts) console.log(`${String(count).padStart(5)}  ${folder}`)
  console.log(total === 0 ? 'no findings' : `${total} findings`)
  return total === 0 ? 0 : 1
}

process.exitCode = main(process.argv.slice(2))
