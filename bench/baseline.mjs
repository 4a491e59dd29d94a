// What this machine does with plain work, at this moment: figures of different runs compare only beside it.

/** Nanoseconds for a dependent integer step, and for a read and write at a random place in 64 MB. */
export function baseline() {
  let x = 12345
  const steps = 30_000_000
  let began = performance.now()
  for (let i = 0; i < steps; i++) x = (Math.imul(x, 1664525) + 1013904223) | 0
  const integer = ((performance.now() - began) * 1e6) / steps
  const memory = new Int32Array(1 << 24)
  const reads = 10_000_000
  began = performance.now()
  for (let i = 0; i < reads; i++) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0
    memory[x >>> 8]++
  }
  return { integer, random: ((performance.now() - began) * 1e6) / reads, x }
}

export function printBaseline() {
  const { integer, random } = baseline()
  console.log(`baseline   ${integer.toFixed(2)} ns an integer step, ${random.toFixed(1)} ns a random access`)
}
