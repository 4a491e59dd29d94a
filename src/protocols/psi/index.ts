import { definePrinted } from '../omega-printed/definition.ts'

export const psiDefinition = definePrinted({
  protocol: 'psi',
  title: 'Protocol Psi: Phi, with recoveries',
  section: '3.3',
  promises: ['theorem-3-2'],
})
