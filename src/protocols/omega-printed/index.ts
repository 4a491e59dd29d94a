import { definePrinted } from './definition.ts'

export const omegaPrintedDefinition = definePrinted({
  protocol: 'omega',
  title: 'Protocol Omega as printed: Psi, with cancels',
  section: '3.4',
  promises: ['theorem-3-3', 'theorem-3-3-rest', 'theorem-3-2', 'connected-leaders'],
})
