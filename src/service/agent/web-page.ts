/**
 * Serves the live page and the playground: the files that Vite built into dist/web and dist/playground. They are read
 * once. The live page asks for all its data over HTTP, so the files contain none and need no token.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Context } from 'hono'
import { errorResponse } from './admin.ts'

/** From src/ in tests and from dist/ otherwise: both are three folders below the package. */
const ROOT = new URL('../../../dist/web/', import.meta.url)
const PLAYGROUND_ROOT = new URL('../../../dist/playground/', import.meta.url)

const TYPES: { readonly [extension: string]: string } = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Content security policy: everything from this agent, nothing inline; requests also to the supervisor of a local group. */
export function pagePolicy(supervisor: string | null): string {
  const connect = supervisor === null ? "'self'" : `'self' ${new URL(supervisor).origin}`
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${connect}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/**
 * Content security policy of the playground. `connect`: the page may fetch files from its own server. It is sent with
 * every file, because a worker has the policy of its own script: there, modules that a reader pasted or that came with a
 * link run from blob: URLs, and they may send no request, least of all to this agent.
 */
export function playgroundPolicy(file: 'page' | 'asset', connect: 'self' | 'none'): string {
  const isPage = file === 'page'
  return [
    "default-src 'none'",
    `script-src 'self'${isPage ? '' : ' blob:'}`,
    "worker-src 'self' blob:",
    "style-src 'self'",
    "img-src 'self' data:",
    `connect-src ${isPage && connect === 'self' ? "'self'" : "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

type File = {
  readonly plain: Uint8Array<ArrayBuffer>
  readonly zipped: Uint8Array<ArrayBuffer>
  readonly type: string
}

export type WebPage = {
  page(c: Context, supervisor: string | null): Response
  asset(c: Context, name: string): Response
}

/** Reads the files at the first request: most agents are never asked by a browser. */
export function loadWebPage(root: URL = ROOT): WebPage {
  const fileOf = lazyFiles(root)
  return {
    page(c, supervisor) {
      c.header('Content-Security-Policy', pagePolicy(supervisor))
      return sendPage(c, fileOf('index.html'))
    },
    asset: (c, name) => sendAsset(c, fileOf(`assets/${name}`)),
  }
}

export type PlaygroundPage = {
  page(c: Context): Response
  asset(c: Context, name: string): Response
}

export function loadPlayground(connect: 'self' | 'none', root: URL = PLAYGROUND_ROOT): PlaygroundPage {
  const fileOf = lazyFiles(root)
  return {
    page(c) {
      c.header('Content-Security-Policy', playgroundPolicy('page', connect))
      return sendPage(c, fileOf('index.html'))
    },
    asset(c, name) {
      c.header('Content-Security-Policy', playgroundPolicy('asset', connect))
      return sendAsset(c, fileOf(`assets/${name}`))
    },
  }
}

function lazyFiles(root: URL): (name: string) => File | undefined {
  let files: ReadonlyMap<string, File> | null = null
  return (name) => {
    files ??= readFiles(root)
    return files.get(name)
  }
}

function sendPage(c: Context, file: File | undefined): Response {
  if (file === undefined)
    return errorResponse(c, 503, 'PageNotBuilt', 'the page is not built: run npm run build')
  c.header('Referrer-Policy', 'no-referrer')
  return send(c, file)
}

function sendAsset(c: Context, file: File | undefined): Response {
  if (file === undefined) return errorResponse(c, 404, 'NotFound', `unknown path: GET ${c.req.path}`)
  // Its name contains a hash of its content.
  c.header('Cache-Control', 'public, max-age=31536000, immutable')
  return send(c, file)
}

function send(c: Context, { plain, zipped, type }: File): Response {
  const canUnzip = /\bgzip\b/.test(c.req.header('Accept-Encoding') ?? '')
  c.header('Content-Type', type)
  c.header('Vary', 'Accept, Accept-Encoding')
  if (!canUnzip) return c.body(plain)
  c.header('Content-Encoding', 'gzip')
  return c.body(zipped)
}

/** The page and its assets by their path; empty if the page was not built. Only these can be requested. */
function readFiles(root: URL): ReadonlyMap<string, File> {
  const read = (name: string): readonly [string, File] => {
    const plain = new Uint8Array(readFileSync(new URL(name, root)))
    const type = TYPES[extname(name)] ?? 'text/html; charset=utf-8'
    return [name, { plain, zipped: new Uint8Array(gzipSync(plain)), type }]
  }
  try {
    const assets = readdirSync(new URL('assets/', root)).filter((name) => extname(name) in TYPES)
    return new Map([read('index.html'), ...assets.map((name) => read(`assets/${name}`))])
  } catch {
    return new Map()
  }
}
