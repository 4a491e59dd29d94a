/** The page of the demonstration. Everything that changes is filled in by client.ts. */

/** Content security policy: scripts, styles, pictures and requests only from this server, and nothing inline. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fractal - Conclave</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="page.css">
<script type="module" src="page.js"></script>
</head>
<body>
<header>
<div class="title">
<h1>A fractal that survives <code>kill -9</code></h1>
<p id="phase" role="status">Connecting …</p>
</div>
<dl id="counts"></dl>
<progress id="progress" max="1" value="0" aria-label="Picture"></progress>
</header>
<main>
<section class="picture" aria-label="Picture">
<div id="frame"><canvas id="canvas" aria-label="The Mandelbrot set, as far as it is rendered"></canvas><div id="tiles" aria-hidden="true"></div></div>
<p class="hint">A coloured frame shows the node that computes a tile. Rows appear when the checkpoint that contains them is committed.</p>
</section>
<section class="group" aria-labelledby="nodes-heading">
<h2 id="nodes-heading">Nodes</h2>
<p id="view"></p>
<ul id="nodes"></ul>
<p id="notice" role="alert"></p>
<h2 id="manager-heading">Fault manager</h2>
<p id="manager"></p>
<ol id="steps" aria-labelledby="manager-heading"></ol>
</section>
<section class="checkpoints" aria-labelledby="checkpoints-heading">
<h2 id="checkpoints-heading">Checkpoints</h2>
<p class="hint">The newest checkpoint of each tile. One square per node: full if the node is up and has its column of the checkpoint on its disk. <span id="tolerated"></span></p>
<ul id="checkpoints"></ul>
</section>
<section class="events" aria-labelledby="events-heading">
<h2 id="events-heading">Events</h2>
<div class="log" role="log" aria-live="off" aria-labelledby="events-heading" tabindex="0"><ol id="events"></ol></div>
</section>
</main>
<noscript><p>This page needs JavaScript.</p></noscript>
</body>
</html>
`

export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#1f5fa8"/><circle cx="8" cy="8" r="4.5" fill="none" stroke="#fff6d8" stroke-width="2" stroke-dasharray="4.2 1.5"/></svg>`
