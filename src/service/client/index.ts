export {
  type AdminOptions,
  claim,
  getLeader,
  getMembers,
  getStatus,
  release,
  removeNode,
  stepDown,
  type WatchEvent,
  watch,
} from './client.ts'
export { AgentUnreachableError, RequestRefusedError } from './errors.ts'
export type { Fetch, FetchResponse, RequestOptions } from './request.ts'
export type {
  AgentEvent,
  ClaimResponse,
  ErrorResponse,
  Id,
  LeaderResponse,
  Level,
  MembersResponse,
  NodeResponse,
  RemoveResponse,
  StatusResponse,
  StepDownResponse,
  ViewResponse,
  WaitingResponse,
} from './responses.ts'
