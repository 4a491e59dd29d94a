/** The agent was replaced by another version while the page stayed open, or it is older than the page. */
import { link, status } from '../data/store.ts'

export function VersionNotice() {
  const seen = status.value
  if (seen === null || link.value.state !== 'live' || seen.version === PAGE_VERSION) return null
  const words =
    seen.version === ''
      ? `This page is of version ${PAGE_VERSION}. The agent is older and does not tell its version: some panels stay empty.`
      : `This page is of version ${PAGE_VERSION}, the agent of version ${seen.version}.`
  return (
    <p class="notice" role="status">
      {words}{' '}
      <button type="button" class="quiet" onClick={() => location.reload()}>
        Reload
      </button>
    </p>
  )
}
