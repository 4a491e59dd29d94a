import { definePrinted } from '../omega-printed/definition.ts'

export const phiDefinition = definePrinted({
  protocol: 'phi',
  title: 'Protocol Phi: the least survivor leads once all survivors agree on who has failed',
  section: '3.2',
  promises: ['theorem-3-1'],
})
