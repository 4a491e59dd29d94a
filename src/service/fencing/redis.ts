/**
 * Fencing in Redis: a script compares the token with the greatest one and runs the commands atomically. A failover to a
 * replica can lose the newest token with other writes: see docs/explanation/stores.md.
 */
import { checkToken, type Fence, ImplausibleTokenError, MAX_TOKEN_GAP, StaleTokenError } from './tokens.ts'

export { type Fence, ImplausibleTokenError, StaleTokenError } from './tokens.ts'

/** The required part of a client; ioredis has it. */
export type Evaluator = {
  eval(script: string, keys: number, ...words: (string | number)[]): Promise<unknown>
}

/** Name, keys, arguments: `['SET', 'balance', '7']`. */
export type RedisCommand = readonly [name: string, ...words: string[]]

/** ARGV: the token, then each command as its number of words, followed by the words. */
const SCRIPT = `
local greatest = redis.call('GET', KEYS[1]) or '0'
local present = tonumber(greatest)
local token = tonumber(ARGV[1])
if present > token then return {0, greatest} end
if token - present > ${MAX_TOKEN_GAP} then return {2, greatest} end
if present < token then redis.call('SET', KEYS[1], ARGV[1]) end
local answers = {1}
local at = 2
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  answers[#answers + 1] = redis.call(unpack(ARGV, at + 1, at + count))
  at = at + 1 + count
end
return answers`

/** The key of a resource's greatest token. In a cluster it must share the hash tag of the other keys. */
export function tokenKey(resource: string): string {
  return `conclave:token:${resource}`
}

/**
 * Runs the commands of a leader and returns their replies. Throws `StaleTokenError` and changes nothing if a newer leader
 * has written, and `ImplausibleTokenError` if the token is too far above the greatest one. `keys` are the keys that the
 * commands use.
 */
export async function fenced(
  redis: Evaluator,
  { resource, token }: Fence,
  keys: readonly string[],
  commands: readonly RedisCommand[],
): Promise<readonly unknown[]> {
  checkToken(token)
  const words = commands.flatMap((command) => [String(command.length), ...command])
  const answer = await redis.eval(
    SCRIPT,
    keys.length + 1,
    tokenKey(resource),
    ...keys,
    String(token),
    ...words,
  )
  const [isDone, ...rest] = answer as readonly unknown[]
  if (isDone === 2) throw new ImplausibleTokenError(resource, token, Number(rest[0]))
  if (isDone !== 1) throw new StaleTokenError(resource, token, Number(rest[0]))
  return rest
}
