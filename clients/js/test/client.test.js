// What a client refuses, what it keeps, and what it sends.

import assert from "node:assert/strict";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, test } from "node:test";

import { fromHex, toBase64, toHex } from "../src/bytes.js";
import { FileStorage } from "../src/file.js";
import { Client, MemoryStorage, Refusal } from "../src/index.js";
import { digestOf, keyPair, PLAN, PROGRAM, programDigestOf, published, publisher, Service, unsealed } from "./helper.js";

let alice, mallory, analyst;

before(async () => {
  [alice, mallory, analyst] = await Promise.all([publisher(), publisher(), keyPair()]);
});

/** A service with these publications, and a client of it that pins the program of the first one. */
async function scene({ publications = [{}], withdrawn = [], ...settings } = {}) {
  const service = await new Service().start();
  service.plans.publications = await Promise.all(publications.map((more) => alice.sign("publication", published(analyst, more))));
  service.plans.withdrawals = await Promise.all(withdrawn.map((i) => withdrawalOf(service.plans.publications[i])));
  const [digest] = await Promise.all(service.plans.publications.map((envelope) => digestOf("publication", envelope)));
  const program = publications[0]?.program ?? PROGRAM;
  const clock = { now: 1234 };
  const made = () =>
    new Client({
      service: "https://shuffler.example", publishers: [alice.line], programDigest, storage, now: () => clock.now, fetch: service.fetch, ...settings,
    });
  const programDigest = await programDigestOf(program);
  const storage = settings.storage ?? new MemoryStorage();
  return { service, clock, storage, made, client: made(), digest };
}

const withdrawalOf = async (envelope, by = alice) =>
  by.sign("withdrawal", {
    format: "shuffledp withdrawal", version: 1, publication: await digestOf("publication", envelope), name: "fruit", reason: "",
  });

const refused = (promise, code, words) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof Refusal, String(error.stack));
    assert.equal(error.code, code);
    assert.match(error.message, words);
    assert.match(error.message, /^[A-Za-z][^\n]*\.$/); // one sentence
    return true;
  });

test("a report: header, id, messages and blanks sealed to the analyst", async () => {
  const { service, client, digest } = await scene();
  assert.deepEqual(await client.report("fruit", "pear"), { status: "sent", name: "fruit", digest, period: 2 });
  const [body] = service.arrived;
  assert.equal(toHex(body.slice(0, 46)), "53445231" + digest + "0000000000000002" + "0001");
  const info = fromHex(digest + "0000000000000002");
  const slots = [body.slice(62, 112), body.slice(112)];
  const opened = await Promise.all(slots.map((sealed) => unsealed(analyst, info, sealed)));
  assert.deepEqual(opened.map(toHex).sort(), ["0000", "0101"]);
  await assert.rejects(unsealed(analyst, fromHex(digest + "0000000000000003"), slots[0])); // not of another period
});

test("asks nobody but the service, without cookies or referrer", async () => {
  const { service, client } = await scene();
  await client.report("fruit", "pear");
  assert.deepEqual(service.asked.map(({ url }) => url), ["plans", "ohttp-keys", "ohttp"].map((path) => "https://shuffler.example/" + path));
  for (const { init } of service.asked) {
    assert.equal(init.credentials, "omit");
    assert.equal(init.referrerPolicy, "no-referrer");
    assert.equal(init.redirect, "error");
  }
  assert.equal(service.asked[2].init.headers["content-type"], "message/ohttp-req");
});

test("a relay is sent the sealed request, and the service is not", async () => {
  const { service, client } = await scene({ relay: "https://relay.example/to/shuffler/" });
  await client.report("fruit", "pear");
  assert.equal(service.asked.at(-1).url, "https://relay.example/to/shuffler/");
  assert.equal(service.arrived.length, 1);
});

test("plans and keys come from a mirror that is the same for all, reports go to the service", async () => {
  const { service, client } = await scene({ mirror: "https://mirror.example/shuffler" });
  await client.report("fruit", "pear");
  const mirror = "https://mirror.example/shuffler/";
  assert.deepEqual(service.asked.map(({ url }) => url), [mirror + "plans", mirror + "ohttp-keys", "https://shuffler.example/ohttp"]);
});

test("the place of a message in its report is random", async () => {
  const firsts = new Set();
  for (let i = 0; i < 40; i++) {
    const { service, client, digest } = await scene({ plain: true });
    await client.report("fruit", "pear");
    const info = fromHex(digest + "0000000000000002");
    firsts.add(toHex(await unsealed(analyst, info, service.arrived[0].slice(62, 112))));
  }
  assert.deepEqual([...firsts].sort(), ["0000", "0101"]); // each missing with a chance of 2^-40
});

test("plain reports over TLS", async () => {
  const { service, client } = await scene({ plain: true });
  await client.report("fruit", "pear");
  assert.equal(service.asked.at(-1).url, "https://shuffler.example/reports");
  assert.equal(service.asked.at(-1).init.headers["content-type"], "application/vnd.shuffledp.reports");
});

test("one report per period; the next period has its own", async () => {
  const { service, clock, client, made } = await scene();
  await client.report("fruit", "pear");
  assert.equal((await client.report("fruit", "apple")).status, "already sent");
  assert.equal((await made().report("fruit", "apple")).status, "already sent"); // another tab, or after a reload
  assert.equal(service.arrived.length, 1);
  clock.now += 100;
  assert.equal((await client.report("fruit", "apple")).period, 3);
  clock.now -= 100; // the clock goes back
  assert.equal((await client.report("fruit", "apple")).status, "already sent");
  assert.equal(service.arrived.length, 2);
  assert.notEqual(toHex(service.arrived[0].slice(46, 62)), toHex(service.arrived[1].slice(46, 62)));
});

for (const down of ["lost", "/ohttp", "outer"])
  test(`after a failure (${down}) the same bytes are sent in a fresh encapsulation, whatever the value is now`, async () => {
    const { service, client, made } = await scene();
    service.down = down;
    await refused(client.report("fruit", "pear"), "delivery", /could not be reached|refused the report/);
    await refused(client.report("fruit", "apple"), "delivery", /could not be reached|refused the report/);
    service.down = "";
    assert.equal((await made().report("fruit", "apple")).status, "sent");
    assert.deepEqual(await client.resend("fruit"), []);
    assert.equal(new Set(service.arrived.map(toHex)).size, 1);
    assert.equal(new Set(service.outer.map((raw) => toHex(raw.slice(7, 39)))).size, service.outer.length); // fresh keys
  });

test("the draw of a lost report is never repeated", async () => {
  const law = { kind: "uniform", size: 2 ** 40 };
  const program = { ...PROGRAM, law, message_bytes: 5, slots: 1, encoding: { kind: "number", bytes: 5 } };
  const { service, client, made } = await scene({ publications: [{ program }], plain: true });
  service.down = "lost";
  for (let i = 0; i < 3; i++) await refused(made().report("fruit", i), "delivery", /could not be reached/);
  service.down = "";
  await client.report("fruit", 4);
  assert.equal(new Set(service.arrived.map(toHex)).size, 1);
  assert.equal(service.arrived.length, 4);
});

test("resend sends what is pending, of earlier periods too while they are taken, and draws nothing", async () => {
  const { service, clock, client } = await scene();
  service.down = "/ohttp";
  await refused(client.report("fruit", "pear"), "delivery", /could not be reached/);
  service.down = "";
  clock.now = 1340; // in the grace of period 2
  assert.deepEqual((await client.resend("fruit")).map(({ status, period }) => [status, period]), [["sent", 2]]);
  assert.deepEqual(await client.resend("fruit"), []);
  assert.equal(service.arrived.length, 1);
});

test("a report that nobody takes any more is dropped, and not drawn again when the clock goes back", async () => {
  const { service, clock, client } = await scene();
  service.down = "/ohttp";
  await refused(client.report("fruit", "pear"), "delivery", /could not be reached/);
  service.down = "";
  clock.now = 1351;
  assert.deepEqual(await client.resend("fruit"), []);
  clock.now = 1299;
  await refused(client.report("fruit", "pear"), "time", /too late/);
  assert.equal(service.arrived.length, 0);
});

test("what the service says is passed on", async () => {
  const { service, client } = await scene();
  service.status = 425;
  await refused(client.report("fruit", "pear"), "delivery", /the plan has expired\.\); the same report can be sent again/);
  service.status = 200;
  assert.equal((await client.report("fruit", "pear")).status, "sent");
});

test("a report that the shuffler will never take is given up", async () => {
  const { service, client, made } = await scene();
  service.status = 410;
  await refused(client.report("fruit", "pear"), "time", /the plan has expired\.\); it is given up/);
  service.status = 200;
  await refused(made().report("fruit", "pear"), "time", /too late/);
  assert.deepEqual(await client.resend("fruit"), []);
  assert.equal(service.arrived.length, 1);
});

test("only the service can say that a report is too late: what is not sealed may be a relay's", async () => {
  const { service } = await scene();
  let status = 410;
  const relay = async (url, init) => (status && init.method === "POST" ? new Response('{"error":"gone."}', { status }) : service.fetch(url, init));
  const storage = new MemoryStorage();
  const relayed = { service: "https://shuffler.example", publishers: [alice.line], programDigest: await programDigestOf(PROGRAM), storage, now: () => 1234, fetch: relay };
  for (const more of [{}, { relay: "https://relay.example" }])
    await refused(new Client({ ...relayed, ...more }).report("fruit", "pear"), "delivery", /\(gone\.\); the same report can be sent again/);
  status = 0;
  assert.equal((await new Client(relayed).report("fruit", "apple")).status, "sent");
  service.status = 410;
  const plain = new Client({ ...relayed, storage: new MemoryStorage(), plain: true });
  await refused(plain.report("fruit", "pear"), "time", /it is given up/);
  await refused(plain.report("fruit", "pear"), "time", /too late/);
});

test("a period whose draw has failed is not drawn again, under whatever plan", async () => {
  const { service, clock, storage, made, digest } = await scene({ publications: [{ analyst: { sealing: toBase64(new Uint8Array(32)) } }] });
  await refused(made().report("fruit", "pear"), "law", /cannot be run/);
  assert.equal(await storage.update(`report ${digest} 2`, (old) => old), '{"sent":false}');
  await refused(made().report("fruit", "pear"), "time", /has failed/);
  service.plans.publications = [await alice.sign("publication", published(analyst, { serial: 2 }))];
  await refused(made().report("fruit", "pear"), "trust", /another one than this period was answered with/);
  clock.now = 1300;
  assert.equal((await made().report("fruit", "pear")).status, "sent");
});

test("a row of another shape does not spend the period", async () => {
  const { service, client } = await scene({ publications: [{ program: { ...PROGRAM, columns: ["fruit", "other"] } }] });
  await refused(client.reportRows("fruit", [["pear", 1], "pear"]), "value", /one entry for each of fruit, other/);
  assert.equal((await client.report("fruit", ["pear", 1])).status, "sent");
  assert.equal(service.arrived.length, 1);
});

test("an error page of a proxy, in whatever bytes, is a refusal like any other", async () => {
  const { service } = await scene();
  const programDigest = await programDigestOf(PROGRAM);
  const proxied = async (url, init) => (init.method === "POST" ? new Response(Uint8Array.of(255, 254, 60), { status: 502 }) : service.fetch(url, init));
  const storage = new MemoryStorage();
  const settings = { service: "https://shuffler.example", publishers: [alice.line], programDigest, storage, now: () => 1234, fetch: proxied };
  await refused(new Client(settings).report("fruit", "pear"), "delivery", /refused the report \(502\)/);
  const odd = async (url, init) => (init.method === "POST" ? new Response("not sealed") : service.fetch(url, init));
  await refused(new Client({ ...settings, fetch: odd }).report("fruit", "pear"), "delivery", /an answer that cannot be read/);
  const keyless = async (url, init) => (String(url).endsWith("keys") ? new Response("no keys") : service.fetch(url, init));
  await refused(new Client({ ...settings, fetch: keyless }).report("fruit", "pear"), "delivery", /ohttp-keys that cannot be read/);
  const missing = async () => new Response("", { status: 404 });
  await refused(new Client({ ...settings, fetch: missing }).report("fruit", "pear"), "delivery", /did not give plans \(404\)/);
});

test("two at once make one report", async () => {
  const { service, made } = await scene();
  await Promise.all(Array.from({ length: 8 }, (_, i) => made().report("fruit", i % 2 ? "pear" : "apple")));
  assert.equal(new Set(service.arrived.map(toHex)).size, 1);
});

const broken = {
  "throws": { update: async () => { throw new Error("quota"); } },
  "forgets": { update: async (key, change) => change(undefined) },
  "keeps names only": new (class extends MemoryStorage {
    async update(key, change) {
      if (key.startsWith("report") && change(undefined) !== undefined) throw new DOMException("full", "QuotaExceededError");
      return super.update(key, change);
    }
  })(),
};
for (const [how, storage] of Object.entries(broken))
  test(`without a storage that lasts nothing is sent (${how})`, async () => {
    const { service, client } = await scene({ storage });
    await refused(client.report("fruit", "pear"), "storage", /does not keep/);
    assert.equal(service.arrived.length, 0);
    assert.ok(service.asked.every(({ init }) => init.method === "GET"));
  });

test("a storage that cannot be read stops the client", async () => {
  const { service, client, storage, digest } = await scene();
  await storage.update(`report ${digest} 2`, () => "{");
  await refused(client.report("fruit", "pear"), "storage", /cannot be read/);
  assert.equal(service.arrived.length, 0);
});

test("a storage that fails after the report has arrived: sent, and the same bytes next time", async () => {
  let full = false;
  const storage = new (class extends MemoryStorage {
    async update(key, change) {
      if (full) throw new Error("full");
      return super.update(key, change);
    }
  })();
  const { service, client } = await scene({ storage });
  const fetch = service.fetch;
  service.fetch = undefined;
  const late = new Client({
    service: "https://shuffler.example", publishers: [alice.line], programDigest: await programDigestOf(PROGRAM), storage, now: () => 1234,
    fetch: async (url, init) => {
      const answer = await fetch(url, init);
      full = init.method === "POST";
      return answer;
    },
  });
  assert.equal((await late.report("fruit", "pear")).status, "sent");
  full = false;
  assert.equal((await client.report("fruit", "apple")).status, "sent");
  assert.equal(new Set(service.arrived.map(toHex)).size, 1);
});

test("a folder keeps reports, for one process and for another", async () => {
  const folder = await mkdtemp(join(tmpdir(), "shuffledp-"));
  try {
    const { service, made } = await scene({ storage: new FileStorage(join(folder, "state")) });
    service.down = "lost";
    await refused(made().report("fruit", "pear"), "delivery", /could not be reached/);
    service.down = "";
    const others = Array.from({ length: 5 }, () => new FileStorage(join(folder, "state")));
    const values = await Promise.all(others.map((storage, i) => storage.update("key", (old) => old ?? `mine ${i}`)));
    assert.equal(new Set(values).size, 1);
    assert.equal((await made().report("fruit", "apple")).status, "sent");
    assert.equal(new Set(service.arrived.map(toHex)).size, 1);
    assert.ok((await readdir(join(folder, "state"))).every((file) => /^[0-9a-f]{64}$/.test(file))); // nothing left over
  } finally {
    await rm(folder, { recursive: true });
  }
});

// -- trust ----------------------------------------------------------------------------------------------------------------

test("a pinned program that cannot be run, or would never end, is refused", async () => {
  const endless = [
    { law: { kind: "uniform", size: 0 } },
    { law: { kind: "hash", buckets: 1, bits: 2 ** 52, keep: "0".repeat(32) } },
    { law: { kind: "half-space", size: 0, high: "1" + "0".repeat(32) } },
    { law: { kind: "messages", per: "value", own: { kind: "same" }, dummy: { kind: "same" }, held: 0, first: 2 ** 52, count: [] } },
    { law: { kind: "subset", size: 2 ** 52, members: 2 ** 52 - 1, hits: [] } },
    { encoding: { kind: "number", bytes: 2 ** 40 } },
    { reports_per_user: 2 ** 52 },
    { slots: 2 ** 40 },
  ];
  for (const change of endless) {
    const { client, service } = await scene({ publications: [{ program: { ...PROGRAM, ...change } }] });
    await refused(client.report("fruit", "pear"), "law", /can(not| run)|not fit/);
    assert.equal(service.arrived.length, 0);
  }
});

test("an unknown publisher is refused", async () => {
  const { service, client } = await scene({ publications: [] });
  service.plans.publications = [await mallory.sign("publication", published(analyst))];
  await refused(client.report("fruit", "pear"), "trust", /not pinned/);
  service.plans.publications[0].key = alice.id; // mallory's signature under alice's name
  await refused(client.report("fruit", "pear"), "trust", /signature of the publication is not valid/);
});

const alterations = {
  "a changed payload": (envelope) => ({ ...envelope, payload: envelope.payload.replace('"serial":1', '"serial":2') }),
  "a changed signature": (envelope) => ({ ...envelope, signature: "A" + envelope.signature.slice(1, -1) + "A" }),
  "no signature": ({ signature, ...envelope }) => envelope,
  "a payload that is not text": (envelope) => ({ ...envelope, payload: JSON.parse(envelope.payload) }),
};
for (const [what, alter] of Object.entries(alterations))
  test(`refused: ${what}`, async () => {
    const { service, client } = await scene();
    service.plans.publications = service.plans.publications.map(alter);
    await refused(client.report("fruit", "pear"), "trust", /signature of the publication is not valid/);
    assert.equal(service.arrived.length, 0);
  });

test("a signature for another kind of document is refused", async () => {
  const { service, client } = await scene();
  service.plans.publications = [await alice.sign("withdrawal", published(analyst))];
  await refused(client.report("fruit", "pear"), "trust", /not valid/);
});

const documents = [
  [{ version: 2 }, "trust", /another version/],
  [{ format: "other" }, "trust", /another version/],
  [{ expires: 1234 }, "time", /expired/],
  [{ starts: 1235 }, "time", /not started/],
  [{ digest: "ab".repeat(32) }, "trust", /field digest/],
  [{ serial: -1 }, "trust", /field serial/],
  [{ serial: 1.5 }, "trust", /field serial/],
  [{ length: 0 }, "trust", /field length/],
  [{ grace: "1" }, "trust", /field grace/],
  [{ minimum: 0 }, "trust", /field minimum/],
  [{ minimum: undefined }, "trust", /field minimum/],
  [{ plan: { ...PLAN, users: 11, minimum_batch: null } }, "trust", /field minimum/],
  [{ plan: { ...PLAN, users: 20, minimum_batch: 11 } }, "trust", /field minimum/],
  [{ plan: { minimum: 1 } }, "trust", /field plan/],
  [{ plan: { ...PLAN, delta: 1e-9 } }, "trust", /field plan/],
  [{ plan: { ...PLAN, reports_per_user: 2 } }, "trust", /program is not that of the plan/],
  [{ guarantee: { epsilon: 0.4, delta: 1e-6, local_epsilon: 2 } }, "trust", /field guarantee/],
  [{ guarantee: { epsilon: 0.5, delta: 1e-6, local_epsilon: 2.1 } }, "trust", /field guarantee/],
  [{ guarantee: { epsilon: 0.5, delta: 1e-6, local_epsilon: "inf" } }, "trust", /field guarantee/],
  [{ guarantee: { epsilon: 0.5, delta: 1e-6 } }, "trust", /field guarantee/],
  [{ analyst: { sealing: "AAAA" } }, "trust", /field analyst/],
  [{ analyst: {} }, "trust", /field analyst/],
  [{ name: "vegetables" }, "trust", /"fruit" is not offered/],
  [{ program: null }, "trust", /field program/],
  [{ program: "{}" }, "trust", /another one than is pinned/],
  [{ program: {} }, "law", /this client can run/],
  [{ program: { ...PROGRAM, more: 1 } }, "law", /this client can run/],
  [{ program: { ...PROGRAM, law: { kind: "magic" } } }, "law", /law is of a kind that is not known/],
  [{ program: { ...PROGRAM, law: { kind: "toString" } } }, "law", /law is of a kind that is not known/],
  [{ program: { ...PROGRAM, law: { kind: "uniform" } } }, "law", /this client can run/],
  [{ program: { ...PROGRAM, law: { kind: "keep", size: 3, keep: "0.5" } } }, "law", /this client can run/],
  [{ program: { ...PROGRAM, law: { kind: "keep", size: 2, keep: "0".repeat(32) } } }, "law", /this client can run/],
  [{ program: { ...PROGRAM, input: { kind: "magic" } } }, "law", /input is of a kind that is not known/],
  [{ program: { ...PROGRAM, encoding: { kind: "magic" } } }, "law", /encoding is of a kind that is not known/],
  [{ program: { ...PROGRAM, message_bytes: 2 } }, "law", /this client can run/],
  [{ program: { ...PROGRAM, slots: 0 } }, "law", /this client can run/],
  [{ program: { ...PROGRAM, slots: 30_000 } }, "law", /do not fit/],
  [{ program: { ...PROGRAM, reports_per_user: 3 } }, "law", /this client can run/],
];
for (const [more, code, words] of documents)
  test(`refused: a publication with ${JSON.stringify(more).slice(0, 90)}`, async () => {
    const { service, client } = await scene({ publications: [more] });
    await refused(client.report("fruit", "pear"), code, words);
    assert.ok(service.asked.every(({ init }) => init.method === "GET"));
  });

test("a publication may ask for as many users as its plan, or more", async () => {
  for (const users of [{ users: 10, minimum_batch: null }, { users: 20, minimum_batch: 10 }, { users: 9, minimum_batch: 8 }]) {
    const { client } = await scene({ publications: [{ plan: { ...PLAN, ...users } }] });
    assert.equal((await client.report("fruit", "pear")).status, "sent");
  }
});

test("signed text that is no JSON is refused", async () => {
  const { service, client } = await scene();
  service.plans.publications = [await alice.sign("publication", "{")];
  await refused(client.report("fruit", "pear"), "trust", /cannot be read/);
});

test("an analyst's key of small order is refused", async () => {
  const { service, client } = await scene({ publications: [{ analyst: { sealing: toBase64(new Uint8Array(32)) } }] });
  await refused(client.report("fruit", "pear"), "law", /cannot be run/);
  assert.equal(service.arrived.length, 0);
});

test("a withdrawn publication is refused, also when the service hides the withdrawal later", async () => {
  const { service, client } = await scene({ withdrawn: [0] });
  const { publications } = service.plans;
  service.plans.publications = []; // as a shuffler lists it
  await refused(client.report("fruit", "pear"), "trust", /withdrawn/);
  service.plans.publications = publications;
  await refused(client.report("fruit", "pear"), "trust", /withdrawn/);
  service.plans.withdrawals = [];
  await refused(client.report("fruit", "pear"), "trust", /withdrawn/);
  service.plans.publications.push(await alice.sign("publication", published(analyst, { serial: 2 })));
  assert.equal((await client.report("fruit", "pear")).status, "sent");
});

test("a pending report of a withdrawn publication is not sent", async () => {
  const { service, client } = await scene();
  service.down = "/ohttp";
  await refused(client.report("fruit", "pear"), "delivery", /could not be reached/);
  service.down = "";
  service.plans.withdrawals = [await withdrawalOf(service.plans.publications[0])];
  await refused(client.resend("fruit"), "trust", /withdrawn/);
  assert.equal(service.arrived.length, 0);
});

test("a withdrawal counts only from the key that published, as it was signed", async () => {
  const { service, client } = await scene({ publishers: [alice.line, mallory.line] });
  service.plans.withdrawals = [await withdrawalOf(service.plans.publications[0], mallory)];
  assert.equal((await client.report("fruit", "pear")).status, "sent");
  service.plans.withdrawals[0].key = alice.id;
  assert.equal((await client.report("fruit", "pear")).status, "already sent");
});

test("a name belongs to the first key that was accepted for it", async () => {
  const { service, client } = await scene({ publishers: [mallory.line, alice.line] });
  await client.report("fruit", "pear");
  service.plans.publications = [await mallory.sign("publication", published(analyst, { serial: 9 }))];
  await refused(client.report("fruit", "pear"), "trust", /another publisher than those before/);
});

test("only the pinned program is run, and digests are shown", async () => {
  const { client, digest } = await scene();
  const programDigest = await programDigestOf(PROGRAM);
  const found = await client.publication("fruit");
  assert.deepEqual([found.digest, found.programDigest, found.key, found.program], [digest, programDigest, alice.id, PROGRAM]);
  const other = await scene({ programDigest: "ab".repeat(32) });
  await refused(other.client.report("fruit", "pear"), "trust", /another one than is pinned/);
  const none = await scene({ programDigest: undefined });
  await refused(none.client.report("fruit", "pear"), "law", /pin programDigest/);
});

test("an older publication than one that was accepted is refused", async () => {
  const { service, client } = await scene({ publications: [{ serial: 4 }, { serial: 5 }] });
  await client.report("fruit", "pear");
  service.plans.publications.pop();
  await refused(client.report("fruit", "pear"), "trust", /older than one before: serial 4 after 5/);
});

test("the next publication waits until it starts", async () => {
  const { clock, client, service, digest } = await scene({ publications: [{}, { serial: 2, starts: 2000 }] });
  assert.equal((await client.report("fruit", "pear")).digest, digest);
  clock.now = 2001;
  const next = await digestOf("publication", service.plans.publications[1]);
  assert.deepEqual(await client.report("fruit", "pear"), { status: "sent", name: "fruit", digest: next, period: 0 });
});

test("another plan under a serial that was accepted is refused", async () => {
  const { service, client } = await scene();
  await client.report("fruit", "pear");
  service.plans.publications = [await alice.sign("publication", published(analyst, { grace: 51 }))];
  await refused(client.report("fruit", "pear"), "trust", /another one than before with the same serial 1/);
});

test("another plan of the name waits until the answered period is over", async () => {
  const { service, client, clock, made } = await scene();
  await client.report("fruit", "pear");
  for (const more of [{ serial: 2 }, { serial: 3, starts: 1190 }, { serial: 4, starts: 1234 }]) {
    service.plans.publications = [await alice.sign("publication", published(analyst, more))];
    await refused(made().report("fruit", "pear"), "trust", /another one than this period was answered with/);
  }
  assert.equal(service.arrived.length, 1);
  clock.now = 1300;
  assert.equal((await client.report("fruit", "pear")).status, "sent");
});

test("a storage that holds nonsense about a name stops the client", async () => {
  const { client, storage } = await scene();
  await storage.update("name fruit", () => '{"serial": "x"}');
  await refused(client.report("fruit", "pear"), "storage", /does not keep/);
});

// -- settings and surroundings -------------------------------------------------------------------------------------------

test("settings are refused in one sentence", async () => {
  const { made } = await scene();
  const settings = { service: "https://shuffler.example", publishers: [alice.line], storage: new MemoryStorage() };
  const bad = [
    [{ service: "shuffler" }, /^service must/], [{ service: undefined }, /^service must/], [{ service: "http://shuffler.example" }, /^service must/],
    [{ relay: "http://relay.example" }, /^relay must/], [{ mirror: "ftp://127.0.0.1" }, /^mirror must/], [{ storage: undefined }, /^storage must/],
    [{ relay: "https://relay.example", plain: true }, /^plain must/], [{ programDigest: "AB" }, /^programDigest must/],
  ];
  for (const [more, words] of bad)
    assert.throws(() => new Client({ ...settings, ...more }), (error) => error instanceof Refusal && words.test(error.message));
  for (const publishers of [[], undefined, "ed25519", ["x25519 AAAA"], ["ed25519 AAAA"], [alice.line + " more"]])
    await refused(new Client({ ...settings, publishers, fetch: async () => assert.fail("asked") }).report("fruit", "pear"), "setting", /publishers must/);
  await refused(made().reportRows("fruit", "pear"), "value", /rows must be a list/);
});

test("no time, no service, no plans: nothing is sent", async () => {
  const lost = await scene({ now: () => NaN });
  await refused(lost.client.report("fruit", "pear"), "time", /no time/);
  const { service, client } = await scene();
  service.down = "network";
  await refused(client.report("fruit", "pear"), "delivery", /could not be reached/);
  service.down = "";
  service.plans = undefined;
  await refused(client.report("fruit", "pear"), "delivery", /plans that cannot be read/);
  service.plans = { publications: "many" };
  await refused(client.report("fruit", "pear"), "trust", /is not offered/);
});

test("a service that does not answer is given up after the timeout", { timeout: 5000 }, async () => {
  const hanging = (url, { signal }) => new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  const { client } = await scene({ fetch: hanging, timeout: 20 });
  const alive = setTimeout(() => undefined, 5000); // the timer of the signal alone does not keep Node running
  await refused(client.report("fruit", "pear"), "delivery", /could not be reached/);
  clearTimeout(alive);
});
