export * from './detectors/fixed.ts'
