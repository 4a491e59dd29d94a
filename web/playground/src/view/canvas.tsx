/** A canvas that fills its box at the resolution of the screen, and draws at most once per frame. */
import { effect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Size } from '../../../src/parts/hooks.ts'

export type CanvasProps = Size & {
  readonly name: string
  /** Reads the signals that the drawing depends on. A change of any of them draws again in the next frame. */
  readonly watch: () => unknown
  readonly draw: (context: CanvasRenderingContext2D, size: Size) => void
}

export function Canvas({ name, width, height, watch, draw }: CanvasProps) {
  const ref = useRef<HTMLCanvasElement>(null)
  const latest = useRef(draw)
  latest.current = draw
  useLayoutEffect(() => {
    const canvas = ref.current
    const context = canvas?.getContext('2d') ?? null
    if (canvas === null || context === null || width === 0 || height === 0) return undefined
    const ratio = devicePixelRatio
    canvas.width = Math.round(width * ratio)
    canvas.height = Math.round(height * ratio)
    let frame = 0
    const paint = (): void => {
      frame = 0
      context.save()
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      context.clearRect(0, 0, width, height)
      latest.current(context, { width, height })
      context.restore()
    }
    // A change of its size clears a canvas: it is painted in the same frame.
    paint()
    let isFirst = true
    const stop = effect(() => {
      watch()
      if (frame === 0 && !isFirst) frame = requestAnimationFrame(paint)
      isFirst = false
    })
    return () => {
      stop()
      cancelAnimationFrame(frame)
    }
  }, [width, height])
  return (
    <canvas
      ref={ref}
      class={name}
      style={{ width: `${width}px`, height: `${height}px` }}
      aria-hidden="true"
    />
  )
}
