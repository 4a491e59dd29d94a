/** The scenario and a module as text, and the list of keys. */
import { useEffect, useState } from 'preact/hooks'
import { KEY_TABLE } from '../key-table.ts'
import { dialog, ownModule, problems, scenario, store } from '../state.ts'
import { Coded } from './coded.tsx'
import { closeDialog, Frame } from './frame.tsx'

export function ScenarioDialog() {
  const isOpen = dialog.value === 'scenario'
  const [text, setText] = useState('')
  useEffect(() => {
    if (isOpen) setText(JSON.stringify(scenario.value, null, 2))
  }, [isOpen])
  const run = async (event: Event): Promise<void> => {
    event.preventDefault()
    await store().openText(text, 'edited.json')
    if (problems.value.length === 0) closeDialog()
  }
  return (
    <Frame name="scenario" title="Scenario" isWide>
      <form onSubmit={(event) => void run(event)}>
        <p class="hint">
          <Coded text="The whole run, as in a file for `conclave sim`. Change it and run it again." />
        </p>
        <textarea
          class="code"
          aria-label="Scenario"
          rows={20}
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <ProblemList />
        <div class="buttons">
          <button type="submit" class="primary">
            Run
          </button>
        </div>
      </form>
    </Frame>
  )
}

export function ModuleDialog() {
  const isOpen = dialog.value === 'module'
  const [text, setText] = useState('')
  useEffect(() => {
    if (isOpen) setText(ownModule.value?.text ?? '')
  }, [isOpen])
  const run = async (event: Event): Promise<void> => {
    event.preventDefault()
    await store().openModule({ name: 'your-protocol.mjs', ...ownModule.value, text })
    if (problems.value.length === 0) closeDialog()
  }
  return (
    <Frame name="module" title="Your protocol" isWide>
      <form onSubmit={(event) => void run(event)}>
        <p class="hint">
          <Coded text="Paste a module that exports `protocol`, and `specs` if you have some, as in “Your first protocol”." />{' '}
          It runs in a worker of this page and nowhere else. You can also drop the file on the page.
        </p>
        <textarea
          class="code"
          aria-label="Module"
          rows={20}
          spellcheck={false}
          placeholder="import { define } from 'conclave/core'"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <ProblemList />
        <div class="buttons">
          <button type="submit" class="primary" disabled={text.trim() === ''}>
            Run
          </button>
        </div>
      </form>
    </Frame>
  )
}

function ProblemList() {
  const known = problems.value
  if (known.length === 0) return null
  return (
    <ul class="problem" role="alert">
      {known.slice(0, 8).map(({ place, message }) => (
        <li key={`${place} ${message}`}>
          {place === null ? null : <code>{place}</code>} {message}
        </li>
      ))}
    </ul>
  )
}

export function KeysDialog() {
  return (
    <Frame name="keys" title="Keys">
      <table class="keys">
        <tbody>
          {KEY_TABLE.map(([keys, meaning]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Frame>
  )
}
