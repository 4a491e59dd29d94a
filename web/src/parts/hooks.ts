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

/**
 * A dialog that is open while `isOpen`. Escape asks for `close` instead of closing it: the state alone decides, so that
 * a late event of one dialog cannot close the next.
 */
export function useDialog(
  isOpen: boolean,
  close: () => void,
): {
  readonly ref: { current: HTMLDialogElement | null }
  readonly onCancel: (event: Event) => void
  readonly onClose: () => void
} {
  const ref = useRef<HTMLDialogElement>(null)
  const isShown = useRef(false)
  useEffect(() => {
    isShown.current = isOpen
    if (isOpen) ref.current?.showModal()
    else ref.current?.close()
  }, [isOpen])
  return {
    ref,
    onCancel: (event) => {
      event.preventDefault()
      close()
    },
    // Browsers close a dialog in spite of that when Escape is pressed twice. The event comes late: the next dialog may be
    // about to open.
    onClose: () => {
      if (isShown.current && ref.current?.open === false) close()
    },
  }
}

export const wantsLittleMotion = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches
