// A job that counts primes, and survives the loss of its node.
//
//   conclave job submit primes --module examples/jobs/primes.mjs --input '{"below": 200000}' --wait
//
// The state has everything that the rest of the computation needs. Outputs are numbered by the state, so that a run that
// continues from a checkpoint gives every output the same number again.

const PART = 10_000

function isPrime(n) {
  for (let divisor = 2; divisor * divisor <= n; divisor++) if (n % divisor === 0) return false
  return n >= 2
}

export default async function primes(ctx) {
  const { below, pauseMs = 0 } = ctx.input
  const state = (await ctx.restore()) ?? { next: 0, found: 0 }
  ctx.log(`starts at ${state.next}`)
  while (state.next < below) {
    const end = Math.min(below, state.next + PART)
    for (; state.next < end; state.next++) if (isPrime(state.next)) state.found += 1
    ctx.emit(Math.ceil(end / PART), { below: end, primes: state.found })
    ctx.progress(end / below, `${state.found} primes below ${end}`)
    // oxlint-disable-next-line no-await-in-loop -- the next part belongs to the next checkpoint
    await ctx.checkpoint(state, { signal: ctx.signal })
    // oxlint-disable-next-line no-await-in-loop -- slows the job down
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return state.found
}
