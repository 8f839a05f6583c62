// Signed documents: what a client believes, and until when.

import { attempt, concat, fromBase64, Refusal, toHex, utf8 } from "./bytes.js";

const { subtle } = globalThis.crypto;

/**
 * The pinned keys by their identifier: the first 16 hexadecimal digits of the SHA-256 of the public key.
 * @param {string[]} publishers lines "ed25519 <base64url>", as in the publisher's signing.pub
 * @returns {Promise<Map<string, CryptoKey>>}
 */
export async function pinned(publishers) {
  const keys = new Map();
  for (const line of Array.isArray(publishers) ? publishers : []) {
    const bytes = await attempt("setting", "publishers must be lines 'ed25519 <base64url>'; copy the publisher's signing.pub.", () => {
      const found = fromBase64(line.trim().match(/^ed25519\s+(\S+)$/)[1]);
      if (found.length !== 32) throw new RangeError("not a key");
      return found;
    });
    await attempt("setting", "The platform must offer Ed25519; update the browser, and serve the page over https.", async () => {
      const id = toHex(new Uint8Array(await subtle.digest("SHA-256", bytes))).slice(0, 16);
      keys.set(id, await subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]));
    });
  }
  if (!keys.size) throw new Refusal("setting", "publishers must name at least one public key; copy the publisher's signing.pub.");
  return keys;
}

/**
 * The payload of an envelope that a pinned publisher has signed for this context.
 * @param {string} kind "publication" or "withdrawal"
 * @param {any} envelope
 * @param {Map<string, CryptoKey>} keys
 */
async function opened(kind, { payload, key: id, signature }, keys) {
  const key = keys.get(id);
  if (!key) throw new Refusal("trust", `The ${kind} is signed by a publisher that is not pinned`);
  await attempt("trust", `The signature of the ${kind} is not valid`, async () => {
    const signed = concat(utf8(`shuffledp ${kind} 1\n`), utf8(payload));
    if (typeof payload !== "string" || !(await subtle.verify("Ed25519", key, fromBase64(signature), signed))) throw new Error("invalid");
  });
  return attempt("trust", `The ${kind} cannot be read`, () => JSON.parse(payload));
}

const whole = (low) => (value) => Number.isSafeInteger(value) && value >= low;
const line = (value) => typeof value === "string" && value !== "";
const digits = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
/** For fewer users than the plan asks for, its guarantee does not hold. */
const enough = (value, { plan }) => {
  const fewest = plan?.minimum_batch || plan?.users;
  return whole(Number.isInteger(fewest) ? fewest : 1)(value);
};
const sealing = (value) => /^[\w-]{43}$/.test(value?.sealing);
const FIELDS = {
  withdrawal: { name: line, serial: whole(0) },
  publication: {
    name: line, serial: whole(0), digest: digits, starts: whole(0), length: whole(1), grace: whole(0),
    expires: whole(0), minimum: enough, analyst: sealing,
  },
};

/** A payload of this kind and version whose fields are what they must be. */
async function read(kind, envelope, keys) {
  const payload = await opened(kind, envelope ?? {}, keys);
  if (payload?.format !== `shuffledp ${kind}` || payload.version !== 1)
    throw new Refusal("trust", `The ${kind} is of another version than 1; update the client.`);
  for (const [field, fits] of Object.entries(FIELDS[kind]))
    if (!fits(payload[field], payload)) throw new Refusal("trust", `The field ${field} of the ${kind} is not as expected`);
  return payload;
}

/** The documents of a kind and name that can be believed, and why the others cannot. */
async function believed(kind, envelopes, name, keys) {
  const found = [];
  let why;
  for (const envelope of Array.isArray(envelopes) ? envelopes : []) {
    try {
      const payload = await read(kind, envelope, keys);
      if (payload.name === name) found.push(payload);
    } catch (error) {
      // Others may publish on the same service; a withdrawal that a pinned publisher seems to have signed is heeded.
      if (!(error instanceof Refusal) || (kind === "withdrawal" && keys.has(envelope?.key))) throw error;
      why ??= error;
    }
  }
  return { found, why };
}

/**
 * The publication that holds now under a name.
 *
 * Of those that have started the one with the greatest serial counts.  It must not be expired, withdrawn, or older than
 * one that this client has accepted before; what was accepted or withdrawn is remembered before anything rests on it.
 * @param {{publications: any[], withdrawals: any[]}} plans as the service serves them
 * @param {string} name
 * @param {Map<string, CryptoKey>} keys
 * @param {number} now in seconds since 1970
 * @param {(key: string, change: (old: string | undefined) => string) => Promise<string>} update of the storage
 */
export async function current(plans, name, keys, now, update) {
  const { found, why } = await believed("publication", plans?.publications, name, keys);
  const withdrawn = (await believed("withdrawal", plans?.withdrawals, name, keys)).found.map(({ serial }) => serial);
  const [best] = found.filter(({ starts }) => starts <= now).sort((a, b) => b.serial - a.serial);
  let known;
  await update(`name ${name}`, (old) => {
    known = { serial: -1, digest: "", void: -1, ...JSON.parse(old ?? "{}") };
    if (!Number.isInteger(known.void) || !Number.isInteger(known.serial)) throw new Error("not what was written");
    known.void = Math.max(known.void, ...withdrawn);
    if (best && now < best.expires && best.serial > known.serial) ({ serial: known.serial, digest: known.digest } = best);
    return JSON.stringify(known);
  });
  const trust = (what) => new Refusal("trust", `The plan "${name}" ${what}`);
  const time = (what) => new Refusal("time", `The plan "${name}" ${what}`);
  if (best ? best.serial <= known.void : !found.length && known.void >= 0) throw trust("was withdrawn by its publisher");
  if (!best && found.length) throw time("has not started yet; check the clock or try later.");
  if (!best) throw why ?? trust("is not offered by the service; check the name.");
  if (now >= best.expires) throw time("has expired");
  if (best.serial < known.serial) throw trust(`is older than one before: serial ${best.serial} after ${known.serial}`);
  if (best.digest !== known.digest) throw trust(`is another one than before with the same serial ${best.serial}`);
  return best;
}
