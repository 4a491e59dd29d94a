import { freePorts as free } from '../../src/cli/free-ports.ts'

/** UDP ports on loopback that nobody uses at this moment. */
export function freePorts(count: number): Promise<readonly number[]> {
  return free(count, 'udp')
}
