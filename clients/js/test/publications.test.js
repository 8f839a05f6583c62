// What publishers and shufflers may serve: the same files and verdicts as for the client in Python.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { Client, MemoryStorage, Refusal } from "../src/index.js";
import { digestOf } from "./helper.js";

const folder = new URL("../../vectors/publications/", import.meta.url);
const files = readdirSync(folder);

test("there are publications", () => assert.ok(files.length > 100, String(files.length)));

for (const file of files) {
  const found = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
  test(`${file.slice(0, -5)}: ${found.reason}`, async () => {
    const storage = new MemoryStorage();
    const publication = ({ now, publications, withdrawals }) => {
      const fetch = async () => new Response(JSON.stringify({ publications, withdrawals }));
      const settings = { service: "https://shuffler.example", publishers: found.trusted, storage, now: () => now, fetch, ...found.settings };
      return new Client(settings).publication("fruit").catch((error) => {
        assert.ok(error instanceof Refusal, String(error.stack));
        assert.ok(["trust", "time", "law", "delivery"].includes(error.code), String(error.stack));
        assert.match(error.message, /^[A-Za-z][^\n]*\.$/);
      });
    };
    for (const served of found.seen) await publication(served);
    const said = await publication(found);
    assert.equal(said ? "accepted" : "refused", found.javascript);
    const digests = await Promise.all(found.publications.map((envelope) => digestOf("publication", envelope)));
    if (said) assert.ok(digests.includes(said.digest));
  });
}

test("nothing can be put into what all objects share", () => assert.equal({}.minimum, undefined));
