/** The wire format of the messages, which are most of the traffic: docs/reference/wire.md. */
import {
  type MessageLayout,
  readId,
  readIds,
  readList,
  readOptional,
  type WireFormat,
  type WireReader,
  type WireWriter,
  writeId,
  writeIds,
  writeList,
  writeOptional,
} from '../wire.ts'
import { messageFault } from './bounds.ts'
import {
  type Ballot,
  type Beacon,
  type Certificate,
  type Election,
  type Epoch,
  type Evidence,
  type Heartbeat,
  type LocalLeaderMessage,
  type MembershipView,
  type Release,
  type Reply,
  type Request,
  withLock,
} from './messages.ts'
import type { Configuration } from './voters.ts'

const CANDIDATE = 1
const INCUMBENT = 2
const HEARD = 4
const LEADS = 8
const HAS_TOKEN = 16
const BEACON_FLAGS = 32

function writeBeacon(
  writer: WireWriter,
  { candidate, low, priority, incumbent, heard, seen, lease }: Beacon,
): void {
  writer.u8(
    (candidate ? CANDIDATE : 0) |
      (incumbent ? INCUMBENT : 0) |
      (heard ? HEARD : 0) |
      (lease === null ? 0 : LEADS | (lease.token === null ? 0 : HAS_TOKEN)),
  )
  writer.u8(low)
  writer.i32(priority)
  writeEpoch(writer, seen)
  if (lease === null) return
  writer.u53(lease.left)
  if (lease.token !== null) writer.u53(lease.token)
}

function readBeacon(reader: WireReader): Beacon {
  const flags = reader.below(BEACON_FLAGS, 'flags')
  const has = (flag: number): boolean => (flags & flag) !== 0
  const low = reader.u8()
  const priority = reader.i32()
  const seen = readEpoch(reader)
  if (has(HAS_TOKEN) && !has(LEADS)) reader.refuse('a token without a lease')
  const lease = has(LEADS) ? { left: reader.u53(), token: has(HAS_TOKEN) ? reader.u53() : null } : null
  return {
    candidate: has(CANDIDATE),
    low,
    priority,
    incumbent: has(INCUMBENT),
    heard: has(HEARD),
    seen,
    lease,
  }
}

function writeEpoch(writer: WireWriter, { number, owner }: Epoch): void {
  writer.u53(number)
  writeOptional(writer, owner, (id) => writeId(writer, id))
}

function readEpoch(reader: WireReader): Epoch {
  return { number: reader.u53(), owner: readOptional(reader, () => readId(reader)) }
}

function writeRequest(writer: WireWriter, { incarnation, counter }: Request): void {
  writer.u53(incarnation)
  writer.u53(counter)
}

function readRequest(reader: WireReader): Request {
  return { incarnation: reader.u53(), counter: reader.u53() }
}

function writeConfig(writer: WireWriter, { id, sets }: Configuration): void {
  writer.u53(id[0])
  writer.u53(id[1])
  writeList(writer, sets, (voters) => writeIds(writer, voters))
}

function readConfig(reader: WireReader): Configuration {
  return { id: [reader.u53(), reader.u53()], sets: readList(reader, () => readIds(reader)) }
}

const RENEWS = 1
const HAS_LOCK = 2
const ELECTION_FLAGS = 4

function writeElection(writer: WireWriter, election: Election): void {
  const { request, epoch, renew, lock, config, certificate, view, wanted, tree } = election
  writeRequest(writer, request)
  writer.u53(epoch)
  writer.u8((renew ? RENEWS : 0) | (lock === undefined ? 0 : HAS_LOCK))
  if (lock !== undefined) writer.u53(lock)
  writeConfig(writer, config)
  writeOptional(writer, certificate, (given) => {
    writeId(writer, given.owner)
    writeRequest(writer, given.request)
  })
  writeOptional(writer, view, (given) => {
    writeRequest(writer, given.round)
    writeIds(writer, given.members)
  })
  writeOptional(writer, wanted, (given) => writeIds(writer, given))
  writeOptional(writer, tree, (given) => writeIds(writer, given))
}

function readElection(reader: WireReader, beacon: Beacon): Election {
  const request = readRequest(reader)
  const epoch = reader.u53()
  const flags = reader.below(ELECTION_FLAGS, 'flags')
  const lock = (flags & HAS_LOCK) === 0 ? null : reader.u53()
  const election: Election = {
    kind: 'Election',
    beacon,
    request,
    epoch,
    renew: (flags & RENEWS) !== 0,
    config: readConfig(reader),
    certificate: readOptional(
      reader,
      (): Certificate => ({ owner: readId(reader), request: readRequest(reader) }),
    ),
    view: readOptional(
      reader,
      (): MembershipView => ({ round: readRequest(reader), members: readIds(reader) }),
    ),
    wanted: readOptional(reader, () => readIds(reader)),
    tree: readOptional(reader, () => readIds(reader)),
  }
  return lock === null ? election : withLock(election, lock)
}

const SUPPORTS = 1
const HAS_EVIDENCE = 2
const HAS_BOUNDS = 4
const BALLOT_FLAGS = 8

function writeBallot(writer: WireWriter, { node, support, evidence, bounds }: Ballot): void {
  writeId(writer, node)
  writer.u8(
    (support ? SUPPORTS : 0) |
      (evidence === undefined ? 0 : HAS_EVIDENCE) |
      (bounds === undefined ? 0 : HAS_BOUNDS),
  )
  if (evidence !== undefined) for (const hint of hintsOf(evidence)) writer.u8(hint)
  if (bounds === undefined) return
  writer.u53(bounds.shortest)
  writer.u53(bounds.longest)
}

const hintsOf = ({ late, delay, loss, least, most }: Evidence): readonly number[] => [
  late,
  delay,
  loss,
  least,
  most,
]

function readEvidence(reader: WireReader): Evidence {
  return { late: reader.u8(), delay: reader.u8(), loss: reader.u8(), least: reader.u8(), most: reader.u8() }
}

function readBallot(reader: WireReader): Ballot {
  const node = readId(reader)
  const flags = reader.below(BALLOT_FLAGS, 'flags')
  const has = (flag: number): boolean => (flags & flag) !== 0
  if (has(HAS_BOUNDS) && has(SUPPORTS)) reader.refuse('bounds with support')
  const support = has(SUPPORTS)
  const evidence = has(HAS_EVIDENCE) ? readEvidence(reader) : undefined
  if (has(HAS_BOUNDS)) {
    const bounds = { shortest: reader.u53(), longest: reader.u53() }
    return evidence === undefined ? { node, support, bounds } : { node, support, evidence, bounds }
  }
  return evidence === undefined ? { node, support } : { node, support, evidence }
}

function writeReply(writer: WireWriter, { candidate, request, votes, promised, config }: Reply): void {
  writeId(writer, candidate)
  writeRequest(writer, request)
  writeList(writer, votes, (vote) => writeBallot(writer, vote))
  writeEpoch(writer, promised)
  writeConfig(writer, config)
}

function readReply(reader: WireReader, beacon: Beacon): Reply {
  return {
    kind: 'Reply',
    beacon,
    candidate: readId(reader),
    request: readRequest(reader),
    votes: readList(reader, () => readBallot(reader)),
    promised: readEpoch(reader),
    config: readConfig(reader),
  }
}

const YIELDS = 1
const HAS_SUCCESSOR = 2
const RELEASE_FLAGS = 4

function writeRelease(writer: WireWriter, { request, yields, to }: Release): void {
  writeRequest(writer, request)
  writer.u8((yields ? YIELDS : 0) | (to === undefined ? 0 : HAS_SUCCESSOR))
  if (to !== undefined) writeId(writer, to)
}

function readRelease(reader: WireReader, beacon: Beacon): Release {
  const request = readRequest(reader)
  const flags = reader.below(RELEASE_FLAGS, 'flags')
  const yields = (flags & YIELDS) !== 0
  if ((flags & HAS_SUCCESSOR) === 0) return { kind: 'Release', beacon, request, yields }
  if (!yields) reader.refuse('a successor of a node that does not yield')
  return { kind: 'Release', beacon, request, yields, to: readId(reader) }
}

/** Every message begins with the beacon of its sender. */
function layout<M extends LocalLeaderMessage>(
  kind: M['kind'],
  write: (writer: WireWriter, message: M) => void,
  read: (reader: WireReader, beacon: Beacon) => M,
): MessageLayout {
  return {
    kind,
    write(writer, message) {
      const own = message as unknown as M
      writeBeacon(writer, own.beacon)
      write(writer, own)
    },
    read: (reader) => read(reader, readBeacon(reader)),
  }
}

const LAYOUTS: readonly MessageLayout[] = [
  layout<Heartbeat>(
    'Heartbeat',
    () => {},
    (_reader, beacon) => ({ kind: 'Heartbeat', beacon }),
  ),
  layout<Election>('Election', writeElection, readElection),
  layout<Reply>('Reply', writeReply, readReply),
  layout<Release>('Release', writeRelease, readRelease),
]

const KINDS = new Set(LAYOUTS.map(({ kind }) => kind))

export const localLeaderWire: WireFormat = {
  layouts: LAYOUTS,
  fault(message) {
    if (!KINDS.has(message.kind)) return null
    const wrong = messageFault(message as unknown as LocalLeaderMessage)
    return wrong === null ? null : `${message.kind}.${wrong[0]}: ${wrong[1]}`
  },
}
