/** How it is, for a person with a browser: plain HTML, no script. */
import { html } from 'hono/html'
import type { StatusAnswer } from '../client/index.ts'

/** What a browser may do with it: nothing but show it. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

/** One group after the other. */
export function page(groups: readonly StatusAnswer[]) {
  const title = groups.map(({ level, group }) => `${level}: ${group}`).join(', ')
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif }
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
td, th { text-align: left; padding: 0.2rem 1.5rem 0.2rem 0; font-variant-numeric: tabular-nums }
</style>
</head>
<body>
<main>
${groups.map(section)}</main>
</body>
</html>
`
}

function section({ group, self, banner, leader, spareFailures, members, view, at }: StatusAnswer) {
  return html`<h1>${group}</h1>
<p><strong>${banner}</strong></p>
<table>
<tr><th scope="row">leader</th><td>${leader === null ? 'none' : leader.id}</td></tr>
<tr><th scope="row">token</th><td>${leader?.token ?? 'none'}</td></tr>
<tr><th scope="row">lease left</th><td>${leaseText(leader)}</td></tr>
<tr><th scope="row">voters that may fail</th><td>${spareFailures}</td></tr>
${
  view === undefined
    ? ''
    : html`<tr><th scope="row">view</th><td>${viewText(view)}</td></tr>
`
}</table>
<h2>Members</h2>
<table>
<thead><tr><th scope="col">id</th><th scope="col">is</th><th scope="col">last heard</th></tr></thead>
<tbody>
${members.map(
  (member) => html`<tr><td>${member.id}</td><td>${wordsFor(member)}</td><td>${heardText(member)}</td></tr>
`,
)}</tbody>
</table>
<p>As ${self.id} (${self.role}) saw it at <time datetime="${at}">${at}</time>. Reload for the present state.</p>
`
}

function leaseText(leader: StatusAnswer['leader']): string {
  if (leader === null) return 'none'
  return leader.expiresInMs === null ? 'there are no leases' : `${leader.expiresInMs.toFixed(1)} ms`
}

function viewText(view: StatusAnswer['view']): string {
  return view === undefined || view === null ? 'none' : `${view.id.join('.')}: ${view.members.join(', ')}`
}

function wordsFor({ leader, voter, there, evidenceMsAgo }: StatusAnswer['members'][number]): string {
  const age = evidenceMsAgo === null ? '' : ` (${evidenceMsAgo.toFixed(0)} ms old)`
  const words = [there ? `there${age}` : 'missing', leader ? 'leader' : null, voter ? null : 'observer']
  return words.filter((word) => word !== null).join(', ')
}

function heardText({ heardMsAgo }: StatusAnswer['members'][number]): string {
  return heardMsAgo === null ? 'never' : `${heardMsAgo.toFixed(0)} ms ago`
}
