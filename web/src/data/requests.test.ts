import { expect, it } from 'vitest'
import { errorOf, pathFor } from './requests.ts'

it('names the group in relative paths, so that a proxy may serve the page anywhere', () => {
  expect(pathFor('/v1/status', null)).toBe('./v1/status')
  expect(pathFor('/v1/status', 'a b')).toBe('./v1/status?group=a%20b')
  expect(pathFor('/v1/x?y=1', 'g')).toBe('./v1/x?y=1&group=g')
})

it('reports what an agent refused in its own words', async () => {
  const body = JSON.stringify({
    error: { code: 'UnknownGroup', message: 'there is no such group', field: null },
  })
  expect(await errorOf(new Response(body, { status: 404 }))).toMatchObject({
    status: 404,
    code: 'UnknownGroup',
    message: 'there is no such group',
  })
})

it('reports what anything else answered by its status', async () => {
  expect(await errorOf(new Response('<html>', { status: 502 }))).toMatchObject({
    code: 'Unknown',
    message: 'the agent answered with HTTP status 502',
  })
})
