// Bytes in and out of text, and what a client refuses with.

/** An error on purpose: one sentence for people, and a code for programs. */
export class Refusal extends Error {
  /**
   * @param {string} code "trust", "time", "value", "law", "storage", "delivery" or "setting"
   * @param {string} sentence without a full stop where there is nothing that the reader could do
   * @param {unknown} [cause]
   */
  constructor(code, sentence, cause) {
    super(sentence.endsWith(".") ? sentence : `${sentence}; nothing is sent.`, { cause });
    this.name = "Refusal";
    this.code = code;
  }
}

/**
 * What a function gives, or the refusal that stands for all its errors.
 * @template T
 * @param {string} code
 * @param {string} sentence
 * @param {() => T | Promise<T>} run
 * @returns {Promise<T>}
 */
export async function attempt(code, sentence, run) {
  try {
    return await run();
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal(code, sentence, error);
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** @param {string} text */
export const utf8 = (text) => encoder.encode(text);

/** @param {BufferSource} bytes */
export const text = (bytes) => decoder.decode(bytes);

/** @param {...Uint8Array} parts */
export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * A non-negative integer in `size` bytes, the highest first.
 * @param {number | bigint} value
 * @param {number} size
 */
export function integer(value, size) {
  const bytes = new Uint8Array(size);
  let rest = BigInt(value);
  for (let i = size - 1; i >= 0; i--, rest >>= 8n) bytes[i] = Number(rest & 255n);
  if (rest !== 0n) throw new RangeError(`expected an integer of ${size} bytes, got ${value}`);
  return bytes;
}

/** @param {Uint8Array} bytes the highest byte first */
export const number = (bytes) => (bytes.length ? BigInt("0x" + toHex(bytes)) : 0n);

/** @param {Uint8Array} bytes */
export const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} hex */
export function fromHex(hex) {
  if (!/^([0-9a-f]{2})*$/.test(hex)) throw new RangeError("expected lower-case hexadecimal digits in pairs");
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

/** @param {Uint8Array} bytes base64url without padding */
export const toBase64 = (bytes) =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

/** @param {string} base64 base64url without padding; only the one canonical spelling of the bytes */
export function fromBase64(base64) {
  if (typeof base64 !== "string" || !/^[\w-]*$/.test(base64)) throw new RangeError("expected base64url without padding");
  const bytes = Uint8Array.from(atob(base64.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
  if (toBase64(bytes) !== base64) throw new RangeError("expected base64url without padding");
  return bytes;
}
