// The law in whole numbers: every vector, and the rejection sampler.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { fromHex, toHex } from "../src/bytes.js";
import { Draws, drawRows, secure } from "../src/law.js";

const folder = new URL("../../vectors/", import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith(".json"));

const below = (bound, take) => new Draws(take).below(bound);

/** The bytes of a vector, one after the other; `left` says how many were not asked for. */
function tape(hex) {
  const bytes = fromHex(hex);
  let at = 0;
  const take = (count) => {
    assert.ok(at + count <= bytes.length, "more random bytes were asked for than the vector has");
    at += count;
    return bytes.slice(at - count, at);
  };
  return { take, left: () => bytes.length - at };
}

test("there are vectors", () => assert.ok(files.length >= 30, String(files.length)));

for (const file of files)
  test(`vectors of ${file}`, () => {
    const { portable, vectors } = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
    assert.ok(vectors.length >= 4);
    for (const { value, rows, random, report } of vectors) {
      const { take, left } = tape(random);
      assert.deepEqual(drawRows(portable, rows ?? [value], take).map(toHex), report, JSON.stringify({ value, rows, random }));
      assert.equal(left(), 0);
      assert.ok(report.length <= portable.slots && report.every((hex) => hex.length === 2 * portable.message_bytes));
    }
  });

test("below(m) is uniform by rejection, on every byte string of its length", () => {
  for (const m of [1, 2, 3, 5, 128, 129, 255, 256]) {
    const counts = new Array(m).fill(0);
    for (let byte = 0; byte < 256; byte++) {
      let asked = 0;
      // A rejected byte is followed by zeros: counted at 0, so each is seen by the second call.
      const found = below(m, (count) => {
        assert.equal(count, 1);
        return Uint8Array.of(asked++ ? 0 : byte);
      });
      if (asked <= 1) counts[found]++;
    }
    assert.equal(new Set(counts).size, 1, `${m}: ${counts}`); // all outcomes by equally many bytes
  }
  assert.equal(below(1, () => assert.fail("asked")), 0);
  assert.equal(below(2 ** 53 - 1, (count) => new Uint8Array(count).fill(255).fill(0, 6)), 2 ** 53 - 32 * 8); // 7 bytes, 53 bits
  for (const bad of [0, -1, 1.5, 2 ** 53, NaN, undefined, "3"]) assert.throws(() => below(bad, secure), RangeError);
});

test("the platform's bytes through the sampler fit the law (chi-square, 1 in 10^9)", () => {
  const size = 10;
  const users = 40_000;
  const keep = 0.25;
  const portable = {
    columns: ["x"], reports_per_user: 1, slots: 1, message_bytes: 1, encoding: { kind: "number", bytes: 1 },
    input: { kind: "label", column: 0, labels: ["a"], other: 0 },
    law: { kind: "keep", size, keep: "4" + "0".repeat(31) },
  };
  const counts = new Array(size).fill(0);
  for (let i = 0; i < users; i++) counts[drawRows(portable, ["a"], secure)[0][0]]++;
  const expected = counts.map((_, i) => users * ((1 - keep) / size + (i === 0 ? keep : 0)));
  const chi = counts.reduce((sum, count, i) => sum + (count - expected[i]) ** 2 / expected[i], 0);
  assert.ok(chi < 62, `${chi}`); // 9 degrees of freedom: Pr[chi > 62] < 1e-9
  assert.ok(chi > 0.01, `${chi}`); // and not too good to be random
});

test("values of all sorts are reported, never refused", () => {
  const label = { columns: ["x"], reports_per_user: 1, slots: 1, message_bytes: 1, encoding: { kind: "number", bytes: 1 }, law: { kind: "same" } };
  const input = { kind: "label", column: 0, labels: ["a", 3, true], other: 7 };
  const answer = (value) => drawRows({ ...label, input }, [value], secure)[0][0];
  const cases = [["a", 0], [3, 1], [true, 2], ["3", 7], [1, 7], [null, 7], [undefined, 7], [NaN, 7], [{ x: "a" }, 0], [{ y: "a" }, 7]];
  for (const [value, place] of cases) assert.equal(answer(value), place, String(value));
  assert.equal(drawRows({ ...label, columns: ["constructor"], input }, [{}], secure)[0][0], 7); // nothing is inherited
  const bins = { kind: "bins", column: 0, low: 0, high: 10, missing: 5, bins: 10, option: false };
  const bin = (value) => drawRows({ ...label, input: bins }, [value], secure)[0][0];
  for (const [value, place] of [[-1, 0], [0, 0], [9.99, 9], [10, 9], [Infinity, 9], [-Infinity, 0], ["7.5", 7], ["seven", 5], [null, 5], [true, 1]])
    assert.equal(bin(value), place, String(value));
  const wide = { ...label, columns: ["x", "y"], input };
  for (const bad of ["a", ["a"], 3]) assert.throws(() => drawRows(wide, [bad], secure), /one entry for each of x, y/);
  assert.equal(drawRows(wide, [["a", 1]], secure)[0][0], 0);
});
