/**
 * Where the tail of the normal distribution falls to 10^-phi: z with Q(z) = 10^-phi, for phi >= 1 (z >= 1.28).
 *
 * By bisection of log10 Q(z), with Laplace's continued fraction for Q(z) / density(z). Logarithms throughout, so a
 * threshold of 300 does not vanish. The answer is rounded to a millionth, far coarser than what the last bits of a
 * machine's `Math.log10` may disagree about.
 */
const DEPTH = 300
const HALVINGS = 60
const LOG10_SQRT_2PI = 0.399_089_934_179_057_5

export function normalTailAt(phi: number): number {
  let low = 0.5
  let high = 2 + 3 * Math.sqrt(phi)
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (low + high) / 2
    if (minusLog10Tail(middle) < phi) low = middle
    else high = middle
  }
  return Math.round(low * 1e6) / 1e6
}

export function minusLog10Tail(z: number): number {
  let fraction = z
  for (let depth = DEPTH; depth >= 1; depth--) fraction = z + depth / fraction
  return (z * z) / 2 / Math.LN10 + LOG10_SQRT_2PI + Math.log10(fraction)
}
