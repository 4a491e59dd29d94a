import { getLeader } from 'conclave/client'

const agent = process.env['CONCLAVE_AGENT'] ?? 'http://127.0.0.1:7480'
const { leader } = await getLeader({ agent })
console.log(leader === null ? 'there is no leader' : `${leader.id} leads with token ${leader.token}`)
