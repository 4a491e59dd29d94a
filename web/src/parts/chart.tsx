/** One small chart, drawn by uPlot in the colours of the theme. */
// oxlint-disable-next-line import/no-unassigned-import -- the style sheet
import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { theme } from '../data/theme.ts'
import { type ChartView, isolatedIn, marksUpTo, timesShown } from '../view/charts.ts'
import { formatMs, formatTime } from '../view/format.ts'
import { useSize } from './hooks.ts'

export type ChartProps = { readonly view: ChartView }

const AXIS_WIDTH = 50
const AXIS_HEIGHT = 20

function optionsFor(view: ChartView, width: number, height: number, element: Element): uPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string): string => style.getPropertyValue(name).trim()
  const font = `11px ${style.fontFamily}`
  const axis = {
    stroke: colour('--quiet'),
    font,
    ticks: { show: false },
    grid: { stroke: colour('--line'), width: 1 },
  }
  return {
    width,
    height,
    cursor: { show: false },
    legend: { show: false },
    padding: [6, 24, 0, 0],
    scales: {
      x: { range: ({ data: [times] }, first, last) => timesShown(times[0] ?? first, times.at(-1) ?? last) },
      y: { range: (_plot, _least, most) => [0, Math.max(most, view.limit?.ms ?? 0, 1) * 1.15] },
    },
    axes: [
      {
        ...axis,
        size: AXIS_HEIGHT,
        space: 70,
        grid: { show: false },
        values: (_plot, times, _axis, _space, stepSeconds) =>
          times.map((time) => formatTime(time * 1000).slice(0, stepSeconds < 60 ? 8 : 5)),
      },
      {
        ...axis,
        size: AXIS_WIDTH,
        splits: (_plot, _axis, _least, most) => marksUpTo(most),
        values: (_plot, values) => values.map((ms) => shortMs(ms)),
      },
    ],
    series: [
      {},
      {
        stroke: colour('--accent'),
        width: 1.5,
        spanGaps: false,
        ...(view.arePoints
          ? { paths: () => null, points: { show: true, size: 6, fill: colour('--accent') } }
          : {
              fill: colour('--accent-pale'),
              points: {
                show: true,
                size: 6,
                fill: colour('--accent'),
                filter: (plot) => isolatedIn([...(plot.data[1] ?? [])]),
              },
            }),
      },
      { stroke: colour('--bad'), width: 1, dash: [4, 4], points: { show: false } },
    ],
  }
}

const shortMs = (ms: number): string => (ms === 0 ? '0' : formatMs(ms).replace('.0 ', ' '))

function dataOf({ times, values, limit }: ChartView): uPlot.AlignedData {
  const limits = times.map(() => limit?.ms ?? null)
  return [[...times], [...values], limits]
}

export function Chart({ view }: ChartProps) {
  const [ref, { width, height }] = useSize()
  const plot = useRef<uPlot | null>(null)
  const colours = theme.value
  const limitMs = view.limit?.ms ?? null
  useEffect(() => {
    const element = ref.current
    if (element === null || width === 0 || height === 0) return undefined
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const draw = (): void => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsFor(view, width, height, element), dataOf(view), element)
    }
    draw()
    dark.addEventListener('change', draw)
    return () => {
      dark.removeEventListener('change', draw)
      plot.current?.destroy()
      plot.current = null
    }
  }, [width, height, colours, limitMs])
  useEffect(() => {
    plot.current?.setData(dataOf(view))
  }, [view])
  const newest = view.newestMs === null ? 'nothing measured' : `newest ${formatMs(view.newestMs)}`
  return (
    <div class="chart" ref={ref} role="img" aria-label={`${view.title}, ${view.explanation}: ${newest}`} />
  )
}
