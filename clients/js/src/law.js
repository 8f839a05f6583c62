// The portable law: what docs/shuffler/laws.md defines, word by word, in whole numbers.

import { concat, integer, number as toNumber, Refusal } from "./bytes.js";

/** @typedef {(count: number) => Uint8Array} Take the next random bytes */

/** Random bytes of the platform. @type {Take} */
export const secure = (count) => globalThis.crypto.getRandomValues(new Uint8Array(count));

/** A plan that says something else than laws.md is not run. */
function expected(fits, value) {
  if (!fits) throw new RangeError(`a number of the law is not as expected: ${value}`);
  return value;
}

const word = (take) => toNumber(take(16));
const limit = (hex) => BigInt("0x" + expected(/^[0-9a-f]{32,33}$/.test(hex), hex));
/** floor(share 2^128): scaling by a power of two is exact. */
const threshold = (share) => BigInt(Math.floor(share * 2 ** 128));

const coin = (hex, take) => word(take) < limit(hex);

function choose(cuts, take) {
  if (!cuts.length) return 0;
  const drawn = word(take);
  return cuts.reduce((count, cut) => count + (limit(cut) <= drawn), 0);
}

/** A uniform number in [0, bound), by rejection. @param {number} bound @param {Take} take */
export function below(bound, take) {
  const bits = (expected(Number.isSafeInteger(bound) && bound > 0, bound) - 1).toString(2).length;
  if (bound === 1) return 0;
  for (;;) {
    const found = Number(BigInt.asUintN(bits, toNumber(take(Math.ceil(bits / 8)))));
    if (found < bound) return found;
  }
}

const rising = (numbers) => [...numbers].sort((a, b) => a - b);

/** `count` different numbers of [0, size), rising (Floyd). */
function sample(size, count, take) {
  const found = new Set();
  for (let last = size - count; last < size; last++) {
    const drawn = below(last + 1, take);
    found.add(found.has(drawn) ? last : drawn);
  }
  return rising(found);
}

const range = (count) => Array.from({ length: expected(Number.isSafeInteger(count) && count >= 0, count) }, (_, i) => i);
const listed = (x) => (Array.isArray(x) ? x : [x]);
const remainder = (a, b) => Number(((BigInt(a) % BigInt(b)) + BigInt(b)) % BigInt(b));

function subset({ size, members, hits }, x, take) {
  const held = listed(x);
  const many = choose(hits, take);
  const found = sample(held.length, many, take).map((i) => held[i]);
  for (let other of sample(size - held.length, members - many, take)) {
    for (const item of rising(held)) other += other >= item;
    found.push(other);
  }
  return rising(found);
}

function oneOf({ cuts, laws, divide, starts }, x, take) {
  const k = choose(cuts, take);
  const answer = drawLaw(laws[k], divide === undefined ? x[k] : Math.floor(x / divide ** k), take);
  return starts === undefined ? [k, answer] : answer + starts[k];
}

function hash({ buckets, bits, keep }, x, take) {
  const seed = range(bits).map(() => below(buckets, take));
  const place = seed.reduce((sum, a, i) => (Math.floor(x / 2 ** i) % 2 ? sum + a : sum), 0) % buckets;
  return [...seed, coin(keep, take) ? place : below(buckets, take)];
}

function hadamard({ block, outputs, keep }, x, take) {
  const anywhere = below(outputs, take);
  if (!coin(keep, take)) return anywhere;
  const row = BigInt((x % (block - 1)) + 1);
  let inside = BigInt(anywhere % block);
  const odd = (inside & row).toString(2).replaceAll("0", "").length % 2;
  if (odd) inside ^= row & -row;
  return Math.floor(x / (block - 1)) * block + Number(inside);
}

function halfSpace({ size, high }, x, take) {
  const wanted = coin(high, take);
  for (;;) {
    const drawn = take(Math.ceil(size / 8));
    let signs = range(size).map((i) => (drawn[i >> 3] >> (7 - (i & 7))) & 1);
    let dot = signs.reduce((sum, sign, i) => sum + (sign === x[i] ? 1 : -1), 0);
    if ((wanted && dot < 0) || (!wanted && dot > 0 && size % 2)) {
      signs = signs.map((sign) => 1 - sign);
      dot = -dot;
    }
    if (dot > 0 === wanted) return range(size).filter((i) => signs[i]);
  }
}

function wheel({ points, width, terms, on }, x, take) {
  const seed = range(terms).map(() => below(points, take));
  const start = rising(
    x.map((item) => remainder(seed.reduce((sum, c, i) => sum + BigInt(c) * BigInt(item) ** BigInt(i + 1), 0n), points)));
  const room = start.map((first, i) => (i + 1 < start.length ? start[i + 1] : start[0] + points) - first);
  const arc = below(start.length, take);
  const offset = below(width, take);
  if (coin(on, take) && offset < room[arc]) return [...seed, (start[arc] + offset) % points];
  const added = room.map((space) => Math.min(space, width));
  let point = below(points - added.reduce((sum, more) => sum + more, 0), take);
  start.forEach((first, i) => {
    if (point >= first - start[0]) point += added[i];
  });
  return [...seed, (start[0] + point) % points];
}

const LAWS = {
  same: (law, x) => x,
  uniform: (law, x, take) => below(law.size, take),
  block: (law, x, take) => x * law.size + below(law.size, take),
  keep: (law, x, take) => (coin(law.keep, take) ? x : below(law.size, take)),
  bits: (law, x, take) => {
    const held = new Set(listed(x));
    return range(law.size).filter((i) => coin(held.has(i) ? law.one : law.zero, take));
  },
  subset,
  window: (law, x, take) => (coin(law.uniform, take) ? below(law.outputs, take) : x + below(law.cells, take)),
  table: (law, x, take) => choose(law.rows[x], take),
  "one-of": oneOf,
  all: (law, x, take) => law.laws.map((part, i) => drawLaw(part, x[i], take)),
  coordinate: (law, x, take) => {
    const k = below(law.size, take);
    return k * law.step + drawLaw(law.law, x[k], take);
  },
  pick: (law, x, take) => drawLaw(law.law, x[below(x.length, take)], take),
  hash,
  hadamard,
  "half-space": halfSpace,
  wheel,
};

function ofKind(known, what, node) {
  if (!Object.hasOwn(known, node?.kind)) throw new Refusal("law", `The ${what} is of a kind that is not known; update the client.`);
  return known[node.kind];
}

const drawLaw = (law, x, take) => ofKind(LAWS, "law", law)(law, x, take);

function drawMessages(law, x, take) {
  if (law.kind !== "messages") return [drawLaw(law, x, take)];
  const own = { value: () => [x], item: () => listed(x), unit: () => range(x).map(() => 0) }[law.per]();
  const found = own.map((item) => drawLaw(law.own, item, take));
  const many = law.first + choose(law.count, take);
  return found.concat(range(many).map(() => drawLaw(law.dummy, law.held, take)));
}

// -- inputs: the user's row, one value for every column ----------------------------------------------------------------

const SPELLED = /^[ \t\n\r\f\v]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t\n\r\f\v]*$/;

/** The number that a value is or spells; NaN where it is none. */
function numeric(value) {
  if (typeof value === "string") return SPELLED.test(value) ? Number(value) : NaN;
  return typeof value === "number" || typeof value === "boolean" ? Number(value) : NaN;
}

function place({ labels, other }, value) {
  const found = labels.findIndex((label) => label === value);
  return found < 0 ? other : found;
}

/** Where in the range a number is, in [0, 1]. */
function share({ low, high, missing }, value) {
  const found = numeric(value);
  const inside = Number.isNaN(found) ? missing : Math.min(Math.max(found, low), high);
  return Math.min(Math.max((inside - low) / (high - low), 0), 1);
}

function rounded(grid, value, take) {
  const points = Array.isArray(grid) ? grid : range(grid + 1).map((i) => (2 * i - grid) / grid);
  let at = 0;
  while (at < points.length - 2 && value >= points[at + 1]) at++;
  const part = (value - points[at]) / (points[at + 1] - points[at]);
  return at + (word(take) < threshold(Math.min(Math.max(part, 0), 1)));
}

const entries = (value) => (Array.isArray(value) ? value : value instanceof Set ? [...value] : value == null ? [] : [value]);
const isMapping = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Set);
const single = (found) => (found.length === 1 ? found[0] : found);

function items(node, row, take) {
  let value = row[node.column];
  if (typeof value === "string" && node.separator)
    value = value.split(node.separator).map((part) => part.replace(/^[ \t\n\r\f\v]+|[ \t\n\r\f\v]+$/g, ""));
  let places = rising(new Set(entries(value).map((item) => place(node, item)).filter((found) => found >= 0)));
  if (places.length > node.size) places = sample(places.length, node.size, take).map((i) => places[i]);
  if (node.fill === null) return places;
  return places.concat(range(node.size).slice(places.length).map((j) => node.fill + j));
}

/** The keys that count, rising, and the mean of where in the range their numbers are. */
function named(node, row) {
  let pairs;
  if (row.length === 2) {
    const values = entries(row[1]);
    pairs = entries(row[0]).map((key, i) => [key, values[i]]);
  } else pairs = (isMapping(row[0]) ? Object.entries(row[0]) : entries(row[0])).filter((pair) => Array.isArray(pair) && pair.length === 2);
  const shares = new Map();
  for (const [key, value] of pairs) {
    const at = place(node, key);
    if (at >= 0) shares.set(at, [...(shares.get(at) ?? []), share(node, value)]);
  }
  return rising(shares.keys()).map((at) => {
    const found = shares.get(at);
    return [at, Math.min(found.reduce((sum, one) => sum + one, 0) / found.length, 1)];
  });
}

const byColumn = (node, row) =>
  row.map((value, i) => [i, value]).filter(([, value]) => !Number.isNaN(numeric(value))).map(([i, value]) => [i, share(node, value)]);

function pairs(node, row, take) {
  const held = node.labels ? named(node, row) : byColumn(node, row);
  const slot = below(Math.max(held.length, node.size), take);
  const [key, at] = slot < held.length ? held[slot] : [node.keys + below(node.size, take), 0.5];
  return 2 * key + (word(take) < threshold(at));
}

const INPUTS = {
  label: (node, row) => place(node, row[node.column]),
  number: (node, row, take) => {
    const value = 2 * share(node, row[node.column]) - 1;
    return single(node.grids.map((grid) => rounded(grid, value, take)));
  },
  bins: ({ column, bins, option, ...node }, row) =>
    option && Number.isNaN(numeric(row[column])) ? bins : Math.min(Math.trunc(share(node, row[column]) * bins), bins - 1),
  cells: (node, row, take) => {
    const places = node.of.map((part) => readInput(part, row, take));
    return single(node.asked.map((some) => some.reduce((cell, i) => cell * node.sizes[i] + places[i], 0)));
  },
  items,
  pairs,
  each: (node, row, take) => node.of.map((part) => readInput(part, row, take)),
};

const readInput = (node, row, take) => ofKind(INPUTS, "input", node)(node, row, take);

/** One value for every column. */
function rowOf({ columns, input }, value) {
  const own = (name) => (Object.hasOwn(value, name) ? value[name] : undefined);
  if (isMapping(value)) {
    const oneColumn = input.kind === "pairs" && input.labels && columns.length === 1; // {key: number} is not a row
    if (oneColumn && ["undefined", "number", "boolean"].includes(typeof own(columns[0]))) return [value];
    return columns.map(own);
  }
  if (columns.length === 1) return [value];
  if (value == null) return columns.map(() => undefined);
  if (!Array.isArray(value) || value.length !== columns.length)
    throw new Refusal("value", `The value must have one entry for each of ${columns.join(", ")}; pass an object or a list.`);
  return value;
}

// -- messages as bytes -------------------------------------------------------------------------------------------------

const little = (value, size) => integer(value, size).reverse();

const ENCODINGS = {
  number: ({ bytes }, answer) => little(answer, bytes),
  numbers: ({ bytes }, answer) => concat(...answer.map((x) => little(x, bytes))),
  bits: ({ size }, answer) => {
    const out = new Uint8Array(Math.ceil(size / 8));
    for (const i of answer) out[expected(i >> 3 < out.length, i) >> 3] |= 128 >> (i & 7);
    return out;
  },
  "one-of": ({ bytes, fields, field_of: fieldOf }, [k, own]) =>
    concat(little(k, bytes), ...fields.map((field, i) => (fieldOf[k] === i ? encode(field, own) : new Uint8Array(encodedBytes(field))))),
  all: ({ fields }, answer) => concat(...fields.map((field, i) => encode(field, answer[i]))),
};

const encode = (encoding, answer) => ofKind(ENCODINGS, "encoding", encoding)(encoding, answer);

function encodedBytes({ kind, size, bytes = 0, count = 1, fields = [] }) {
  if (kind === "bits") return Math.ceil(size / 8);
  return fields.reduce((sum, field) => sum + encodedBytes(field), bytes * count);
}

/**
 * The messages of a user with some rows: as many rows as the plan says, drawn without replacement; where there are
 * fewer, the others count as missing, so that the number of messages says nothing.
 * @param {any} portable
 * @param {any[]} rows
 * @param {Take} take
 * @returns {Uint8Array[]}
 */
export function drawRows(portable, rows, take) {
  const left = [...rows];
  return range(portable.reports_per_user).flatMap(() => {
    const value = left.length ? left.splice(below(left.length, take), 1)[0] : undefined;
    const x = readInput(portable.input, rowOf(portable, value), take);
    return drawMessages(portable.law, x, take).map((answer) => encode(portable.encoding, answer));
  });
}
