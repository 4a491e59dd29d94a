import { printedDefinition } from '../omega-printed/definition.ts'

export const psiDefinition = printedDefinition({
  protocol: 'psi',
  title: 'Protocol Psi: Phi, with recoveries',
  section: '3.3',
  promises: ['theorem-3-2'],
})
