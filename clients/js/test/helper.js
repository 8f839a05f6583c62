// A publisher, an analyst and a service inside the process: the other sides of everything that the client does.

import { concat, fromHex, integer, toBase64, toHex, utf8 } from "../src/bytes.js";
import { expand, exported, extract, gcm } from "../src/hpke.js";

const { subtle } = crypto;
const sha256 = async (bytes) => toHex(new Uint8Array(await subtle.digest("SHA-256", bytes)));
export const programDigestOf = (program) => sha256(utf8(JSON.stringify(program)));

export async function publisher() {
  const pair = await subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const bytes = new Uint8Array(await subtle.exportKey("raw", pair.publicKey));
  const id = (await sha256(bytes)).slice(0, 16);
  const sign = async (kind, payload) => {
    const written = typeof payload === "string" ? payload : JSON.stringify(payload);
    const signed = utf8(`shuffledp ${kind} 1\n${id}\n${written}`);
    return { payload: written, key: id, signature: toBase64(new Uint8Array(await subtle.sign("Ed25519", pair.privateKey, signed))) };
  };
  return { line: "ed25519 " + toBase64(bytes), id, sign };
}

export async function keyPair() {
  const pair = await subtle.generateKey("X25519", true, ["deriveBits"]);
  return { ...pair, bytes: new Uint8Array(await subtle.exportKey("raw", pair.publicKey)) };
}

/** What names a signed document. */
export const digestOf = (kind, { key, payload }) => sha256(utf8(`shuffledp ${kind} 1\n${key}\n${payload}`));

/** The value itself, which is only run where it is pinned; a second slot stays blank. */
export const PROGRAM = {
  columns: ["fruit"], reports_per_user: 1, slots: 2, message_bytes: 1,
  input: { kind: "label", column: 0, labels: ["apple", "pear"], other: 2 },
  law: { kind: "same" },
  encoding: { kind: "number", bytes: 1 },
};

const GUARANTEE = { epsilon: 0.5, delta: 1e-6, local_epsilon: 2 };
export const PLAN = {
  version: 1, name: "fruit", query: { kind: "histogram", column: "fruit" }, users: 20, minimum_batch: 10, delta: 1e-6,
  reports_per_user: 1, user_column: "", guarantee: { ...GUARANTEE, bound: "blanket" },
};

export const published = (analyst, { program = PROGRAM, ...more } = {}) => ({
  format: "shuffledp publication", version: 1, serial: 1, name: "fruit", plan: PLAN,
  program: typeof program === "object" && program ? JSON.stringify(program) : program, minimum: 10,
  starts: 1000, length: 100, grace: 50, expires: 5000, dispose: 1000, analyst: { sealing: toBase64(analyst.bytes) },
  guarantee: GUARANTEE, ...more,
});

/** The recipient's side of HPKE, written from RFC 9180 with other calls than the client's where there are any. */
export async function recipient(pair, enc, info) {
  const labeled = (suite, label, ...more) => concat(utf8("HPKE-v1"), fromHex(suite), utf8(label), ...more);
  const kem = "4b454d0020";
  const suite = "48504b45002000010001";
  const derive = async (secret, of, label, context, size) => expand(secret, concat(integer(size, 2), labeled(of, label, context)), size);
  const sender = await subtle.importKey("raw", enc, "X25519", true, []);
  const dh = new Uint8Array(await subtle.deriveBits({ name: "X25519", public: sender }, pair.privateKey, 256));
  const none = new Uint8Array(0);
  const prk = await extract(none, labeled(kem, "eae_prk", dh));
  const shared = await derive(prk, kem, "shared_secret", concat(enc, pair.bytes), 32);
  const hashes = [await extract(none, labeled(suite, "psk_id_hash")), await extract(none, labeled(suite, "info_hash", info))];
  const context = concat(new Uint8Array(1), ...hashes);
  const secret = await extract(shared, labeled(suite, "secret"));
  return {
    key: await derive(secret, suite, "key", context, 16),
    nonce: await derive(secret, suite, "base_nonce", context, 12),
    exporter: await derive(secret, suite, "exp", context, 32),
  };
}

export async function unsealed(pair, info, sealed) {
  const { key, nonce } = await recipient(pair, sealed.slice(0, 32), info);
  return gcm("decrypt", key, nonce, sealed.slice(32));
}

/** A shuffler that remembers what it was sent; `down` makes it fail in a way. */
export class Service {
  plans = { publications: [], withdrawals: [] };
  asked = [];
  arrived = [];
  outer = [];
  down = "";
  status = 200;

  async start() {
    this.gateway = await keyPair();
    return this;
  }

  fetch = async (url, init) => {
    const pathname = new URL(url).pathname.replace("/shuffler/", "/");
    this.asked.push({ url: String(url), init });
    if (this.down === "network" || this.down === pathname) throw new TypeError("fetch failed");
    if (pathname === "/plans") return new Response(JSON.stringify(this.plans));
    if (pathname === "/ohttp-keys") {
      const config = concat(fromHex("070020"), this.gateway.bytes, fromHex("000400010001"));
      return new Response(concat(integer(config.length, 2), config));
    }
    if (pathname === "/reports") return this.#answer(init.body);
    if (this.down === "outer") return new Response("{}", { status: 400 });
    this.outer.push(init.body);
    return this.#gateway(init.body);
  };

  #answer(body) {
    this.arrived.push(body);
    if (this.down === "lost") throw new TypeError("connection closed"); // stored, but nobody hears of it
    const said = this.status === 200 ? { stored: 1 } : { error: "the plan has expired." };
    return new Response(JSON.stringify(said), { status: this.status });
  }

  async #gateway(raw) {
    const [header, enc] = [raw.slice(0, 7), raw.slice(7, 39)];
    const context = await recipient(this.gateway, enc, concat(utf8("message/bhttp request\0"), header));
    const request = await gcm("decrypt", context.key, context.nonce, raw.slice(39));
    const content = request.slice(request.length - 1 - this.size, -1); // the body, before the empty trailers
    const answer = await this.#answer(content);
    const text = new Uint8Array(await answer.arrayBuffer());
    const plain = concat(fromHex("01"), integer(0x4000 + answer.status, 2), fromHex("00"), integer(text.length, 1), text);
    const secret = await exported(context.exporter, utf8("message/bhttp response"), 16);
    const nonce = crypto.getRandomValues(new Uint8Array(16));
    const prk = await extract(concat(enc, nonce), secret);
    const sealed = await gcm("encrypt", await expand(prk, utf8("key"), 16), await expand(prk, utf8("nonce"), 12), plain);
    return new Response(concat(nonce, sealed));
  }

  /** Bytes of a report of the plan above. */
  size = 4 + 32 + 8 + 2 + 16 + 2 * 50;
}
