/** The style sheet of the page: light and dark, from 320 pixels on. */

export const STYLE = `
:root {
  color-scheme: light dark;
  --ground: #f6f7f9; --surface: #ffffff; --line: #d9dde4; --text: #16191f; --quiet: #5a6270;
  --accent: #1f5fa8; --good: #1a7f45; --bad: #b3261e; --bad-ground: #fdeceb;
  --c1: #1f6fc4; --c2: #b8560f; --c3: #12805c; --c4: #9a3fa8; --c5: #a63446; --c6: #5b6b12; --c7: #0e7490; --c8: #6d4fc4;
  font: 15px/1.5 system-ui, sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #101318; --surface: #181c23; --line: #2c323d; --text: #e8ebf0; --quiet: #9aa4b2;
    --accent: #6fb1ff; --good: #5fd08f; --bad: #ff8f86; --bad-ground: #3a1b1b;
    --c1: #6fb1ff; --c2: #f5a05a; --c3: #4fd3a2; --c4: #db8cf0; --c5: #ff8b9c; --c6: #c3d455; --c7: #5cd0e8; --c8: #b09bff;
  }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 1rem clamp(0.75rem, 2vw, 2rem) 2rem; max-width: 96rem; background: var(--ground); color: var(--text) }
h1 { font-size: 1.35rem; line-height: 1.25; margin: 0 }
h2 { font-size: 0.95rem; margin: 0 0 0.4rem }
p, ul, ol, dl { margin: 0; padding: 0 }
ul, ol { list-style: none }
code { font: 0.92em ui-monospace, monospace }
.hint, #view, #manager { color: var(--quiet); font-size: 0.85rem }
header { display: grid; gap: 0.75rem; margin-bottom: 1rem }
#phase { color: var(--quiet) }
#phase.good { color: var(--good); font-weight: 600 }
#phase.bad { color: var(--bad); font-weight: 600 }
#counts { display: flex; flex-wrap: wrap; gap: 0.25rem 1.5rem }
#counts div { display: flex; gap: 0.4rem; align-items: baseline }
#counts dt { color: var(--quiet); font-size: 0.85rem }
#counts dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums }
progress { appearance: none; width: 100%; height: 0.4rem; border: 0; border-radius: 1rem; overflow: hidden; background: var(--line) }
progress::-webkit-progress-bar { background: var(--line) }
progress::-webkit-progress-value { background: var(--accent); transition: inline-size 0.2s }
progress::-moz-progress-bar { background: var(--accent) }
main { display: grid; gap: 1rem; grid-template-columns: minmax(0, 1fr) }
section { background: var(--surface); border: 1px solid var(--line); border-radius: 0.6rem; padding: 0.9rem; min-width: 0 }
#frame { position: relative; border-radius: 0.3rem; overflow: hidden; background: #06080f }
canvas { display: block; width: 100%; height: auto }
#tiles { position: absolute; inset: 0 }
.tile { position: absolute; border: 1px dashed #ffffff30 }
.tile.running { border: 2px solid var(--own) }
.tile.lost { --own: #ff8f86; border: 2px dashed var(--own) }
.tile.done { border-color: transparent }
.tile span { position: absolute; inset: 0 auto auto 0; padding: 0 0.35rem; font-size: 0.75rem; line-height: 1.35; color: #10131a; background: var(--own); border-radius: 0 0 0.3rem 0 }
.tile span:empty { display: none }
.picture .hint { margin-top: 0.6rem }
#tiles { --c1: #6fb1ff; --c2: #f5a05a; --c3: #4fd3a2; --c4: #db8cf0; --c5: #ff8b9c; --c6: #c3d455; --c7: #5cd0e8; --c8: #b09bff }
.own-1 { --own: var(--c1) } .own-2 { --own: var(--c2) } .own-3 { --own: var(--c3) } .own-4 { --own: var(--c4) }
.own-5 { --own: var(--c5) } .own-6 { --own: var(--c6) } .own-7 { --own: var(--c7) } .own-8 { --own: var(--c8) }
#view { margin-bottom: 0.6rem }
#nodes { display: grid; gap: 0.4rem }
.node { display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: 0 0.6rem; align-items: center; padding: 0.45rem 0.6rem; border: 1px solid var(--line); border-left: 0.3rem solid var(--own); border-radius: 0.4rem }
.node b { min-width: 1.6rem }
.node .what { font-size: 0.85rem; color: var(--quiet); overflow-wrap: anywhere }
.node.down { border-left-style: dotted }
.node.down b { color: var(--quiet); text-decoration: line-through }
.role { color: var(--text); font-weight: 600 }
button { font: inherit; font-size: 0.85rem; min-width: 4.6rem; padding: 0.3rem 0.7rem; border: 1px solid var(--line); border-radius: 0.4rem; background: var(--ground); color: var(--text); cursor: pointer }
button.kill { color: var(--bad); border-color: currentColor }
button.kill:hover:enabled { background: var(--bad-ground) }
button.revive { color: var(--good); border-color: currentColor }
button:disabled { opacity: 0.45; cursor: not-allowed }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
#notice { color: var(--bad); font-size: 0.85rem; min-height: 1.3rem; margin: 0.3rem 0 0.5rem }
#steps { display: grid; gap: 0.15rem; margin-top: 0.4rem; font-size: 0.85rem; counter-reset: step }
#steps li { counter-increment: step; display: flex; gap: 0.5rem; padding: 0.1rem 0.5rem; border-radius: 0.3rem; color: var(--quiet) }
#steps li::before { content: counter(step); font-variant-numeric: tabular-nums }
#steps li[aria-current] { background: var(--accent); color: var(--surface); font-weight: 600 }
#checkpoints { display: grid; gap: 0.3rem 1.2rem; grid-template-columns: repeat(auto-fill, minmax(13.5rem, 1fr)); margin-top: 0.5rem }
#checkpoints li { display: grid; grid-template-columns: 4.2rem 2.2rem auto; gap: 0.5rem; align-items: center; font-size: 0.85rem; font-variant-numeric: tabular-nums }
#checkpoints .epoch { color: var(--quiet); text-align: right }
.columns { display: flex; gap: 0.2rem; flex-wrap: wrap }
.columns i { width: 0.95rem; height: 0.95rem; border-radius: 0.2rem; border: 2px solid var(--own); background: var(--own) }
.columns i.missing { background: transparent; border-style: dotted }
.log { max-height: 17rem; overflow-y: auto; font: 0.8rem/1.6 ui-monospace, monospace; overflow-wrap: anywhere }
#events li { display: grid; grid-template-columns: 3.5rem minmax(0, 1fr); gap: 0.5rem }
#events time { color: var(--quiet); text-align: right; font-variant-numeric: tabular-nums }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
@media (min-width: 62rem) {
  header { grid-template-columns: minmax(0, 1fr) auto; align-items: end }
  progress { grid-column: 1 / -1 }
  main { grid-template-columns: minmax(0, 1fr) 21rem }
  .events, .checkpoints { grid-column: auto }
}
@media (max-width: 30rem) {
  .tile span { font-size: 0.6rem; padding: 0 0.2rem }
  button { min-height: 2.4rem }
}
@media (prefers-reduced-motion: reduce) { * { transition: none !important } }
`
