/**
 * Fencing in Redis: a script compares the token with the greatest one and then carries out the commands, all at once.
 * Redis that fails over to a replica may forget the newest token with everything else: see docs/explanation/stores.md.
 */
import { checkToken, type Fence, ImplausibleTokenError, MOST_AHEAD, StaleTokenError } from './tokens.ts'

export { type Fence, ImplausibleTokenError, StaleTokenError } from './tokens.ts'

/** What is needed of a client; ioredis has it. */
export type Evaluator = {
  eval(script: string, keys: number, ...words: (string | number)[]): Promise<unknown>
}

/** Name, keys, arguments: `['SET', 'balance', '7']`. */
export type RedisCommand = readonly [name: string, ...words: string[]]

/** ARGV: the token, then each command as the number of its words and the words. */
const SCRIPT = `
local greatest = redis.call('GET', KEYS[1]) or '0'
local present = tonumber(greatest)
local token = tonumber(ARGV[1])
if present > token then return {0, greatest} end
if token - present > ${MOST_AHEAD} then return {2, greatest} end
if present < token then redis.call('SET', KEYS[1], ARGV[1]) end
local answers = {1}
local at = 2
while at <= #ARGV do
  local count = tonumber(ARGV[at])
  answers[#answers + 1] = redis.call(unpack(ARGV, at + 1, at + count))
  at = at + 1 + count
end
return answers`

/** Where the greatest token of a resource is kept. In a cluster it must share the hash tag of the keys. */
export function tokenKey(resource: string): string {
  return `conclave:token:${resource}`
}

/**
 * Carries out the commands of a leader and returns their answers. Throws `StaleTokenError`, and does nothing, where a newer
 * one has been there, and `ImplausibleTokenError` where the token is too far above the greatest one. `keys` are those that the commands touch.
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
