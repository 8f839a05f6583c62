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

export const limit = (hex) => BigInt("0x" + expected(/^[0-9a-f]{32,33}$/.test(hex), hex));
/** floor(share 2^128): scaling by a power of two is exact. */
const threshold = (share) => BigInt(Math.floor(share * 2 ** 128));
const rising = (numbers) => [...numbers].sort((a, b) => a - b);

/** Random numbers from random bytes. */
export class Draws {
  /** @param {Take} take */
  constructor(take) {
    this.take = take;
  }

  word() {
    return toNumber(this.take(16));
  }

  coin(hex) {
    return this.word() < limit(hex);
  }

  choose(cuts) {
    const word = cuts.length && this.word();
    return cuts.filter((cut) => limit(cut) <= word).length;
  }

  /** A uniform number in [0, bound), by rejection. @param {number} bound */
  below(bound) {
    if (expected(Number.isSafeInteger(bound) && bound > 0, bound) === 1) return 0;
    const bits = (bound - 1).toString(2).length;
    for (;;) {
      const found = Number(BigInt.asUintN(bits, toNumber(this.take(Math.ceil(bits / 8)))));
      if (found < bound) return found;
    }
  }

  /** `count` different numbers of [0, size), rising (Floyd). */
  sample(size, count) {
    const found = new Set();
    for (let last = size - steps(count); last < size; last++) {
      const drawn = this.below(last + 1);
      found.add(found.has(drawn) ? last : drawn);
    }
    return rising(found);
  }
}

/** No law of a report that can be sent takes more steps: a hostile plan must not keep a client busy for ever. */
const steps = (count) => expected(Number.isInteger(count) && count >= 0 && count <= 2 ** 23, count);
const times = (count, make) => Array.from({ length: steps(count) }, (_, i) => make(i));
const range = (count) => times(count, (i) => i);
const total = (numbers) => numbers.reduce((sum, one) => sum + one, 0);
const listed = (x) => (Array.isArray(x) ? x : [x]);

function subset({ size, members, hits }, x, r) {
  const held = listed(x);
  const many = r.choose(hits);
  const found = r.sample(held.length, many).map((i) => held[i]);
  for (let other of r.sample(size - held.length, members - many)) {
    for (const item of rising(held)) other += other >= item;
    found.push(other);
  }
  return rising(found);
}

function oneOf({ cuts, laws, divide, starts }, x, r) {
  const k = r.choose(cuts);
  const answer = drawLaw(laws[k], divide === undefined ? x[k] : Math.floor(x / divide ** k), r);
  return starts === undefined ? [k, answer] : answer + starts[k];
}

function hash({ buckets, bits, keep }, x, r) {
  const seed = times(bits, () => r.below(buckets));
  const at = total(seed.filter((_, i) => Math.floor(x / 2 ** i) % 2)) % buckets;
  return [...seed, r.coin(keep) ? at : r.below(buckets)];
}

function hadamard({ block, outputs, keep }, x, r) {
  const anywhere = r.below(outputs);
  if (!r.coin(keep)) return anywhere;
  const row = BigInt((x % (block - 1)) + 1);
  let inside = BigInt(anywhere % block);
  const odd = (inside & row).toString(2).replaceAll("0", "").length % 2;
  if (odd) inside ^= row & -row;
  return Math.floor(x / (block - 1)) * block + Number(inside);
}

function halfSpace({ size, high }, x, r) {
  const wanted = r.coin(high);
  while (steps(size - 1) >= 0) {
    const drawn = r.take(Math.ceil(size / 8));
    const signs = times(size, (i) => (drawn[i >> 3] >> (7 - (i & 7))) & 1);
    const dot = total(signs.map((sign, i) => (sign === x[i] ? 1 : -1)));
    const flipped = wanted ? dot < 0 : dot > 0 && size % 2;
    if ((flipped ? -dot : dot) > 0 === wanted) return range(size).filter((i) => signs[i] ^ flipped);
  }
}

function wheel({ points, width, terms, on }, x, r) {
  const seed = times(terms, () => r.below(points));
  const start = rising(
    x.map((item) => Number(seed.reduce((sum, c, i) => sum + BigInt(c) * BigInt(item) ** BigInt(i + 1), 0n) % BigInt(points))));
  const room = start.map((first, i) => (i + 1 < start.length ? start[i + 1] : start[0] + points) - first);
  const arc = r.below(start.length);
  const offset = r.below(width);
  if (r.coin(on) && offset < room[arc]) return [...seed, (start[arc] + offset) % points];
  const added = room.map((space) => Math.min(space, width));
  let point = r.below(points - total(added));
  for (const [i, first] of start.entries()) if (point >= first - start[0]) point += added[i];
  return [...seed, (start[0] + point) % points];
}

const LAWS = {
  same: (law, x) => x,
  uniform: (law, x, r) => r.below(law.size),
  block: (law, x, r) => x * law.size + r.below(law.size),
  keep: (law, x, r) => (r.coin(law.keep) ? x : r.below(law.size)),
  bits: (law, x, r) => range(law.size).filter((i) => r.coin(listed(x).includes(i) ? law.one : law.zero)),
  subset,
  window: (law, x, r) => (r.coin(law.uniform) ? r.below(law.outputs) : x + r.below(law.cells)),
  table: (law, x, r) => r.choose(law.rows[x]),
  "one-of": oneOf,
  all: (law, x, r) => law.laws.map((part, i) => drawLaw(part, x[i], r)),
  coordinate: (law, x, r) => {
    const k = r.below(law.size);
    return k * law.step + drawLaw(law.law, x[k], r);
  },
  pick: (law, x, r) => drawLaw(law.law, x[r.below(x.length)], r),
  hash,
  hadamard,
  "half-space": halfSpace,
  wheel,
};

export function ofKind(known, what, node) {
  if (typeof node?.kind !== "string" || !Object.hasOwn(known, node.kind))
    throw new Refusal("law", `The ${what} is of a kind that is not known; update the client.`);
  return known[node.kind];
}

const drawLaw = (law, x, r) => ofKind(LAWS, "law", law)(law, x, r);

function drawMessages(law, x, r) {
  if (law.kind !== "messages") return [drawLaw(law, x, r)];
  const own = { value: () => [x], item: () => listed(x), unit: () => times(x, () => 0) }[law.per]();
  const found = own.map((item) => drawLaw(law.own, item, r));
  return found.concat(times(law.first + r.choose(law.count), () => drawLaw(law.dummy, law.held, r)));
}

// -- inputs: the user's row, one value for every column ----------------------------------------------------------------

const trimmed = (text) => text.replace(/^[ \t\n\r\f\v]+|[ \t\n\r\f\v]+$/g, "");
const SPELLED = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

/** The number that a value is or spells; NaN where it is none. */
const numeric = (value) =>
  ["number", "boolean"].includes(typeof value) || (typeof value === "string" && SPELLED.test(trimmed(value))) ? Number(value) : NaN;

const place = ({ labels, other }, value) => (labels.includes(value) ? labels.indexOf(value) : other);

/** Where in the range a number is, in [0, 1]. */
function share({ low, high, missing }, value) {
  const found = numeric(value);
  const inside = Number.isNaN(found) ? missing : Math.min(Math.max(found, low), high);
  return Math.min(Math.max((inside - low) / (high - low), 0), 1);
}

function rounded(grid, value, r) {
  const points = Array.isArray(grid) ? grid : times(grid + 1, (i) => (2 * i - grid) / grid);
  let at = 0;
  while (at < points.length - 2 && value >= points[at + 1]) at++;
  const part = (value - points[at]) / (points[at + 1] - points[at]);
  return at + (r.word() < threshold(Math.min(Math.max(part, 0), 1)));
}

const entries = (value) => (value instanceof Set ? [...value] : value == null ? [] : listed(value));
const isMapping = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Set);
const single = (found) => (found.length === 1 ? found[0] : found);

function items(node, row, r) {
  let value = row[node.column];
  if (typeof value === "string" && node.separator)
    value = value.split(node.separator).map(trimmed);
  let places = rising(new Set(entries(value).map((item) => place(node, item)).filter((found) => found >= 0)));
  if (places.length > node.size) places = r.sample(places.length, node.size).map((i) => places[i]);
  if (node.fill === null) return places;
  return times(Math.max(node.size, places.length), (j) => places[j] ?? node.fill + j);
}

/** The keys that count, rising, and the mean of where in the range their numbers are. */
function named(node, row) {
  const [first, second] = row;
  const pairs = row.length === 2
    ? entries(first).map((key, i) => [key, entries(second)[i]])
    : (isMapping(first) ? Object.entries(first) : entries(first)).filter((pair) => Array.isArray(pair) && pair.length === 2);
  const placed = pairs.map(([key, value]) => [place(node, key), share(node, value)]);
  return rising(new Set(placed.map(([at]) => at).filter((at) => at >= 0))).map((at) => {
    const found = placed.filter((pair) => pair[0] === at);
    return [at, Math.min(total(found.map((pair) => pair[1])) / found.length, 1)];
  });
}

const byColumn = (node, row) =>
  row.flatMap((value, i) => (Number.isNaN(numeric(value)) ? [] : [[i, share(node, value)]]));

function pairs(node, row, r) {
  const held = node.labels ? named(node, row) : byColumn(node, row);
  const slot = r.below(Math.max(held.length, node.size));
  const [key, at] = slot < held.length ? held[slot] : [node.keys + r.below(node.size), 0.5];
  return 2 * key + (r.word() < threshold(at));
}

const INPUTS = {
  label: (node, row) => place(node, row[node.column]),
  number: (node, row, r) => single(node.grids.map((grid) => rounded(grid, 2 * share(node, row[node.column]) - 1, r))),
  bins: (node, row) => {
    const value = row[node.column];
    return node.option && Number.isNaN(numeric(value)) ? node.bins : Math.min(Math.floor(share(node, value) * node.bins), node.bins - 1);
  },
  cells: (node, row, r) => {
    const places = node.of.map((part) => readInput(part, row, r));
    return single(node.asked.map((some) => some.reduce((cell, i) => cell * node.sizes[i] + places[i], 0)));
  },
  items,
  pairs,
  each: (node, row, r) => node.of.map((part) => readInput(part, row, r)),
};

const readInput = (node, row, r) => ofKind(INPUTS, "input", node)(node, row, r);

/** One value for every column. */
export function rowOf({ columns, input }, value) {
  const own = (name) => (Object.hasOwn(value, name) ? value[name] : undefined);
  if (isMapping(value)) {
    const [first] = columns;
    const keyed = input.kind === "pairs" && input.labels && columns.length === 1; // {key: number} is not a row
    return keyed && (!Object.hasOwn(value, first) || ["number", "boolean"].includes(typeof value[first])) ? [value] : columns.map(own);
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

/** How many bytes a message has. */
export function encodedBytes(encoding) {
  ofKind(ENCODINGS, "encoding", encoding);
  const { kind, size, bytes = 0, count = 1, fields = [] } = encoding;
  return kind === "bits" ? Math.ceil(size / 8) : bytes * count + total(fields.map(encodedBytes));
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
  const r = new Draws(take);
  const left = [...rows];
  return times(portable.reports_per_user, () => {
    const value = left.length ? left.splice(r.below(left.length), 1)[0] : undefined;
    const x = readInput(portable.input, rowOf(portable, value), r);
    return drawMessages(portable.law, x, r).map((answer) => encode(portable.encoding, answer));
  }).flat();
}
