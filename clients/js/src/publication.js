// Signed documents: what a client believes, and until when.

import { attempt, fromBase64, Refusal, toHex, utf8 } from "./bytes.js";
import { parse } from "./json.js";
import { checkProgram } from "./program.js";

const { subtle } = globalThis.crypto;
const MOST_BYTES = 2 ** 23;

const sha256 = async (bytes) => toHex(new Uint8Array(await subtle.digest("SHA-256", bytes)));

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
      const id = (await sha256(bytes)).slice(0, 16);
      keys.set(id, await subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]));
    });
  }
  if (!keys.size) throw new Refusal("setting", "publishers must name at least one public key; copy the publisher's signing.pub.");
  return keys;
}

/**
 * The payload of an envelope that a pinned publisher has signed for this context, its key, and its digest: the SHA-256
 * of all that was signed.
 * @param {string} kind "publication" or "withdrawal"
 * @param {any} envelope
 * @param {Map<string, CryptoKey>} keys
 */
async function opened(kind, { payload, key: id, signature }, keys) {
  const key = keys.get(id);
  if (!key) throw new Refusal("trust", `The ${kind} is signed by a publisher that is not pinned`);
  const signed = await attempt("trust", `The signature of the ${kind} is not valid`, async () => {
    if (typeof payload !== "string" || !payload.isWellFormed()) throw new Error("no text");
    const bytes = utf8(`shuffledp ${kind} 1\n${id}\n${payload}`);
    if (bytes.length > MOST_BYTES || !(await subtle.verify("Ed25519", key, fromBase64(signature), bytes))) throw new Error("invalid");
    return bytes;
  });
  const found = await attempt("trust", `The ${kind} cannot be read`, () => parse(payload));
  return { found, key: id, digest: await sha256(signed) };
}

const whole = (low) => (value) => Number.isSafeInteger(value) && value >= low;
const text = (value) => typeof value === "string";
const line = (value) => text(value) && value !== "";
const amount = (value) => Number.isFinite(value) && value >= 0;
const eps0 = (value) => (value === "inf" ? Infinity : value);
/** Exactly these fields, each as it must be; it may be compared with the others. */
const holds = (fields) => (value) =>
  value !== null && typeof value === "object" && Object.keys(value).sort().join() === Object.keys(fields).sort().join() && !misfit(fields, value);
const misfit = (fields, value) => Object.keys(fields).find((field) => !fields[field](value[field], value));

const anything = () => true;
const PROMISE = { epsilon: amount, delta: amount, local_epsilon: (value) => value === "inf" || amount(value) };
const PLAN = {
  version: (value) => value === 1, name: text, query: anything, users: whole(1),
  minimum_batch: (value, { users }) => value === null || (whole(1)(value) && value <= users),
  delta: (value, { guarantee }) => value === guarantee?.delta, reports_per_user: whole(1), user_column: text,
  guarantee: holds({ ...PROMISE, bound: text }),
};
/** For fewer users than the plan asks for, its guarantee does not hold. */
const enough = (value, { plan }) => whole(plan?.minimum_batch ?? plan?.users)(value);
/** What clients run cannot be more private than the plan, and not less but for the rounding. */
const kept = (value, { plan }) =>
  holds(PROMISE)(value) && value.delta === plan?.delta && value.epsilon >= plan.guarantee?.epsilon &&
  eps0(value.local_epsilon) <= eps0(plan.guarantee.local_epsilon) * (1 + 1e-9);
function sealing(value) {
  try {
    return fromBase64(value).length === 32;
  } catch {
    return false;
  }
}
const FIELDS = {
  withdrawal: { format: anything, version: anything, publication: (value) => text(value) && /^[0-9a-f]{64}$/.test(value), name: line, reason: text },
  publication: {
    format: anything, version: anything, name: line, serial: whole(0), plan: holds(PLAN), program: text, minimum: enough,
    starts: whole(0), length: whole(1), grace: whole(0), expires: whole(1), dispose: whole(0),
    analyst: holds({ sealing }), guarantee: kept,
  },
};

/** A payload of this kind and version whose fields are what they must be. */
async function read(kind, envelope, keys) {
  const { found, key, digest } = await opened(kind, envelope ?? {}, keys);
  if (found?.format !== `shuffledp ${kind}` || found.version !== 1)
    throw new Refusal("trust", `The ${kind} is of another version than 1; update the client.`);
  const fields = FIELDS[kind];
  const field = Object.keys(found).find((name) => !Object.hasOwn(fields, name)) ?? misfit(fields, found);
  if (field !== undefined) throw new Refusal("trust", `The field ${field.slice(0, 40)} of the ${kind} is not as expected`);
  return { ...found, key, digest };
}

/** The publication with its program, which is checked as far as a client can that does not derive it from the plan. */
async function withProgram(found, pin) {
  const programDigest = await sha256(utf8(found.program));
  if (pin !== undefined && pin !== programDigest)
    throw new Refusal("trust", `The program of the plan "${found.name}" is another one than is pinned`);
  const program = await attempt("law", "The program cannot be read", () => parse(found.program));
  await attempt("law", "The law of the plan cannot be run", () => checkProgram(program, found.guarantee.local_epsilon, pin !== undefined));
  if (program.reports_per_user !== found.plan.reports_per_user) throw new Refusal("trust", "The program is not that of the plan");
  return { ...found, program, programDigest };
}

/** What is remembered of a name: the publication with the greatest serial, its key, and all that were withdrawn. */
function remembered(old) {
  const known = { serial: 0, digest: "", key: "", withdrawn: [], ...JSON.parse(old ?? "{}") };
  if (!whole(0)(known.serial) || !text(known.digest) || !text(known.key) || !Array.isArray(known.withdrawn)) throw new Error("not what was written");
  return known;
}

const named = (document) => `${document.key} ${document.publication ?? document.digest}`;

/** What is remembered after a publication, unless it is refused. */
function admitted(found, known, now) {
  const refuse = (what, code = "trust") => {
    throw new Refusal(code, `The plan "${found.name}" ${what}`);
  };
  if (known.key !== "" && known.key !== found.key) refuse("is signed by another publisher than those before");
  if (known.withdrawn.includes(named(found))) refuse("was withdrawn by its publisher");
  if (found.serial < known.serial) refuse(`is older than one before: serial ${found.serial} after ${known.serial}`);
  if (found.serial === known.serial && known.digest !== "" && known.digest !== found.digest)
    refuse(`is another one than before with the same serial ${found.serial}`);
  if (now < found.starts) refuse("has not started yet; check the clock or try later.", "time");
  if (now >= found.expires) refuse("has expired", "time");
  const { serial, digest, key } = found;
  return { ...known, serial, digest, key };
}

/**
 * The publication that holds now under a name.
 *
 * Of those that have started the one with the greatest serial counts.  It must not be expired, withdrawn by its key,
 * signed by another key than those before, or older than one that this client has accepted before; what was accepted or
 * withdrawn is remembered before anything rests on it.
 * @param {{publications: any[], withdrawals: any[]}} plans as the service serves them
 * @param {string} name
 * @param {Map<string, CryptoKey>} keys
 * @param {string | undefined} pin digest of the only program that is run
 * @param {number} now in seconds since 1970
 * @param {(key: string, change: (old: string | undefined) => string) => Promise<string>} update of the storage
 */
export async function current(plans, name, keys, pin, now, update) {
  let best, why, unread;
  const each = async (kind, use) => {
    for (const envelope of Array.isArray(plans?.[`${kind}s`]) ? plans[`${kind}s`] : []) {
      let found;
      try {
        found = await read(kind, envelope, keys);
        if (found.name === name) await use(found);
      } catch (error) {
        // Others may publish on the same service, and what they withdraw is nothing to us.
        if (!(error instanceof Refusal) || error.code === "storage") throw error;
        if (found) why ??= error;
        else if (kind === "publication") unread ??= error;
      }
    }
  };
  const change = (to) => update(`name ${name}`, (old) => JSON.stringify(to(remembered(old))));
  let withdrawn = false;
  await each("withdrawal", async (found) => {
    await change((known) => ({ ...known, withdrawn: [...new Set([...known.withdrawn, named(found)])] }));
    withdrawn = true;
  });
  await each("publication", async (found) => {
    const whole = await withProgram(found, pin);
    await change((known) => admitted(whole, known, now));
    best = whole; // an older one is not admitted after it
  });
  if (best) return best;
  const trust = (what) => new Refusal("trust", `The plan "${name}" ${what}`);
  throw why ?? (withdrawn ? trust("was withdrawn by its publisher") : unread ?? trust("is not offered by the service; check the name."));
}
