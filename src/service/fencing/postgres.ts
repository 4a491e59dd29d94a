/**
 * Fencing in PostgreSQL: a table of the greatest tokens, a function that compares, and a trigger that calls it before
 * every change of a table. All in the writer's own transaction: the row of the token stays locked until it ends, so a
 * newer leader waits for an older one's transaction, and an older one's fails after a newer one has been there. The
 * first transaction under a new token is alone; those that follow run side by side.
 */
import type { Sql, TransactionSql } from 'postgres'
import { checkToken, type Fence, ImplausibleTokenError, MOST_AHEAD, StaleTokenError } from './tokens.ts'

export { type Fence, ImplausibleTokenError, StaleTokenError } from './tokens.ts'

/** What the function and the trigger raise: a token smaller than the greatest, one too far above it, and none at all. */
export const STALE_CODE = 'CF409'
export const IMPLAUSIBLE_CODE = 'CF422'
export const MISSING_CODE = 'CF428'

/**
 * To be run once by the owner of the database; may be run again. The functions have the rights of whoever runs it, so
 * writers need none on the table of tokens, and cannot lower one.
 */
export const FENCING_SQL = `
CREATE TABLE IF NOT EXISTS conclave_tokens (resource text PRIMARY KEY, token bigint NOT NULL);
REVOKE ALL ON conclave_tokens FROM PUBLIC;

CREATE OR REPLACE FUNCTION conclave_fence(the_resource text, the_token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  present bigint;
BEGIN
  SELECT token INTO present FROM conclave_tokens WHERE resource = the_resource;
  IF the_token - coalesce(present, 0) > ${MOST_AHEAD} THEN
    RAISE EXCEPTION '% refuses the token %: it is too far above %, the greatest seen so far', the_resource, the_token, coalesce(present, 0)
      USING ERRCODE = '${IMPLAUSIBLE_CODE}', DETAIL = coalesce(present, 0)::text, HINT = 'Check where it comes from: a term''s token is never so large.';
  END IF;
  IF present IS NULL OR present < the_token THEN
    INSERT INTO conclave_tokens AS t (resource, token) VALUES (the_resource, the_token)
    ON CONFLICT (resource) DO UPDATE SET token = EXCLUDED.token WHERE t.token < EXCLUDED.token;
  END IF;
  -- Shared, so that transactions of one leader do not wait for one another.
  SELECT token INTO present FROM conclave_tokens WHERE resource = the_resource FOR SHARE;
  IF present > the_token THEN
    RAISE EXCEPTION '% refuses the token %: % has been seen', the_resource, the_token, present
      USING ERRCODE = '${STALE_CODE}', DETAIL = present::text, HINT = 'Somebody else has led since. Stop acting as the leader.';
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

/** The statement that fences a table: every change of it then needs a token for the resource. */
export function fenceTableSql(table: string, resource: string): string {
  if (!NAME.test(table)) throw new RangeError(`${table} is not a plain name of a table, in lower case`)
  return `CREATE OR REPLACE TRIGGER conclave_fenced BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON ${table}
FOR EACH STATEMENT EXECUTE FUNCTION conclave_fenced('${resource.replaceAll("'", "''")}');`
}

/** A transaction of a leader. Throws `StaleTokenError`, and changes nothing, where a newer one has been there. */
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
