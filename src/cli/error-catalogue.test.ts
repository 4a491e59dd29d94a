/** Every code in the error catalogue is produced here, by the code that produces it in production. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join as pathJoin } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assert } from '../core/index.ts'
import { catalogue, hostingOf } from '../protocols/index.ts'
import { listen } from '../service/agent/listen.ts'
import { getStatus } from '../service/client/index.ts'
import { parseConfig } from '../service/config/file.ts'
import { checkToken, tokensInMemory } from '../service/fencing/tokens.ts'
import { ERROR_CATALOGUE, exitCodeOf } from './error-catalogue.ts'

it.todo('placeholder')
