/**
 * Fencing in PostgreSQL: a table of the greatest tokens, a function that compares, and a trigger that calls it before
 * every change of a table. All of it runs in the writer's transaction: the token's row stays locked until the end, so a
 * newer leader waits for an older leader's transaction, and an older leader's transaction fails after a newer one. The
 * first transaction with a new token runs alone; later ones run concurrently. The server ends a transaction that is idle
 * for too long: otherwise a leader that was stopped in the middle of one would block the next leader.
 */
import type { Sql, TransactionSql } from 'postgres'
import { checkToken, type Fence, ImplausibleTokenError, MAX_TOKEN_GAP, StaleTokenError } from './tokens.ts'

export { type Fence, ImplausibleTokenError, StaleTokenError } from './tokens.ts'

/** SQLSTATE codes: the token is stale, implausible, or missing. */
export const STALE_CODE = 'CF409'
export const IMPLAUSIBLE_CODE = 'CF422'
export const MISSING_CODE = 'CF428'

/** Applies to transactions of sessions that have no limit of their own. */
const MAX_IDLE_SECONDS = 5

/**
 * Run this once as the owner of the database; running it again is harmless. The functions have the rights of that owner, so
 * writers need no rights on the token table and cannot lower a token.
 */
export const FENCING_SQL = `
CREATE TABLE IF NOT EXISTS conclave_tokens (resource text PRIMARY KEY, token bigint NOT NULL);
REVOKE ALL ON conclave_tokens FROM PUBLIC;

CREATE OR REPLACE FUNCTION conclave_fence(the_resource text, the_token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  present bigint;
BEGIN
  IF current_setting('idle_in_transaction_session_timeout') = '0' THEN
    PERFORM set_config('idle_in_transaction_session_timeout', '${MAX_IDLE_SECONDS}s', true);
  END IF;
  SELECT token INTO present FROM conclave_tokens WHERE resource = the_resource;
  IF the_token - coalesce(present, 0) > ${MAX_TOKEN_GAP} THEN
    RAISE EXCEPTION '% refuses the token %: it is too far above %, the greatest seen so far', the_resource, the_token, coalesce(present, 0)
      USING ERRCODE = '${IMPLAUSIBLE_CODE}', DETAIL = coalesce(present, 0)::text, HINT = 'Check where it comes from: the token of a term is never that large.';
  END IF;
  IF present IS NULL OR present < the_token THEN
    INSERT INTO conclave_tokens AS t (resource, token) VALUES (the_resource, the_token)
    ON CONFLICT (resource) DO UPDATE SET token = EXCLUDED.token WHERE t.token < EXCLUDED.token;
  END IF;
  -- A shared lock: transactions of one leader run concurrently.
  SELECT token INTO present FROM conclave_tokens WHERE resource = the_resource FOR SHARE;
  IF present > the_token THEN
    RAISE EXCEPTION '% refuses the token %: % has been seen', the_resource, the_token, present
      USING ERRCODE = '${STALE_CODE}', DETAIL = present::text, HINT = 'Another node has led since. Stop acting as the leader.';
  END IF;
END $$;

CREATE OR REPLACE FUNCTION conclave_fenced() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  the_token text := current_setting('conclave.token', true);
BEGIN
  IF the_token IS NULL OR the_token = '' THEN
    RAISE EXCEPTION '% is fenced: this transaction has no token', TG_TABLE_NAME
      USING ERRCODE = '${MISSING_CODE}', HINT = 'Run: SELECT set_config(''conclave.token'', TOKEN, true)';
  END IF;
  PERFORM conclave_fence(TG_ARGV[0], the_token::bigint);
  RETURN NULL;
END $$;
`

const NAME = /^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$/

/** The statement that fences a table: every change then needs a token for the resource. */
export function fenceTableSql(table: string, resource: string): string {
  if (!NAME.test(table))
    throw new RangeError(`table: "${table}" is not a valid name; use lower-case letters, digits and _`)
  return `CREATE OR REPLACE TRIGGER conclave_fenced BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${table}
FOR EACH STATEMENT EXECUTE FUNCTION conclave_fenced('${resource.replaceAll("'", "''")}');`
}

/** Runs a transaction of a leader. Throws `StaleTokenError` and changes nothing if a newer leader has written. */
export async function fenced<T>(
  sql: Sql,
  { resource, token }: Fence,
  work: (sql: TransactionSql) => Promise<T>,
): Promise<T> {
  checkToken(token)
  try {
    const answer = await sql.begin(async (transaction) => {
      await transaction`SELECT set_config('conclave.token', ${String(token)}, true), conclave_fence(${resource}, ${token})`
      return [await work(transaction)] as const
    })
    return answer[0]
  } catch (error) {
    const { code, detail } = error as { code?: string; detail?: string }
    if (code === IMPLAUSIBLE_CODE) throw new ImplausibleTokenError(resource, token, Number(detail))
    if (code === STALE_CODE) throw new StaleTokenError(resource, token, Number(detail))
    throw error
  }
}
