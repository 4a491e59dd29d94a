/** The live page of an agent. */
// oxlint-disable-next-line import/no-unassigned-import -- the style sheet
import './style/index.css'
import { render } from 'preact'
import { startPage } from './data/store.ts'
import { startTheme } from './data/theme.ts'
import { Page } from './parts/page.tsx'

const root = document.querySelector('#page')
if (root !== null) {
  startTheme()
  startPage()
  root.replaceChildren()
  render(<Page />, root)
}
