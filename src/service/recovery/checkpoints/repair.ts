/** Rebuilds one column of a checkpoint from the others. */
import { sealFrame } from '../../../recovery/codes/frame.ts'
import { type DecodedHeader, decodeHeader, encodeHeader } from '../../../recovery/codes/index.ts'
import type { Commit } from '../../../recovery/manager/types.ts'
import { type ColumnWriter, describeCheckpoint, FAST_CHECKSUMS } from '../store/index.ts'
import { ContentDigest } from './digest.ts'
import { DigestMismatchError } from './errors.ts'
import type { StripeSource } from './restore.ts'
import type { TransferOptions } from './upload.ts'

/** Writes the column, but does not finish it. The digest of the whole checkpoint is checked before this resolves. */
export async function rebuildColumn(
  source: StripeSource,
  commit: Commit,
  column: number,
  writer: ColumnWriter,
  { signal, onProgress }: TransferOptions = {},
): Promise<void> {
  const { code, layout } = source
  const header = encodeHeader({ ...(source.header as DecodedHeader), column }, FAST_CHECKSUMS)
  const { headerChecksum, checksum } = decodeHeader(header, FAST_CHECKSUMS)
  const restored = new ContentDigest()
  await writer.write([header])
  let done = 0
  for (let stripe = 0; stripe < layout.stripes; stripe++) {
    signal?.throwIfAborted()
    // oxlint-disable-next-line no-await-in-loop -- stripe by stripe
    const contents = await source.next()
    if (contents === null) break
    const columns = code.reconstruct(contents)
    const wanted = layout.payloadBytes(stripe)
    const length = layout.columnBytes(stripe)
    for (const [number, data] of columns.slice(0, code.dataColumns).entries())
      restored.update(data.subarray(0, Math.max(0, wanted - number * length)))
    const content = columns[column] as Uint8Array
    const prefix = sealFrame({ stripe, headerChecksum, content }, FAST_CHECKSUMS[checksum])
    // oxlint-disable-next-line no-await-in-loop -- stripe by stripe
    await writer.write([prefix, content])
    done += wanted
    onProgress?.({ done, total: commit.bytes })
  }
  const digest = restored.digest()
  if (digest !== commit.digest)
    throw new DigestMismatchError(describeCheckpoint(commit.id), digest, commit.digest)
}
