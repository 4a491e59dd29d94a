/** Is anything getting worse? Four small charts of the last hour, loaded after the rest of the page. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { samples, status } from '../data/store.ts'
import { type ChartView, chartsOf } from '../view/charts.ts'
import { formatMs, formatTime } from '../view/format.ts'
import { Card, TableToggle } from './card.tsx'
import type { ChartProps } from './chart.tsx'

/** The rest of the page is shown first. */
const CHART_DELAY_MS = 150
const NOT_LOADED = 'The agent stopped while this chart was loaded. Reload the page.'

export function ChartsCard() {
  const [isTable, setTable] = useState(false)
  const [Chart, setChart] = useState<ComponentType<ChartProps> | null>(null)
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    const load = (): void =>
      void import('./chart.tsx').then(
        (module) => setChart(() => module.Chart),
        // The agent has stopped meanwhile. Browsers do not load a module again that they could not load.
        () => setFailed(true),
      )
    const timer = setTimeout(load, CHART_DELAY_MS)
    return () => clearTimeout(timer)
  }, [])
  const charts = chartsOf(samples.value, status.value)
  const tools = <TableToggle isTable={isTable} of="the charts" onToggle={() => setTable(!isTable)} />
  return (
    <Card name="charts" title="Measurements" tools={tools}>
      {isTable ? (
        <SampleTable charts={charts} />
      ) : (
        <div class="chart-grid">
          {charts.map((view) => (
            <figure key={view.name}>
              <figcaption title={view.explanation}>
                {view.title} <b>{view.newestMs === null ? '' : formatMs(view.newestMs)}</b>
                {view.limit === null ? null : (
                  <span class="limit">
                    {view.limit.label} {formatMs(view.limit.ms)}
                  </span>
                )}
              </figcaption>
              {Chart === null || view.newestMs === null ? (
                <p class="empty">{view.newestMs === null ? view.whyEmpty : hasFailed ? NOT_LOADED : ''}</p>
              ) : (
                <Chart view={view} />
              )}
            </figure>
          ))}
        </div>
      )}
    </Card>
  )
}

function SampleTable({ charts }: { readonly charts: readonly ChartView[] }) {
  const times = charts[0]?.times ?? []
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a region that scrolls must be reachable by keyboard
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of measurements">
      <table>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {charts.map(({ name, title }) => (
              <th key={name} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times
            .map((time, place) => (
              <tr key={time}>
                <td class="number">{formatTime(time * 1000).slice(0, 8)}</td>
                {charts.map(({ name, values }) => (
                  <td key={name} class="number">
                    {formatMs(values[place] ?? null)}
                  </td>
                ))}
              </tr>
            ))
            .reverse()}
        </tbody>
      </table>
    </div>
  )
}
