/** Numbers in sentences. */

/** 1234567 as 1,234,567. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}
