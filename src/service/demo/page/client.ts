/** The script of the page, for browsers: shows the state that the server sends, and sends kills and revivals. */
import type { DemoState, NodeState, TileState } from '../state.ts'

const BYTES_PER_PIXEL = 3
const COLOURS = 8

function find(id: string): HTMLElement {
  return document.querySelector(`#${id}`) as HTMLElement
}

/** Creates an element within `parent`. */
function add<K extends keyof HTMLElementTagNameMap>(
  parent: Element,
  tag: K,
  className = '',
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  if (className !== '') element.className = className
  parent.append(element)
  return element
}

function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}

/** The class that gives a node its colour. */
function colourClass(state: DemoState, node: string | null): string {
  const index = state.nodes.findIndex(({ id }) => id === node)
  return index < 0 ? '' : `own-${(index % COLOURS) + 1}`
}

// ---- The picture ----

const canvas = find('canvas') as HTMLCanvasElement
const drawing = canvas.getContext('2d')
/** Rows that are drawn, by tile. */
const drawn = new Map<string, number>()
const fetching = new Set<string>()

async function drawTile(tile: TileState): Promise<void> {
  const from = drawn.get(tile.name) ?? 0
  if (drawing === null || tile.rows <= from || fetching.has(tile.name)) return
  fetching.add(tile.name)
  try {
    const answer = await fetch(`tiles/${tile.name}?from=${from}`)
    const bytes = new Uint8Array(await answer.arrayBuffer())
    const rows = Math.floor(bytes.length / (tile.width * BYTES_PER_PIXEL))
    if (!answer.ok || rows === 0) return
    const image = drawing.createImageData(tile.width, rows)
    for (let pixel = 0; pixel < tile.width * rows; pixel++) {
      image.data.set(bytes.subarray(pixel * BYTES_PER_PIXEL, (pixel + 1) * BYTES_PER_PIXEL), pixel * 4)
      image.data[pixel * 4 + 3] = 255
    }
    drawing.putImageData(image, tile.left, tile.top + from)
    drawn.set(tile.name, from + rows)
  } catch {
    // The next state asks again.
  } finally {
    fetching.delete(tile.name)
  }
}

function showPicture(state: DemoState): void {
  const { width, height } = state.picture
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width
    canvas.height = height
    drawn.clear()
  }
  const frames = find('tiles')
  for (const [index, tile] of state.tiles.entries()) {
    const known = frames.children[index] as HTMLElement | undefined
    const frame = known ?? addFrame(frames, state, tile)
    frame.className = `tile ${tile.status} ${colourClass(state, tile.node)}`
    const label = tile.status === 'running' ? (tile.node ?? '') : ''
    setText(frame.firstElementChild as Element, tile.status === 'lost' ? 'lost' : label)
    void drawTile(tile)
  }
}

function addFrame(frames: HTMLElement, { picture }: DemoState, tile: TileState): HTMLElement {
  const frame = add(frames, 'div', 'tile')
  const percent = (part: number, whole: number): string => `${(100 * part) / whole}%`
  frame.style.left = percent(tile.left, picture.width)
  frame.style.top = percent(tile.top, picture.height)
  frame.style.width = percent(tile.width, picture.width)
  frame.style.height = percent(tile.height, picture.height)
  add(frame, 'span')
  return frame
}

// ---- Nodes ----

async function act(node: string, what: 'kill' | 'revive'): Promise<void> {
  const notice = find('notice')
  try {
    const answer = await fetch(`nodes/${node}/${what}`, { method: 'POST' })
    const { error } = (await answer.json()) as { readonly error?: { readonly message: string } }
    setText(notice, error?.message ?? '')
  } catch {
    setText(notice, 'the demonstration has ended')
  }
}

function showNodes(state: DemoState): void {
  const list = find('nodes')
  for (const [index, node] of state.nodes.entries()) {
    const item = list.children[index] ?? addNode(list, node.id)
    item.className = `node ${node.status} ${colourClass(state, node.id)}`
    setText(item.querySelector('.what') as Element, describeNode(state, node))
    const button = item.querySelector('button') as HTMLButtonElement
    const what = node.status === 'down' ? 'revive' : 'kill'
    button.className = what
    button.disabled = state.phase === 'done' || node.keepReason !== null
    button.title = node.keepReason ?? ''
    setText(button, what === 'kill' ? 'Kill' : 'Revive')
    button.setAttribute('aria-label', `${what} ${node.id}`)
  }
}

function addNode(list: Element, id: string): Element {
  const item = add(list, 'li')
  add(item, 'b').textContent = id
  add(item, 'span', 'what')
  const button = add(item, 'button')
  button.type = 'button'
  button.addEventListener(
    'click',
    () => void act(id, button.classList.contains('revive') ? 'revive' : 'kill'),
  )
  return item
}

function describeNode(state: DemoState, { id, status }: NodeState): string {
  if (status !== 'up') return status
  const tiles = state.tiles.filter((tile) => tile.status === 'running' && tile.node === id)
  const columns = state.tiles.filter(({ holders }) => holders.includes(id)).length
  return [
    ...(state.view?.leader === id ? ['fault manager'] : []),
    tiles.length === 0 ? 'idle' : tiles.map(({ name }) => name).join(', '),
    columns === 1 ? '1 column' : `${columns} columns`,
  ].join(' · ')
}

// ---- The group ----

function showGroup({ view, step, nodes }: DemoState, steps: readonly string[]): void {
  const members = view === null ? 'No view yet.' : `View ${view.token}: ${view.members.join(', ')}`
  setText(find('view'), `${members} (${view?.members.length ?? 0} of ${nodes.length})`)
  const current = step?.step ?? 0
  setText(find('manager'), view === null ? 'Not elected yet.' : `${view.leader} leads the view.`)
  const list = find('steps')
  for (const [index, name] of steps.entries()) {
    const item = list.children[index] ?? add(list, 'li')
    setText(item, name)
    if (index + 1 === current) item.setAttribute('aria-current', 'step')
    else item.removeAttribute('aria-current')
  }
}

const TOLERATED = ['No column may be lost.', 'Any column may be lost.', 'Any two columns may be lost.']

function showCheckpoints(state: DemoState): void {
  const { tolerated } = state
  setText(find('tolerated'), TOLERATED[tolerated] ?? `Any ${tolerated} columns may be lost.`)
  const list = find('checkpoints')
  for (const [index, tile] of state.tiles.entries()) {
    const item = list.children[index] ?? addCheckpoint(list)
    // The columns of a node that is down are on its disk, and out of reach.
    const readable = state.nodes.filter(({ id, status }) => status !== 'down' && tile.holders.includes(id))
    const [name, epoch, columns, text] = item.children as unknown as [Element, Element, Element, Element]
    setText(name, tile.name)
    setText(epoch, tile.epoch === null ? '' : `#${tile.epoch}`)
    setText(
      text,
      tile.epoch === null
        ? 'no checkpoint'
        : `columns at ${readable.map(({ id }) => id).join(', ') || 'no node'}`,
    )
    for (const [place, node] of state.nodes.entries()) {
      const square = columns.children[place] ?? add(columns, 'i')
      square.className = colourClass(state, node.id)
      square.classList.toggle('missing', !readable.includes(node))
    }
  }
}

function addCheckpoint(list: Element): Element {
  const item = add(list, 'li')
  add(item, 'span')
  add(item, 'span', 'epoch')
  add(item, 'span', 'columns').setAttribute('aria-hidden', 'true')
  add(item, 'span', 'hidden')
  return item
}

// ---- The rest ----

function showHeader(state: DemoState): void {
  const { phase, tiles, identical, counts, seconds } = state
  const total = tiles.reduce((sum, { height }) => sum + height, 0)
  const rows = tiles.reduce((sum, tile) => sum + tile.rows, 0)
  const share = total === 0 ? 0 : rows / total
  const bar = find('progress') as HTMLProgressElement
  bar.value = share
  const element = find('phase')
  element.className = identical === null ? '' : identical ? 'good' : 'bad'
  const texts = {
    starting: 'Starting the nodes.',
    rendering: `Rendering: ${Math.floor(100 * share)} % after ${seconds.toFixed(0)} s.`,
    checking: 'Complete. Computing the picture again, without failures, to compare.',
    done:
      identical === true
        ? 'Identical to the picture without failures, bit for bit.'
        : 'DIFFERENT from the picture without failures.',
  }
  setText(element, texts[phase])
  const shown = {
    kills: counts.kills,
    'resumed tiles': counts.resumed,
    checkpoints: counts.checkpoints,
    'duplicates dropped': counts.duplicates,
    views: counts.views,
  }
  const list = find('counts')
  for (const [index, [name, value]] of Object.entries(shown).entries()) {
    const item = list.children[index] ?? addCount(list)
    setText(item.firstElementChild as Element, name)
    setText(item.lastElementChild as Element, String(value))
  }
}

function addCount(list: Element): Element {
  const item = add(list, 'div')
  add(item, 'dt')
  add(item, 'dd')
  return item
}

function showEvents({ events }: DemoState): void {
  const list = find('events')
  const newest = [...events].reverse()
  for (const [index, { seconds, text }] of newest.entries()) {
    const item = list.children[index] ?? addEvent(list)
    setText(item.firstElementChild as Element, `${seconds.toFixed(1)} s`)
    setText(item.lastElementChild as Element, text)
  }
}

function addEvent(list: Element): Element {
  const item = add(list, 'li')
  add(item, 'time')
  add(item, 'span')
  return item
}

type Update = { readonly state: DemoState; readonly steps: readonly string[] }

let hasEnded = false
const source = new EventSource('events')
source.addEventListener('message', ({ data }: MessageEvent<string>) => {
  const { state, steps } = JSON.parse(data) as Update
  hasEnded = state.phase === 'done'
  showHeader(state)
  showPicture(state)
  showNodes(state)
  showGroup(state, steps)
  showCheckpoints(state)
  showEvents(state)
})
source.addEventListener('error', () => {
  if (hasEnded) source.close()
  else setText(find('phase'), 'The demonstration does not answer. Trying again …')
})
