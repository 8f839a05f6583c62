// One report per plan and period: verified, drawn once, kept before it is sent, sent again as it is after a failure.

import { concat, fromBase64, fromHex, integer, Refusal, text, toBase64, utf8 } from "./bytes.js";
import { seal } from "./hpke.js";
import { drawRows, secure } from "./law.js";
import { decodeResponse, encapsulate, encodeRequest, keyConfig } from "./ohttp.js";
import { current, pinned } from "./publication.js";

const REPORTS = "application/vnd.shuffledp.reports";
/** How many earlier periods a resend looks at. */
const EARLIER = 20;

/**
 * The bytes of one report: every slot sealed on its own to the analyst, empty ones as blanks of the same size.
 * @param {any} publication
 * @param {number} period
 * @param {any[]} rows
 * @param {import("./law.js").Take} [take]
 */
export async function makeReport(publication, period, rows, take = secure) {
  try {
    const { slots, message_bytes: size } = publication.portable;
    const messages = drawRows(publication.portable, rows, take);
    if (!(messages.length <= slots) || messages.some((message) => message.length !== size))
      throw new Refusal("law", "The law of the plan gives messages that do not fit; nothing is sent.");
    const info = concat(fromHex(publication.digest), integer(period, 8));
    const key = fromBase64(publication.analyst.sealing);
    const plain = Array.from({ length: slots }, (_, i) =>
      messages[i] ? concat(integer(1, 1), messages[i]) : new Uint8Array(1 + size));
    const sealed = await Promise.all(plain.map((bytes) => seal(key, info, bytes)));
    return concat(utf8("SDR1"), info, integer(1, 2), secure(16), ...sealed);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal("law", "The law of the plan cannot be run; nothing is sent.", error);
  }
}

export class Client {
  #keys;
  #settings;

  /** @param {import("./index.js").Settings} settings */
  constructor({ service, publishers, storage, relay, plain = false, timeout = 20_000, now = () => Date.now() / 1000, fetch = globalThis.fetch }) {
    try {
      service = new URL(service.replace(/\/*$/, "/"));
    } catch (cause) {
      throw new Refusal("setting", "service must be the address of a shuffler, such as https://shuffler.example.", cause);
    }
    if (typeof storage?.update !== "function")
      throw new Refusal("setting", "storage must be one that lasts, such as new BrowserStorage(); without it nothing is sent.");
    this.#settings = { service, relay: relay ?? new URL("ohttp", service), plain, timeout, now, fetch };
    this.#keys = pinned(publishers);
    this.#keys.catch(() => undefined); // told when it is needed
    this.storage = storage;
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
    const { publication, period } = await this.#now(name);
    const key = keyOf(publication, period);
    let kept = await this.#update(key);
    if (kept === undefined) {
      const made = JSON.stringify({ body: toBase64(await makeReport(publication, period, rows)), sent: false });
      kept = await this.#update(key, (old) => old ?? made); // another tab may have been first
    }
    return this.#deliver(publication, period, kept);
  }

  /**
   * Sends again what has not arrived, of this period and of earlier ones whose reports are still taken; draws nothing.
   * @param {string} name
   */
  async resend(name) {
    const { publication, period, now } = await this.#now(name);
    const results = [];
    for (let k = Math.max(0, period - EARLIER); k <= period; k++) {
      const kept = await this.#update(keyOf(publication, k));
      if (kept === undefined || !stateOf(kept).body) continue;
      const late = now >= publication.starts + (k + 1) * publication.length + publication.grace;
      if (late) await this.#update(keyOf(publication, k), () => JSON.stringify({ sent: false })); // nobody takes it
      else results.push(await this.#deliver(publication, k, kept));
    }
    return results;
  }

  /** The publication that holds now, and the period. */
  async #now(name) {
    const now = this.#settings.now();
    if (!Number.isFinite(now)) throw new Refusal("time", "The clock gives no time; nothing is sent.");
    const keys = await this.#keys;
    const plans = await this.#get("plans", (bytes) => JSON.parse(text(bytes)));
    const publication = await current(plans, name, keys, now, (key, change) => this.#update(key, change));
    return { publication, now, period: Math.floor((now - publication.starts) / publication.length) };
  }

  /** What is stored after a change, read again: a storage that forgets is found out before anything is sent. */
  async #update(key, change) {
    try {
      const kept = await this.storage.update(key, change ?? ((old) => old));
      if (change && (await this.storage.update(key, (old) => old)) !== kept) throw new Error("forgotten");
      return kept;
    } catch (cause) {
      throw new Refusal("storage", "The storage did not keep what was written; nothing is sent.", cause);
    }
  }

  async #deliver(publication, period, kept) {
    const { name, digest } = publication;
    const { sent, body } = stateOf(kept);
    if (sent) return { status: "already sent", name, digest, period };
    if (!body) throw new Refusal("time", "The report of this period was never delivered and it is too late now; check the clock.");
    await this.#send(fromBase64(body));
    try {
      await this.#update(keyOf(publication, period), () => JSON.stringify({ sent: true }));
    } catch {
      // It has arrived: at worst the same bytes are sent once more, and count once.
    }
    return { status: "sent", name, digest, period };
  }

  /** The same bytes in a fresh encapsulation every time, under the key that the service has now. */
  async #send(body) {
    const { service, relay, plain } = this.#settings;
    let answer;
    if (plain) answer = await this.#fetch(new URL("reports", service), REPORTS, body);
    else {
      const config = await this.#get("ohttp-keys", keyConfig);
      const target = new URL("reports", service);
      const request = encodeRequest({
        method: "POST", scheme: target.protocol.slice(0, -1), authority: target.host, path: "/reports",
        headers: [["content-type", REPORTS]], content: body,
      });
      const { request: sealed, open } = await encapsulate(config, request);
      answer = await this.#fetch(relay, "message/ohttp-req", sealed);
      if (answer.status === 200) answer = await understood("answer", async () => decodeResponse(await open(answer.content)));
    }
    const said = answer.status === 200 ? undefined : problem(answer.content);
    if (said !== undefined)
      throw new Refusal("delivery", `The service refused the report (${answer.status}${said}); the same report can be sent again.`);
  }

  /** A document of the service. */
  async #get(path, parse) {
    const { status, content } = await this.#fetch(new URL(path, this.#settings.service));
    if (status !== 200) throw new Refusal("delivery", `The service did not give ${path} (${status}); try again later.`);
    return understood(path, () => parse(content));
  }

  async #fetch(url, type, body) {
    const { fetch, timeout } = this.#settings;
    try {
      const response = await fetch(url, {
        method: body ? "POST" : "GET", body, headers: type ? { "content-type": type } : {},
        credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store", redirect: "error",
        signal: AbortSignal.timeout(timeout),
      });
      return { status: response.status, content: new Uint8Array(await response.arrayBuffer()) };
    } catch (cause) {
      throw new Refusal("delivery", "The service could not be reached; try again later.", cause);
    }
  }
}

const keyOf = ({ digest }, period) => `report ${digest} ${period}`;

function stateOf(kept) {
  try {
    return JSON.parse(kept);
  } catch (cause) {
    throw new Refusal("storage", "The storage holds a report that cannot be read; nothing is sent.", cause);
  }
}

async function understood(what, parse) {
  try {
    return await parse();
  } catch (cause) {
    throw new Refusal("delivery", `The service gave ${what} that cannot be read; try again later.`, cause);
  }
}

/** The service's own sentence, if it sent one. */
function problem(content) {
  try {
    return ": " + String(JSON.parse(text(content)).error).slice(0, 300);
  } catch {
    return "";
  }
}
