/** What a client refuses with: one sentence for people, and a code for programs. */
export declare class Refusal extends Error {
  readonly name: "Refusal";
  /**
   * - `setting`: the client was set up wrongly
   * - `trust`: a document is not signed by a pinned publisher, altered, withdrawn or older than one before
   * - `time`: the plan has not started or has expired, the clock is wrong, or the report came too late or failed and is given up
   * - `value`: the value has not the shape that the plan asks for
   * - `law`: the plan cannot be run by this version of the client, or only if its program is pinned
   * - `storage`: what must be remembered cannot be
   * - `delivery`: the service was not reached or refused; the same report can be sent again
   */
  readonly code: "setting" | "trust" | "time" | "value" | "law" | "storage" | "delivery";
  constructor(code: Refusal["code"], sentence: string, cause?: unknown);
}

/** Where a client remembers what it has sent. */
export interface Storage {
  /**
   * Replaces the value of a key by `change(value)` in one step, which no other tab or process can come between, and
   * resolves with what is stored then, once it is durable. `undefined` is no value, and leaves it so.
   */
  update(key: string, change: (old: string | undefined) => string | undefined): Promise<string | undefined>;
}

/** IndexedDB: shared by all tabs and workers of an origin. */
export declare class BrowserStorage implements Storage {
  constructor(name?: string);
  update: Storage["update"];
}

/** For tests, and for programs that run once. */
export declare class MemoryStorage implements Storage {
  update: Storage["update"];
}

export interface Settings {
  /** Address of the shuffler, such as `https://shuffler.example`. */
  service: string | URL;
  /** Publishers whose plans are believed: lines `ed25519 <base64url>`, as in their signing.pub. */
  publishers: string[];
  /**
   * The only program that is run: SHA-256 of its text, which `shuffledp shuffler publish` prints.  Laws without a local
   * guarantee (several messages, dummies) are refused without it.
   */
  programDigest?: string;
  storage: Storage;
  /** Where sealed requests are posted: an Oblivious HTTP relay; the service itself unless given. */
  relay?: string | URL;
  /**
   * Where /plans and /ohttp-keys are read, if not from the service: an address that is the same for all clients keeps
   * the service from giving one client a key of its own.
   */
  mirror?: string | URL;
  /** Post reports to /reports without the outer layer, for intranets. */
  plain?: boolean;
  /** Milliseconds after which a request is given up; 20,000 unless given. */
  timeout?: number;
  /** Seconds since 1970; for tests. */
  now?: () => number;
  /** For tests, and where the platform's fetch must be wrapped. */
  fetch?: typeof globalThis.fetch;
}

/** A verified publication, and the period that it is in. */
export interface Publication {
  name: string;
  serial: number;
  /** SHA-256 of all that was signed, 64 hexadecimal digits: the same for all who are asked the same. */
  digest: string;
  /** The first 16 hexadecimal digits of the SHA-256 of the publisher's public key. */
  key: string;
  /** The plan file. */
  plan: Record<string, unknown>;
  /** What clients run. */
  program: Record<string, unknown>;
  /** SHA-256 of the program's text: what `programDigest` pins. */
  programDigest: string;
  guarantee: { epsilon: number; delta: number; local_epsilon: number | "inf" };
  /** Fewest users whose reports are released. */
  minimum: number;
  /** Seconds since 1970. */
  starts: number;
  expires: number;
  /** Seconds. */
  length: number;
  grace: number;
  analyst: { sealing: string };
  time: number;
  period: number;
}

export interface Result {
  /** `sent`: by this call. `already sent`: before; nothing was drawn or sent now. */
  status: "sent" | "already sent";
  name: string;
  digest: string;
  period: number;
}

/** Reports a value under a signed plan, once per publication and period. Everything else is refused with a `Refusal`. */
export declare class Client {
  constructor(settings: Settings);
  /** The publication that holds now under a name, verified. */
  publication(name: string): Promise<Publication>;
  /** Reports a value; a report that has not arrived yet is sent again as it is, whatever the value is now. */
  report(name: string, value: unknown): Promise<Result>;
  /** Reports a user who has several rows, or none. */
  reportRows(name: string, rows: unknown[]): Promise<Result>;
  /** Sends again what has not arrived, of this period and of earlier ones that are still taken; draws nothing. */
  resend(name: string): Promise<Result[]>;
}
