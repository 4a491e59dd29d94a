/** The whole page. */
import { useEffect } from 'preact/hooks'
import { isStale, status } from '../data/store.ts'
import { type BannerLevel, LEVEL_NAMES } from '../view/banner.ts'
import { ActionDialog } from './action-dialog.tsx'
import { Banner } from './banner.tsx'
import { ChartsCard } from './charts-card.tsx'
import { Header } from './header.tsx'
import { LeaderCard } from './leader-card.tsx'
import { LogCard } from './log-card.tsx'
import { MatrixCard } from './matrix-card.tsx'
import { NodesCard } from './nodes-card.tsx'
import { PartitionDialog } from './partition-dialog.tsx'
import { RibbonCard } from './ribbon-card.tsx'
import { ToleranceCard } from './tolerance-card.tsx'
import { VersionNotice } from './version-notice.tsx'
import { WarningsStrip } from './warnings-strip.tsx'

/** Marks the frame that shows the first data: `npm run bench -- page` reads it. */
function useFirstDataMark(hasData: boolean): void {
  useEffect(() => {
    if (hasData) requestAnimationFrame(() => setTimeout(() => performance.mark('first-data')))
  }, [hasData])
}

/** The title of the window says the level, so that a row of tabs shows which group is in trouble. */
function useTitle(level: BannerLevel, group: string | null): void {
  useEffect(() => {
    document.title = group === null ? 'Conclave' : `${LEVEL_NAMES[level]}: ${group}`
  }, [level, group])
}

export function Page() {
  const seen = status.value
  useFirstDataMark(seen !== null)
  useTitle(isStale.value ? 'lost' : (seen?.level ?? 'connecting'), seen?.group ?? null)
  return (
    <div class={isStale.value ? 'page is-stale' : 'page'}>
      <Header />
      <main>
        <Banner />
        <VersionNotice />
        {seen === null ? null : (
          <>
            <WarningsStrip warnings={seen.warnings} />
            <div class="cards">
              <LeaderCard status={seen} />
              <ToleranceCard status={seen} />
              <RibbonCard />
              <NodesCard status={seen} />
              <MatrixCard status={seen} />
              <LogCard />
              <ChartsCard />
            </div>
          </>
        )}
      </main>
      <ActionDialog />
      <PartitionDialog />
    </div>
  )
}
