import { freePorts as free } from '../../src/chaos/free-ports.ts'

/** UDP ports on loopback that nobody uses at this moment. */
export function freePorts(count: number): Promise<readonly number[]> {
  return free(count, 'udp')
}
