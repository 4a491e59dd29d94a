/** The sign of the project: a leader and two followers. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d="M7.2 6 5 9.6M8.8 6 11 9.6" stroke="currentColor" stroke-width="1" opacity=".6" />
      <circle cx="8" cy="4" r="2.2" fill="currentColor" />
      <circle cx="4.2" cy="11.2" r="1.7" fill="currentColor" opacity=".6" />
      <circle cx="11.8" cy="11.2" r="1.7" fill="currentColor" opacity=".6" />
    </svg>
  )
}
