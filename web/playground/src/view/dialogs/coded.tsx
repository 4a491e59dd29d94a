/** A sentence in which `parts` between backticks are code. */
export function Coded({ text }: { readonly text: string }) {
  return (
    <>{text.split('`').map((part, place) => (place % 2 === 0 ? part : <code key={part}>{part}</code>))}</>
  )
}
