/** Light, dark, or as the system says. Remembered in this browser. */
import { effect, signal } from '@preact/signals'

export type Theme = 'auto' | 'light' | 'dark'

const KEY = 'conclave-theme'
const NEXT: { readonly [theme in Theme]: Theme } = { auto: 'light', light: 'dark', dark: 'auto' }

export const theme = signal<Theme>('auto')

export function nextTheme(): void {
  theme.value = NEXT[theme.value]
}

export function startTheme(): void {
  const kept = readKept()
  if (kept === 'light' || kept === 'dark') theme.value = kept
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value
    try {
      localStorage.setItem(KEY, theme.value)
    } catch {
      // The browser keeps nothing for this page.
    }
  })
}

function readKept(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}
