/** Measures an element, and knows whether the reader wants little motion. */
import { useEffect, useRef, useState } from 'preact/hooks'

export type Size = { readonly width: number; readonly height: number }

/** The size of an element, and the reference to attach to it. */
export function useSize(): readonly [{ current: HTMLDivElement | null }, Size] {
  const ref = useRef<HTMLDivElement>(null)
  const [size, setSize] = useState<Size>({ width: 0, height: 0 })
  useEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const observer = new ResizeObserver(([entry]) => {
      if (entry === undefined) return
      const { width, height } = entry.contentRect
      setSize((before) => (before.width === width && before.height === height ? before : { width, height }))
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, size]
}

export const wantsLittleMotion = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches
