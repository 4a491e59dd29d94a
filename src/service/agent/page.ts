/** The status page for browsers: plain HTML without scripts. */
import { html } from 'hono/html'
import type { StatusResponse } from '../client/index.ts'

/** Content security policy: the browser may show the page and nothing else. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

export function renderPage(groups: readonly StatusResponse[]) {
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

function section({ group, self, banner, leader, failureTolerance, nodes, view, at }: StatusResponse) {
  return html`<h1>${group}</h1>
<p><strong>${banner}</strong></p>
<table>
<tr><th scope="row">leader</th><td>${leader === null ? 'none' : leader.id}</td></tr>
<tr><th scope="row">token</th><td>${leader?.token ?? 'none'}</td></tr>
<tr><th scope="row">lease left</th><td>${leaseText(leader)}</td></tr>
<tr><th scope="row">failures the group can survive</th><td>${failureTolerance}</td></tr>
${
  view === undefined
    ? ''
    : html`<tr><th scope="row">view</th><td>${viewText(view)}</td></tr>
`
}</table>
<h2>Nodes</h2>
<table>
<thead><tr><th scope="col">id</th><th scope="col">state</th><th scope="col">last heard</th></tr></thead>
<tbody>
${nodes.map(
  (node) => html`<tr><td>${node.id}</td><td>${stateText(node)}</td><td>${heardText(node)}</td></tr>
`,
)}</tbody>
</table>
<p>As observed by ${self.id} (${self.role}) at <time datetime="${at}">${at}</time>. Reload to refresh.</p>
`
}

function leaseText(leader: StatusResponse['leader']): string {
  if (leader === null) return 'none'
  return leader.expiresInMs === null
    ? 'not applicable: this protocol has no leases'
    : `${leader.expiresInMs.toFixed(1)} ms`
}

function viewText(view: StatusResponse['view']): string {
  return view === undefined || view === null ? 'none' : `${view.id.join('.')}: ${view.members.join(', ')}`
}

function stateText({ leader, voter, reachable, evidenceMsAgo }: StatusResponse['nodes'][number]): string {
  const age = evidenceMsAgo === null ? '' : ` (${evidenceMsAgo.toFixed(0)} ms ago)`
  const parts = [
    reachable ? `reachable${age}` : 'unreachable',
    leader ? 'leader' : null,
    voter ? null : 'observer',
  ]
  return parts.filter((part) => part !== null).join(', ')
}

function heardText({ heardMsAgo }: StatusResponse['nodes'][number]): string {
  return heardMsAgo === null ? 'never' : `${heardMsAgo.toFixed(0)} ms ago`
}
