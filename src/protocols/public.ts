/** `conclave/protocols`: the definitions of all protocols. Unstable until 1.0. */
export { catalogue, protocolNamed, protocols } from './index.ts'
