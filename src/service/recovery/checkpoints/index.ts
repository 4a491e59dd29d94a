export { Checkpoints } from './checkpoints.ts'
export * from './errors.ts'
export { describePayload } from './payload.ts'
export type { UploadOutcome, UploadProblem } from './upload.ts'
