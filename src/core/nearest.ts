/** What may have been meant by a word that is not known. */

/** The known word with the nearest spelling, ignoring case and dashes. */
export function nearest(word: string, known: readonly string[]): string | null {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, '')
  const target = plain(word)
  const ranked = known
    .map((each) => ({ each, by: distance(plain(each), target) }))
    .sort((a, b) => a.by - b.by)
  const [best] = ranked
  return best !== undefined && best.by <= Math.max(1, Math.floor(target.length / 3)) ? best.each : null
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}
