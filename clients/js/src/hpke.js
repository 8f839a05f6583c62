// HPKE (RFC 9180), the sender's side of base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM.
// Curve, hash and cipher are WebCrypto's; this is the key schedule of section 5.1.  A context seals one message only
// (sequence number 0), which is all that reports and Oblivious HTTP need: a nonce cannot come twice.

import { concat, integer, utf8 } from "./bytes.js";

const { subtle } = globalThis.crypto;
const KEM = concat(utf8("KEM"), integer(0x0020, 2));
const SUITE = concat(utf8("HPKE"), integer(0x0020, 2), integer(0x0001, 2), integer(0x0001, 2));
const NONE = new Uint8Array(0);

/**
 * HKDF-Extract (RFC 5869): HMAC pads a short key with zeros, so that an empty salt is 32 zero bytes.
 * @param {Uint8Array} salt
 * @param {Uint8Array} material
 */
export async function extract(salt, material) {
  const key = salt.length ? salt : new Uint8Array(32);
  const hmac = await subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", hmac, material));
}

/**
 * HKDF-Expand (RFC 5869) of at most 32 bytes: its first block.
 * @param {Uint8Array} secret
 * @param {Uint8Array} info
 * @param {number} size
 */
export const expand = async (secret, info, size) =>
  (await extract(secret, concat(info, integer(1, 1)))).slice(0, size);

const labeledExtract = (suite, salt, label, material) =>
  extract(salt, concat(utf8("HPKE-v1"), suite, utf8(label), material));

const labeledExpand = (suite, secret, label, info, size) =>
  expand(secret, concat(integer(size, 2), utf8("HPKE-v1"), suite, utf8(label), info), size);

/**
 * AES-128-GCM.
 * @param {"encrypt" | "decrypt"} way
 * @param {Uint8Array} key
 * @param {Uint8Array} nonce
 * @param {Uint8Array} data
 * @param {Uint8Array} [aad]
 */
export async function gcm(way, key, nonce, data, aad = NONE) {
  const aes = await subtle.importKey("raw", key, "AES-GCM", false, [way]);
  return new Uint8Array(await subtle[way]({ name: "AES-GCM", iv: nonce, additionalData: aad }, aes, data));
}

/**
 * SetupBaseS: a fresh shared secret with the owner of a public key.
 * @param {Uint8Array} publicKey 32 bytes; one of small order is refused by WebCrypto, as section 7.1.4 demands
 * @param {Uint8Array} info
 * @param {CryptoKeyPair} [pair] the ephemeral pair: only for the vectors of the RFC
 * @returns {Promise<{enc: Uint8Array, key: Uint8Array, nonce: Uint8Array, exporter: Uint8Array}>}
 */
export async function setup(publicKey, info, pair) {
  const own = pair ?? (await subtle.generateKey("X25519", false, ["deriveBits"]));
  const other = await subtle.importKey("raw", publicKey, "X25519", false, []);
  const dh = new Uint8Array(await subtle.deriveBits({ name: "X25519", public: other }, own.privateKey, 256));
  if (dh.every((byte) => byte === 0)) throw new RangeError("expected a public key that is not of small order");
  const enc = new Uint8Array(await subtle.exportKey("raw", own.publicKey));
  const shared = await labeledExpand(
    KEM, await labeledExtract(KEM, NONE, "eae_prk", dh), "shared_secret", concat(enc, publicKey), 32);
  const hashes = [
    await labeledExtract(SUITE, NONE, "psk_id_hash", NONE),
    await labeledExtract(SUITE, NONE, "info_hash", info),
  ];
  const context = concat(integer(0, 1), ...hashes);
  const secret = await labeledExtract(SUITE, shared, "secret", NONE);
  return {
    enc,
    key: await labeledExpand(SUITE, secret, "key", context, 16),
    nonce: await labeledExpand(SUITE, secret, "base_nonce", context, 12),
    exporter: await labeledExpand(SUITE, secret, "exp", context, 32),
  };
}

/**
 * Context.Export of at most 32 bytes.
 * @param {Uint8Array} exporter
 * @param {Uint8Array} context
 * @param {number} size
 */
export const exported = (exporter, context, size) => labeledExpand(SUITE, exporter, "sec", context, size);

/**
 * Single-shot seal without additional data: the encapsulated key, then the ciphertext.
 * @param {Uint8Array} publicKey
 * @param {Uint8Array} info
 * @param {Uint8Array} plaintext
 * @param {CryptoKeyPair} [pair] only for vectors
 */
export async function seal(publicKey, info, plaintext, pair) {
  const made = await setup(publicKey, info, pair);
  return concat(made.enc, await gcm("encrypt", made.key, made.nonce, plaintext));
}
