// One report per plan and period: verified, drawn once, kept before it is sent, sent again as it is after a failure.

import { attempt, concat, fromBase64, fromHex, integer, Refusal, text, toBase64, utf8 } from "./bytes.js";
import { seal } from "./hpke.js";
import { parse } from "./json.js";
import { Draws, drawRows, rowOf, secure } from "./law.js";
import { decodeResponse, encapsulate, encodeRequest, keyConfig } from "./ohttp.js";
import { current, pinned } from "./publication.js";

const REPORTS = "application/vnd.shuffledp.reports";
/** How many earlier periods a resend looks at. */
const EARLIER = 20;
/** The shuffler will never take this report: too late, or withdrawn. */
const GONE = 410;

/** A report of a publication and period is kept as JSON: its bytes until they have arrived, and whether they have. */
const keyOf = ({ digest }, period) => `report ${digest} ${period}`;
const SENT = '{"sent":true}';
const LOST = '{"sent":false}';

/**
 * The bytes of one report: every slot sealed on its own to the analyst, empty ones as blanks of the same size.
 * @param {import("./index.js").Publication} publication
 * @param {any[]} rows
 */
const makeReport = ({ program, digest, analyst, period }, rows) =>
  attempt("law", "The law of the plan cannot be run", async () => {
    const { slots, message_bytes: size } = program;
    const messages = drawRows(program, rows, secure);
    if (messages.length > slots || messages.some((message) => message.length !== size))
      throw new Refusal("law", "The law of the plan gives messages that do not fit");
    const info = concat(fromHex(digest), integer(period, 8));
    const key = fromBase64(analyst.sealing);
    const plain = messages.map((message) => concat(integer(1, 1), message));
    while (plain.length < slots) plain.push(new Uint8Array(1 + size));
    const sealed = [];
    const draws = new Draws(secure);
    // In a random order: which message is the user's own must not show in its place.
    while (plain.length) sealed.push(await seal(key, info, ...plain.splice(draws.below(plain.length), 1)));
    return concat(utf8("SDR1"), info, integer(1, 2), secure(16), ...sealed);
  });

export class Client {
  #keys;
  #pin;
  #settings;

  /** @param {import("./index.js").Settings} settings */
  constructor({
    service, publishers, programDigest, storage, relay, mirror, plain = false, timeout = 20_000, now = () => Date.now() / 1000, fetch = globalThis.fetch,
  }) {
    if (typeof storage?.update !== "function")
      throw new Refusal("setting", "storage must be one that lasts, such as new BrowserStorage().");
    const base = folder("service", service);
    const target = relay ? address("relay", relay) : new URL(plain ? "reports" : "ohttp", base);
    if (relay && plain) throw new Refusal("setting", "plain must be left out with a relay, which forwards Oblivious HTTP only.");
    if (programDigest !== undefined && !/^[0-9a-f]{64}$/.test(programDigest))
      throw new Refusal("setting", "programDigest must be 64 hexadecimal digits; copy what shuffledp shuffler publish prints.");
    this.#pin = programDigest;
    this.#settings = { base, storage, target, mirror: mirror ? folder("mirror", mirror) : base, plain, timeout, now, fetch };
    this.#keys = pinned(publishers);
    this.#keys.catch(() => undefined); // told when it is needed
  }

  /**
   * The publication that holds now under a name, verified, and its period.
   * @param {string} name
   */
  async publication(name) {
    const time = this.#settings.now();
    if (!Number.isFinite(time)) throw new Refusal("time", "The clock gives no time");
    const keys = await this.#keys;
    const plans = await this.#get("plans", (bytes) => parse(text(bytes)));
    const found = await current(plans, name, keys, this.#pin, time, (key, change) => this.#update(key, change));
    return { ...found, time, period: Math.floor((time - found.starts) / found.length) };
  }

  /**
   * Reports a value, once; a report that has not arrived yet is sent again as it is, whatever the value is now.
   * @param {string} name of the plan
   * @param {any} value
   */
  async report(name, value) {
    return this.reportRows(name, [value]);
  }

  /**
   * Reports a user who has several rows, or none.
   * @param {string} name
   * @param {any[]} rows
   */
  async reportRows(name, rows) {
    if (!Array.isArray(rows)) throw new Refusal("value", "The rows must be a list with one entry per row; pass [value].");
    const plan = await this.publication(name);
    const key = keyOf(plan, plan.period);
    let kept = await this.#update(key);
    if (kept === undefined) {
      for (const row of rows) rowOf(plan.program, row); // what the caller can mend, before the period is spent
      await this.#claim(plan, key);
      let [made, failed] = [LOST];
      try {
        made = JSON.stringify({ sent: false, body: toBase64(await makeReport(plan, rows)) });
      } catch (error) {
        failed = error; // kept as well: drawing until nothing fails would be another law
      }
      kept = await this.#update(key, (old) => old ?? made); // another tab may have been first
      if (failed) throw failed;
    }
    return this.#deliver(plan, plan.period, kept);
  }

  /**
   * Sends again what has not arrived, of this period and of earlier ones whose reports are still taken; draws nothing.
   * @param {string} name
   */
  async resend(name) {
    const plan = await this.publication(name);
    const { starts, length, grace, time, period } = plan;
    const results = [];
    for (let k = Math.max(0, period - EARLIER); k <= period; k++) {
      const key = keyOf(plan, k);
      const kept = await this.#update(key);
      if (!kept || kept === SENT || kept === LOST) continue;
      if (time < starts + (k + 1) * length + grace) results.push(await this.#deliver(plan, k, kept));
      else await this.#update(key, () => LOST); // nobody takes it any more
    }
    return results;
  }

  /** Before a report is kept: until its period is over, no other plan and no other period of the name is answered. */
  #claim({ name, time, starts, length, period }, key) {
    return this.#update(`answered ${name}`, (old) => {
      const last = JSON.parse(old ?? "{}");
      if (last.key !== key && time < last.until)
        throw new Refusal("trust", `The plan "${name}" is another one than this period was answered with; answer in the next period.`);
      return JSON.stringify({ key, until: starts + (period + 1) * length });
    });
  }

  /** What is stored under a key, after a change; a storage that forgets is found out before anything is sent. */
  #update(key, change) {
    const { storage } = this.#settings;
    return attempt("storage", "The storage does not keep what is written", async () => {
      if (change) await storage.update(key, change);
      const kept = await storage.update(key, (old) => old);
      if (change && kept === undefined) throw new Error("forgotten");
      return kept;
    });
  }

  async #deliver({ name, digest }, period, kept) {
    if (kept === SENT) return { status: "already sent", name, digest, period };
    if (kept === LOST) throw new Refusal("time", "The report of this period has failed or is too late; it is given up.");
    const body = await attempt("storage", "The storage holds a report that cannot be read", () => fromBase64(JSON.parse(kept).body));
    const { target, plain } = this.#settings;
    const { status, content, outer } = await (plain ? this.#fetch(target, REPORTS, body) : this.#oblivious(body));
    // Should this fail: the shuffler has answered, and at worst the same bytes are sent once more and count once.
    const settle = (state) => this.#update(keyOf({ digest }, period), () => state).catch(() => undefined);
    const said = new TextDecoder().decode(content).match(/"error": *"(.{1,300}?)"/)?.[1] ?? status; // the service's own sentence
    if (status === GONE && !outer) {
      await settle(LOST);
      throw new Refusal("time", `The service takes this report no more (${said}); it is given up.`);
    }
    if (status !== 200) throw new Refusal("delivery", `The service refused the report (${said}); the same report can be sent again.`);
    await settle(SENT);
    return { status: "sent", name, digest, period };
  }

  /** A fresh encapsulation every time, under the key that the service has now; anybody may have said an outer answer. */
  async #oblivious(content) {
    const { base, target } = this.#settings;
    const config = await this.#get("ohttp-keys", keyConfig);
    const headers = [["content-type", REPORTS]];
    const request = { method: "POST", scheme: base.protocol.slice(0, -1), authority: base.host, path: "/reports", headers, content };
    const { sealed, open } = await encapsulate(config, encodeRequest(request));
    const answer = await this.#fetch(target, "message/ohttp-req", sealed);
    return answer.status === 200 ? understood("an answer", async () => decodeResponse(await open(answer.content))) : { ...answer, outer: true };
  }

  /** A document of the service. */
  async #get(path, parse) {
    const { status, content } = await this.#fetch(new URL(path, this.#settings.mirror));
    if (status !== 200) throw new Refusal("delivery", `The service did not give ${path} (${status}); try again later.`);
    return understood(path, () => parse(content));
  }

  #fetch(url, type, body) {
    const { fetch, timeout } = this.#settings;
    return attempt("delivery", "The service could not be reached; try again later.", async () => {
      const response = await fetch(url, {
        method: body ? "POST" : "GET", body, headers: type ? { "content-type": type } : {},
        credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error",
        signal: AbortSignal.timeout(timeout),
      });
      return { status: response.status, content: new Uint8Array(await response.arrayBuffer()) };
    });
  }
}

/** TLS, or this machine. */
function address(name, given) {
  const found = URL.canParse(given) ? new URL(given) : undefined;
  if (found?.protocol === "https:" || (found?.protocol === "http:" && /^(localhost|127\.[\d.]+|\[::1\])$/.test(found.hostname))) return found;
  throw new Refusal("setting", `${name} must be an address that starts with https:// (http:// on this machine only).`);
}

/** An address below which others lie. */
const folder = (name, given) => {
  const found = address(name, given);
  return new URL(found.pathname.replace(/\/*$/, "/"), found);
};

const understood = (what, parse) => attempt("delivery", `The service gave ${what} that cannot be read; try again later.`, parse);
