// npm run bench -- adaptive [KILLS] [OTHERS] [BUSY_S] [IDLE_S] [COST_S] [WARM_S]: leases that tune themselves.
// Failover beside other systems, lead changes under a load that comes and goes, and what idle groups cost.
import { printAdaptiveFailover } from './adaptive-failover.mjs'
import { printAdaptiveIdle } from './adaptive-idle.mjs'
import { printAdaptiveLoad } from './adaptive-load.mjs'

export async function printAdaptive(
  kills = 1000,
  others = 50,
  busySeconds = 480,
  idleSeconds = 60,
  costSeconds = 60,
  warmSeconds = 150,
) {
  if (kills > 0) await printAdaptiveFailover(kills, others)
  if (busySeconds > 0) await printAdaptiveLoad(busySeconds, idleSeconds)
  if (costSeconds > 0) await printAdaptiveIdle(costSeconds, warmSeconds)
}
