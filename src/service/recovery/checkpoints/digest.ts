/**
 * The digest of a checkpoint: a SHA-256 over the length and a tag of every MiB. The tags are those of AES-GCM with a fixed
 * key. Processors compute them four times faster than a SHA-256 of the bytes, which would take a fifth of the time of a
 * whole checkpoint.
 *
 * With a known key, other bytes with the same tag can be computed. So the digest finds damage and mixed-up content, and
 * says nothing about who made it. Only holders of the group's key can store columns, and the transport checks that.
 */
import { type CipherGCM, createCipheriv, createHash } from 'node:crypto'

const PIECE_BYTES = 1024 * 1024
const KEY = Buffer.from('conclave content')
const NONCE_BYTES = 12

export class ContentDigest {
  readonly #hash = createHash('sha256')
  #cipher: CipherGCM | null = null
  /** Bytes that fit into the present piece. */
  #space = 0
  #pieces = 0
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  /** The result does not depend on how the content is cut. */
  update(content: Uint8Array): void {
    let rest = content
    while (rest.length > 0) {
      this.#cipher ??= this.#startPiece()
      const taken = rest.subarray(0, this.#space)
      this.#cipher.setAAD(taken)
      this.#space -= taken.length
      this.#bytes += taken.length
      rest = rest.subarray(taken.length)
      if (this.#space === 0) this.#endPiece(this.#cipher)
    }
  }

  /** In hexadecimal. Call it once. */
  digest(): string {
    if (this.#cipher !== null) this.#endPiece(this.#cipher)
    return this.#hash.update(`${this.#bytes}`).digest('hex')
  }

  #startPiece(): CipherGCM {
    const nonce = Buffer.alloc(NONCE_BYTES)
    nonce.writeUIntBE(this.#pieces, NONCE_BYTES - 6, 6)
    this.#pieces += 1
    this.#space = PIECE_BYTES
    return createCipheriv('aes-128-gcm', KEY, nonce)
  }

  #endPiece(cipher: CipherGCM): void {
    cipher.final()
    this.#hash.update(cipher.getAuthTag())
    this.#cipher = null
  }
}
