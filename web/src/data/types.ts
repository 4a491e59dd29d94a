/** What an agent answers, as the page uses it. The shapes are those of the client library. */
export type {
  AgentEvent,
  Cause,
  HistoryResponse as History,
  Level,
  LocalResponse as Local,
  Measured,
  ObservedNodeResponse as ObservedNode,
  SampleResponse as Sample,
  StatusResponse as Status,
  TermResponse as Term,
  TimingResponse as Timing,
  WarningResponse as Warning,
} from '../../../src/service/client/responses.ts'
