/** The whole page. */
import { useEffect } from 'preact/hooks'
import { LessonsDialog } from './dialogs/lessons.tsx'
import { NetworkDialog, PartitionDialog } from './dialogs/network.tsx'
import { SearchDialog } from './dialogs/search.tsx'
import { ShareDialog } from './dialogs/share.tsx'
import { KeysDialog, ModuleDialog, ScenarioDialog } from './dialogs/texts.tsx'
import { handleKey } from './keys.ts'
import { ActionBar } from './panels/action-bar.tsx'
import { Branches, ComparisonText } from './panels/branches.tsx'
import { Header } from './panels/header.tsx'
import { Inspector } from './panels/inspector.tsx'
import { LeasePanel } from './panels/lease-panel.tsx'
import { CutShort, Headline, LessonStrip, Problems, Welcome } from './panels/strips.tsx'
import { Transport } from './panels/transport.tsx'
import { Verdicts } from './panels/verdicts.tsx'
import { PlacePicture } from './place/place-picture.tsx'
import { branch, branches, comparison, isTable, panel, picture, showsRoutine, store } from './state.ts'
import { NodesTable } from './time/nodes-table.tsx'
import { TimePicture } from './time/time-picture.tsx'

/** Marks the frame that shows the first picture: tests measure it. */
function useFirstPictureMark(hasPicture: boolean): void {
  useEffect(() => {
    if (hasPicture) requestAnimationFrame(() => setTimeout(() => performance.mark('first-picture')))
  }, [hasPicture])
}

function useKeysAndFiles(): void {
  useEffect(() => {
    const hold = (event: DragEvent): void => event.preventDefault()
    const drop = (event: DragEvent): void => {
      event.preventDefault()
      const files = [...(event.dataTransfer?.files ?? [])]
      if (files.length > 0) void store().openFiles(files)
    }
    addEventListener('keydown', handleKey)
    addEventListener('dragover', hold)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('keydown', handleKey)
      removeEventListener('dragover', hold)
      removeEventListener('drop', drop)
    }
  }, [])
}

export function Page() {
  const shown = picture.value
  useFirstPictureMark(shown !== null)
  useKeysAndFiles()
  useEffect(() => {
    document.title = shown === null ? 'Conclave playground' : `${shown.protocol}: Conclave playground`
  }, [shown?.protocol])
  return (
    <div class="page">
      <Header />
      <main>
        <Problems />
        <LessonStrip />
        <Welcome />
        {shown === null ? (
          <p class="boot">Running the first election …</p>
        ) : (
          <>
            <CutShort picture={shown} />
            <Headline picture={shown} />
            <div class="stage">
              <section class="card place-card" aria-labelledby="place-title">
                <header class="card-head">
                  <h2 id="place-title">Place</h2>
                  <p class="hint">drag around nodes, or from node to node</p>
                </header>
                <PlacePicture picture={shown} />
                <ActionBar picture={shown} />
              </section>
              <TimeCard />
              <Verdicts picture={shown} />
              <Inspector picture={shown} />
            </div>
            <Transport picture={shown} />
          </>
        )}
      </main>
      <LessonsDialog />
      <SearchDialog />
      <ShareDialog />
      <PartitionDialog />
      <NetworkDialog />
      <ScenarioDialog />
      <ModuleDialog />
      <KeysDialog />
    </div>
  )
}

const nameOf = (id: number): string => branches.value.find((each) => each.id === id)?.name ?? ''

function TimeCard() {
  const shown = picture.value
  const compared = comparison.value
  if (shown === null) return null
  const hasLeases = shown.lanes.some(({ leases }) => leases.length > 0)
  const hasStalls = shown.lanes.some(({ stalls }) => stalls.length > 0)
  const other = compared === null ? null : compared.picture
  return (
    <section class="card time-card" aria-labelledby="time-title">
      <header class="card-head">
        <h2 id="time-title">Time</h2>
        <p class="legend" aria-hidden="true">
          {hasLeases ? (
            <>
              <span>
                <i class="key-true" /> lease, true time
              </span>
              <span>
                <i class="key-believed" /> as believed
              </span>
              <span>
                <i class="key-wrong" /> wrong belief
              </span>
            </>
          ) : null}
          {hasStalls ? (
            <span>
              <i class="key-stall" /> paused, suspended
            </span>
          ) : null}
        </p>
        <div class="tools">
          <button
            type="button"
            class="quiet"
            aria-pressed={showsRoutine.value}
            title="Heartbeats and the like (r)"
            onClick={() => (showsRoutine.value = !showsRoutine.value)}
          >
            Heartbeats
          </button>
          <button
            type="button"
            class="quiet"
            aria-pressed={isTable.value}
            aria-label="Show the pictures as tables"
            onClick={() => {
              isTable.value = !isTable.value
              if (isTable.value) panel.value = 'events'
            }}
          >
            Table
          </button>
        </div>
      </header>
      {other === null ? <LeasePanel picture={shown} /> : null}
      {isTable.value ? (
        <NodesTable picture={shown} />
      ) : (
        <TimePicture picture={shown} isOther={false} title={other === null ? null : nameOf(branch.value)} />
      )}
      {compared === null || other === null || isTable.value ? null : (
        <TimePicture picture={other} isOther title={nameOf(compared.other)} />
      )}
      <ComparisonText />
      <Branches />
    </section>
  )
}
