export * from './detectors/fixed.ts'
export * from './reliable.ts'
