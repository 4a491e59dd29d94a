/** A dialog that opens while its name is set. */
import type { ComponentChildren } from 'preact'
import { useDialog } from '../../../../src/parts/hooks.ts'
import { type DialogName, dialog } from '../state.ts'

export type FrameProps = {
  readonly name: DialogName
  readonly title: string
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

export function closeDialog(): void {
  dialog.value = null
}

export function Frame({ name, title, isWide = false, children }: FrameProps) {
  const isOpen = dialog.value === name
  const frame = useDialog(isOpen, () => {
    if (dialog.value === name) closeDialog()
  })
  return (
    <dialog {...frame} class={isWide ? 'wide' : ''} aria-labelledby={`${name}-dialog-title`}>
      {isOpen ? (
        <div class="dialog-body">
          <header>
            <h2 id={`${name}-dialog-title`}>{title}</h2>
            <button type="button" class="quiet" onClick={closeDialog}>
              Close
            </button>
          </header>
          {children}
        </div>
      ) : null}
    </dialog>
  )
}
