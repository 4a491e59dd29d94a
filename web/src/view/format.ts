/** Numbers and times in words, short and of stable width. */

export const DASH = '–'

/** A duration: "0.4 ms", "83 ms", "1.2 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
export function formatMs(ms: number | null): string {
  if (ms === null) return DASH
  if (ms < 9.95) return `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${ms.toFixed(0)} ms`
  const seconds = ms / 1000
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`
  return formatLong(Math.round(seconds))
}

function formatLong(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}

/** An age for people: nobody reads tenths of a second of something an hour ago. */
export function formatAgo(ms: number | null): string {
  if (ms === null) return 'never'
  return `${formatMs(Math.max(0, ms))} ago`
}

const pad = (value: number, width = 2): string => String(value).padStart(width, '0')

/** Time of day in the reader's time zone, with milliseconds. */
export function formatTime(atMs: number): string {
  const at = new Date(atMs)
  return `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}.${pad(at.getMilliseconds(), 3)}`
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
