/**
 * Handles requests in slices of time. Node delivers every request that has arrived on any connection before it
 * runs a timer. So a burst of requests would block the thread until all are handled, and cost the agent its term.
 */

/** How long requests are handled before timers run. */
const SLICE_MS = 20

type Fetch = (request: Request) => Response | Promise<Response>

/** The same function, but calls wait for the next iteration of the event loop when this one has taken long. They keep their order. */
export function inTimeSlices(fetch: Fetch, sliceMs = SLICE_MS, now = () => performance.now()): Fetch {
  const waiting = new Set<() => void>()
  /** When the first request of this slice began; null before it. */
  let beganAt: number | null = null

  const hasTime = (): boolean => {
    if (beganAt === null) {
      beganAt = now()
      setImmediate(startSlice)
    }
    return now() - beganAt < sliceMs
  }

  function startSlice(): void {
    beganAt = null
    for (const run of waiting) {
      if (!hasTime()) return
      waiting.delete(run)
      run()
    }
  }

  return (request) => {
    if (waiting.size === 0 && hasTime()) return fetch(request)
    return new Promise((resolve) => {
      waiting.add(() => resolve((async () => fetch(request))()))
    })
  }
}
