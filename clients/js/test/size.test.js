// What a browser loads stays small.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const folder = new URL("../src/", import.meta.url);

/** The modules that the entry imports, directly or not. */
function loaded(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, other] of readFileSync(new URL(name, folder), "utf8").matchAll(/ from "\.\/(.+?)";/g)) loaded(other, found);
  return found;
}

/** Without comments, and without blanks at line ends and beside punctuation: what is left if no name is shortened. */
const bare = (source) =>
  source
    .replace(/\/\*\*[^]*?\*\//g, "")
    .replace(/(^|\s)\/\/ .*$/gm, "")
    .split("\n").map((line) => line.trim().replace(/ ?([=<>?:,+&|{}()-]+) ?/g, "$1")).filter(Boolean).join("\n");

test("under 46 kB, and under 22 kB as it is transferred", () => {
  const sources = [...loaded("index.js")].map((name) => readFileSync(new URL(name, folder), "utf8"));
  assert.equal(sources.length, readdirSync(folder).filter((name) => name.endsWith(".js")).length - 1); // all but file.js
  const size = Buffer.byteLength(sources.map(bare).join("\n"));
  assert.ok(size > 10_000 && size < 46_000, `${size} bytes`);
  const compressed = gzipSync(sources.join("")).length;
  assert.ok(compressed < 22_000, `${compressed} bytes compressed`);
  console.log(`${size} bytes of code, ${compressed} compressed with comments`);
});

test("no dependencies, and nothing but the platform", () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  assert.deepEqual([dependencies, devDependencies], [undefined, undefined]);
  for (const name of loaded("index.js")) {
    const source = readFileSync(new URL(name, folder), "utf8");
    for (const [, from] of source.matchAll(/(?:import|export) .* from "(.+?)"/g)) assert.match(from, /^\.\//);
    assert.doesNotMatch(bare(source), /Math\.random|require\(|eval\(|import\(|https?:\/\/(?!shuffler\.example)\w/, name);
  }
});
