// Oblivious HTTP (RFC 9458), the client's side, and the binary HTTP messages (RFC 9292) that it carries.

import { concat, integer, number, utf8 } from "./bytes.js";
import { expand, exported, extract, gcm, setup } from "./hpke.js";

/** A variable-length integer of QUIC (RFC 9000, section 16), of at most 4 bytes. */
function variable(value) {
  if (value < 0x40) return integer(value, 1);
  if (value < 0x4000) return integer(value + 0x4000, 2);
  return integer(value + 0x80000000, 4); // a RangeError from 2^30 on: too long for any report
}

const counted = (bytes) => concat(variable(bytes.length), bytes);

/** Reads from the front of bytes, and never beyond their end. */
class Reader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.rest = bytes;
  }

  get empty() {
    return this.rest.length === 0;
  }

  /** @param {number} size */
  take(size) {
    if (size > this.rest.length) throw new RangeError("the message is cut short");
    const taken = this.rest.slice(0, size);
    this.rest = this.rest.subarray(size);
    return taken;
  }

  integer(size) {
    return Number(number(this.take(size)));
  }

  variable() {
    const first = this.integer(1);
    const more = (1 << (first >> 6)) - 1;
    return Number((BigInt(first & 0x3f) << BigInt(8 * more)) | number(this.take(more)));
  }

  counted() {
    return this.take(this.variable());
  }
}

/**
 * A known-length binary HTTP request.
 * @param {{method: string, scheme: string, authority: string, path: string, headers: [string, string][], content: Uint8Array}} request
 */
export function encodeRequest({ method, scheme, authority, path, headers, content }) {
  const control = [method, scheme, authority, path].map((part) => counted(utf8(part)));
  const fields = headers.flat().map((part) => counted(utf8(part)));
  return concat(integer(0, 1), ...control, counted(concat(...fields)), counted(content), integer(0, 1));
}

/**
 * The final status and the content of a binary HTTP response, of known or indeterminate length (sections 3.1, 3.2).
 * Fields are skipped: no answer of the service depends on one.
 * @param {Uint8Array} bytes
 * @returns {{status: number, content: Uint8Array}}
 */
export function decodeResponse(bytes) {
  const reader = new Reader(bytes);
  const framing = reader.variable();
  if (framing !== 1 && framing !== 3) throw new RangeError("expected a binary HTTP response");
  const section = (pairs) => {
    if (reader.empty) return reader.rest; // empty sections at the end may be left out (section 3.8)
    if (framing === 1) return reader.counted();
    const parts = [];
    for (let size = reader.variable(); size !== 0; size = reader.variable()) {
      parts.push(reader.take(size));
      if (pairs) reader.counted();
    }
    return concat(...parts);
  };
  let status = reader.variable();
  for (; status < 200; status = reader.variable()) section(true); // informational responses come first
  section(true);
  return { status, content: section(false) };
}

/**
 * The first configuration of application/ohttp-keys (RFC 9458, section 3) that has our algorithms.
 * @param {Uint8Array} bytes
 * @returns {{id: number, publicKey: Uint8Array}}
 */
export function keyConfig(bytes) {
  const list = new Reader(bytes);
  while (!list.empty) {
    const config = new Reader(list.take(list.integer(2)));
    const id = config.integer(1);
    if (config.integer(2) !== 0x0020) continue;
    const publicKey = config.take(32);
    const suites = new Reader(config.take(config.integer(2)));
    while (!suites.empty) if (suites.integer(4) === 0x00010001) return { id, publicKey };
  }
  throw new RangeError("no key for X25519, HKDF-SHA256 and AES-128-GCM is offered");
}

/**
 * An Encapsulated Request (section 4.3), and the function that opens the answer to it (section 4.4).
 * @param {{id: number, publicKey: Uint8Array}} config
 * @param {Uint8Array} request
 * @param {CryptoKeyPair} [pair] only for vectors
 */
export async function encapsulate({ id, publicKey }, request, pair) {
  const header = concat(integer(id, 1), integer(0x002000010001, 6));
  const context = await setup(publicKey, concat(utf8("message/bhttp request"), integer(0, 1), header), pair);
  const secret = await exported(context.exporter, utf8("message/bhttp response"), 16);
  const sealed = await gcm("encrypt", context.key, context.nonce, request);

  /** @param {Uint8Array} response */
  const open = async (response) => {
    const reader = new Reader(response);
    const nonce = reader.take(16);
    const prk = await extract(concat(context.enc, nonce), secret);
    return gcm("decrypt", await expand(prk, utf8("key"), 16), await expand(prk, utf8("nonce"), 12), reader.rest);
  };
  return { sealed: concat(header, context.enc, sealed), open };
}
