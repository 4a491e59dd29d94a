/** The requests of `conclave job` to a node that runs jobs. */
import type { RequestOptions } from '../../service/client/index.ts'
import { getJson, parseJson, sendRequest } from '../../service/client/request.ts'
import type { JobResponse, JobsResponse, OutputsResponse, ResultResponse } from './responses.ts'

type AdminOptions = RequestOptions & { readonly adminToken: string | null }

const pathOf = (name: string): string => `/v1/jobs/${encodeURIComponent(name)}`

export const getJobs = (options: RequestOptions): Promise<JobsResponse> => getJson(options, '/v1/jobs')

export const getJob = (options: RequestOptions, name: string): Promise<JobResponse> =>
  getJson(options, pathOf(name))

export const getOutputs = (options: RequestOptions, name: string): Promise<OutputsResponse> =>
  getJson(options, `${pathOf(name)}/outputs`)

export const getResult = (options: RequestOptions, name: string): Promise<ResultResponse> =>
  getJson(options, `${pathOf(name)}/result`)

export async function submitJob(
  options: AdminOptions,
  job: { readonly name: string; readonly module: string; readonly input: unknown },
): Promise<JobResponse> {
  const init = { method: 'POST', headers: adminHeaders(options), body: JSON.stringify(job) }
  return parseJson(options, await sendRequest(options, '/v1/jobs', init))
}

export async function cancelJob(
  options: AdminOptions,
  name: string,
): Promise<{ readonly job: string; readonly cancelled: true }> {
  const init = { method: 'DELETE', headers: adminHeaders(options) }
  return parseJson(options, await sendRequest(options, pathOf(name), init))
}

function adminHeaders({ adminToken }: AdminOptions): Record<string, string> {
  return adminToken === null ? {} : { authorization: `Bearer ${adminToken}` }
}
