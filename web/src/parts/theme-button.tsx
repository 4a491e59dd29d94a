/** Changes between the themes. */
import { nextTheme, theme } from '../data/theme.ts'

const THEME_WORDS = { auto: 'Auto', light: 'Light', dark: 'Dark' }

export function ThemeButton() {
  const words = THEME_WORDS[theme.value]
  return (
    <button type="button" class="quiet" aria-label={`Theme: ${words}`} onClick={nextTheme}>
      {words}
    </button>
  )
}
