// The largest ratio of a law, against all that random bytes can do and against the eps0 of every vector.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { toHex } from "../src/bytes.js";
import { parse } from "../src/json.js";
import { drawRows, encodedBytes } from "../src/law.js";
import { checkProgram } from "../src/program.js";

const close = 1e-9;
const accepted = (program, eps0) => checkProgram(program, eps0, false);
const refused = (program, eps0) => assert.throws(() => checkProgram(program, eps0, false), /tells more than the local eps/);

const folder = new URL("../../vectors/", import.meta.url);
for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  const { mechanism, portable } = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
  test(`the ratio of ${file}`, () => {
    if (portable.law.kind === "messages") {
      assert.throws(() => accepted(portable, 50), /pin programDigest/);
      return checkProgram(portable, "inf", true);
    }
    assert.throws(() => accepted(portable, "inf"), /pin programDigest/);
    const eps0 = mechanism.match(/eps0=([\d.]+)/)?.[1] * portable.reports_per_user;
    accepted(portable, eps0 || 7);
    if (eps0) refused(portable, eps0 - close);
  });
}

// Thresholds are multiples of 1/8 and other draws are of 2, 4 or 8, so that every draw has 8 outcomes that matter.

const hex = (eighths) => (2 * eighths).toString(16).padEnd(32, "0");
const label = (many) => ({ kind: "label", column: 0, labels: Array.from({ length: many - 1 }, (_, i) => i), other: many - 1 });
const numbers = (many) => Array.from({ length: many }, (_, i) => i);
const bins = (column, many) => ({ kind: "bins", column, low: 0, high: many, missing: 0, bins: many, option: false });
const items = (many, size) => ({ kind: "items", column: 0, labels: numbers(many), other: -1, size, separator: "", fill: many });
const byte = { kind: "number", bytes: 1 };
const member = { kind: "numbers", bytes: 1, count: 1 };
const every = (...lists) => lists.reduce((found, list) => found.flatMap((row) => list.map((x) => [...row, x])), [[]]);

/** [what, input, values, law, encoding, rows] */
const LAWS = [
  ["keep", label(4), numbers(4), { kind: "keep", size: 4, keep: hex(2) }],
  ["keep, of more", label(3), numbers(3), { kind: "keep", size: 4, keep: hex(2) }],
  ["keep, twice", label(4), numbers(4), { kind: "keep", size: 4, keep: hex(2) }, byte, 2],
  ["bits", label(3), numbers(3), { kind: "bits", size: 3, one: hex(6), zero: hex(2) }, { kind: "bits", size: 3 }],
  ["bits, the other way", label(3), numbers(3), { kind: "bits", size: 3, one: hex(1), zero: hex(4) }, { kind: "bits", size: 3 }],
  ["subset", label(5), numbers(5), { kind: "subset", size: 5, members: 1, hits: [hex(4)] }, member],
  ["subset of two", items(2, 2), every(numbers(2), numbers(2)), { kind: "subset", size: 4, members: 1, hits: [hex(2)] }, member],
  ["subset, of the others", label(5), numbers(5), { kind: "subset", size: 5, members: 1, hits: [hex(7)] }, member],
  ["window", label(7), numbers(7), { kind: "window", outputs: 8, cells: 2, uniform: hex(2) }],
  ["table", label(3), numbers(3), { kind: "table", rows: [[hex(1), hex(4)], [hex(2), hex(3)], [hex(2), hex(7)]] }],
  ["one-of", { kind: "each", of: [bins(0, 2), bins(1, 4)] }, every(numbers(2), numbers(4)),
    { kind: "one-of", cuts: [hex(3)], starts: [0, 2], laws: [{ kind: "keep", size: 2, keep: hex(2) }, { kind: "keep", size: 4, keep: hex(4) }] }],
  ["one-of, by levels", label(4), numbers(4),
    { kind: "one-of", cuts: [hex(3)], divide: 2, starts: [0, 4], laws: [{ kind: "keep", size: 4, keep: hex(2) }, { kind: "keep", size: 2, keep: hex(4) }] }],
  ["all", { kind: "each", of: [bins(0, 2), bins(1, 4)] }, every(numbers(2), numbers(4)),
    { kind: "all", laws: [{ kind: "keep", size: 2, keep: hex(2) }, { kind: "keep", size: 4, keep: hex(4) }] }, { kind: "all", fields: [byte, byte] }],
  ["coordinate", { kind: "each", of: [bins(0, 4), bins(1, 4)] }, every(numbers(4), numbers(4)),
    { kind: "coordinate", size: 2, step: 4, law: { kind: "keep", size: 4, keep: hex(4) } }],
  ["pick", items(2, 2), [[], [0, 1]], { kind: "pick", law: { kind: "bits", size: 4, one: hex(6), zero: hex(2) } }, { kind: "bits", size: 4 }],
  ["pairs", { kind: "pairs", low: 0, high: 1, missing: 0, keys: 2, size: 2, labels: [0, 1], other: -1 },
    [[], [[0, 1]], [[0, 0]], [[1, 1]], [[0, 1], [1, 0]], [[0, 0], [1, 1]]].map((pairs) => ({ x: pairs })), { kind: "keep", size: 8, keep: hex(4) }],
  ["hash", label(4), numbers(4), { kind: "hash", buckets: 4, bits: 2, keep: hex(4) }, { kind: "numbers", bytes: 1, count: 3 }],
  ["hadamard", label(6), numbers(6), { kind: "hadamard", outputs: 8, block: 4, keep: hex(4) }],
  ["half-space", { kind: "each", of: [bins(0, 2), bins(1, 2), bins(2, 2)] }, every(numbers(2), numbers(2), numbers(2)),
    { kind: "half-space", size: 3, high: hex(6) }, { kind: "bits", size: 3 }],
  ["half-space, the other way", { kind: "each", of: [bins(0, 2), bins(1, 2), bins(2, 2)] }, every(numbers(2), numbers(2), numbers(2)),
    { kind: "half-space", size: 3, high: hex(1) }, { kind: "bits", size: 3 }],
  ["uniform", label(3), numbers(3), { kind: "uniform", size: 4 }],
];

/** The chance of every message of a value, by all that 8 outcomes of every draw can be. */
function distribution(program, value) {
  const found = new Map();
  const explore = (tape, chance) => {
    let at = 0;
    try {
      const take = (count) => {
        if (at === tape.length) throw take;
        return new Uint8Array(count).fill(tape[at++] * 33);
      };
      const message = drawRows(program, [value], take).map(toHex).join();
      found.set(message, (found.get(message) ?? 0) + chance);
    } catch (error) {
      if (typeof error !== "function") throw error;
      for (let digit = 0; digit < 8; digit++) explore([...tape, digit], chance / 8);
    }
  };
  explore([], 1);
  return found;
}

for (const [what, input, values, law, encoding = byte, rows = 1] of LAWS)
  test(`the ratio of ${what} is that of all its messages`, () => {
    const columns = ["x", "y", "z"].slice(0, input.kind === "each" ? input.of.length : 1);
    const program = { columns, input, law, encoding, message_bytes: encodedBytes(encoding), slots: 1, reports_per_user: 1 };
    const laws = values.map((value) => distribution(program, value));
    let most = 1;
    for (const message of new Set(laws.flatMap((one) => [...one.keys()]))) {
      const chances = laws.map((one) => one.get(message) ?? 0);
      most = Math.max(most, Math.max(...chances) / Math.min(...chances));
    }
    assert.ok(Number.isFinite(most));
    const asked = { ...program, slots: rows, reports_per_user: rows };
    accepted(asked, rows * Math.log(most) + close);
    if (most > 1) refused(asked, rows * Math.log(most) - close);
  });

test("laws whose values do not fit, or that take too long to check, are not believed", () => {
  const program = { columns: ["x"], input: label(4), law: { kind: "same" }, encoding: byte, message_bytes: 1, slots: 1, reports_per_user: 1 };
  const keep = { kind: "keep", size: 4, keep: hex(1) };
  const bad = [
    { law: { ...keep, size: 3 } }, { law: { ...keep, size: 4.5 } }, { law: { ...keep, keep: hex(1) + "0" } }, { law: undefined },
    { law: { kind: "window", outputs: 4, cells: 2, uniform: hex(4) } }, { law: { kind: "table", rows: [[hex(2)]] } },
    { law: { kind: "table", rows: numbers(4).map(() => [hex(4), hex(2)]) } }, { law: { kind: "hadamard", outputs: 8, block: 6, keep: hex(2) } },
    { law: { kind: "hash", buckets: 4, bits: 1, keep: hex(2) } }, { law: { kind: "all", laws: [keep] } },
    { law: { kind: "messages", per: "value", own: { kind: "messages" }, dummy: keep, held: 0, first: 1, count: [] } },
    { law: { kind: "messages", per: "value", own: keep, dummy: keep, held: 0, first: 1, count: [] } }, // in one slot
    { law: { kind: "messages", per: "unit", own: keep, dummy: keep, held: 0, first: 0, count: [] } },
    { law: { kind: "messages", per: "value", own: keep, dummy: { ...keep, size: 257 }, held: 0, first: 0, count: [hex(4)] }, slots: 2 },
    { law: { kind: "messages", per: "constructor", own: keep, dummy: keep, held: 0, first: 0, count: [] } },
    { input: { kind: "bins", column: 0, low: 3, high: 3, missing: 3, bins: 2, option: false }, law: keep },
    { input: { kind: "bins", column: 0, low: -1e308, high: 1e308, missing: 0, bins: 2, option: false }, law: keep },
    { input: { kind: "number", column: 0, low: 0, high: 1, missing: 0, grids: [[0, 0, 1]] }, law: keep },
    { input: { kind: "label", column: 0, labels: [], other: -1 }, law: keep },
  ];
  for (const change of bad) assert.throws(() => checkProgram({ ...program, ...change }, 50, true), /can run|not known/, JSON.stringify(change));
  for (const law of [{ kind: "same" }, { kind: "block", size: 2 }]) assert.throws(() => accepted({ ...program, law }, 50), /pin programDigest/);
  const many = 5000;
  const signs = { kind: "each", of: numbers(many).map((column) => bins(column, 2)) };
  const long = { ...program, input: signs, law: { kind: "half-space", size: many, high: hex(4) }, columns: numbers(many).map(String) };
  assert.throws(() => accepted({ ...long, encoding: { kind: "bits", size: many }, message_bytes: 625 }, 50), /pin programDigest/);
});

test("JSON is read as Python reads it", () => {
  for (const text of ['{"a":[1,-2.5e3,true,false,null,"\\u00e9\\"\\\\"],"b":{}}', " [ ] ", '"x"', "-0", '{"":1,"toString":2}'])
    assert.deepEqual(parse(text), JSON.parse(text));
  const deep = "[".repeat(32) + "]".repeat(32);
  assert.deepEqual(parse(deep), JSON.parse(deep));
  const bad = [
    "", "{", "[1,]", "[1 2]", "{a:1}", '{"a":1,"a":2}', '{"a":{"b":1,"\\u0062":2}}', '{"__proto__":1}', "NaN", "-Infinity", "1e999", "01", ".5", "+1",
    "1e0001", "1".repeat(101), '"\\ud800"', '"\\x"', '"\n"', '"', '"\\"', "[" + deep + "]", "1 1", "\ufeff1", "\u00a01", "tru", "nulll",
  ];
  for (const text of bad) assert.throws(() => parse(text), SyntaxError, text);
});
