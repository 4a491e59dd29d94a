export { Checkpoints, type CheckpointsOptions, type Restored } from './checkpoints.ts'
export * from './errors.ts'
export { describePayload, type Payload, type PayloadDescription } from './payload.ts'
export type { Progress, TransferOptions, UploadOutcome, UploadPlan, UploadProblem } from './upload.ts'
