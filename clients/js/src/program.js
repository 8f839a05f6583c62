// What a client can check of a program that it cannot derive from the plan: that every word of it is known and fits the
// others, so that no value stops the client, and exactly how far apart the chances of a message are under two values.

import { Refusal } from "./bytes.js";
import { encodedBytes, ofKind } from "./law.js";

const ONE = 1n << 128n;
/** Ratios of chances, as [numerator, denominator]. */
const NONE = [1n, 1n];
const ENDLESS = [1n, 0n];
/** Larger sizes than these are left to a digest that is pinned: a hostile program must not keep a client busy. */
const MOST_SIGNS = 4096;
const MOST_ITEMS = 256;
const MOST_BITS = 1n << 18n;

function need(fits) {
  if (!fits) throw new Refusal("law", "The program is not one that this client can run");
}

const isWhole = (value, low = 0) => Number.isSafeInteger(value) && value >= low;
const whole = (value, low = 1) => (need(isWhole(value, low)), BigInt(value));
const list = (value) => (need(Array.isArray(value)), value);

function limit(hex) {
  need(/^([0-9a-f]{32}|10{32})$/.test(hex));
  return BigInt("0x" + hex);
}

/** The chances of 0, 1, ... by rising thresholds. */
function chances(cuts) {
  const rising = [...list(cuts).map(limit), ONE];
  return rising.map((cut, i) => {
    const chance = cut - (i ? rising[i - 1] : 0n);
    need(chance >= 0n);
    return chance;
  });
}

const above = ([a, b], [c, d]) => a * d > c * b;
const larger = (ratios) => ratios.reduce((most, one) => (above(one, most) ? one : most), NONE);

function product(ratios) {
  let [a, b] = NONE;
  for (const [c, d] of ratios) {
    [a, b] = [a * c, b * d];
    if (b === 0n || a >> MOST_BITS) return ENDLESS;
  }
  return [a, b];
}

/**
 * The largest ratio of chances that are each shared evenly by some outcomes, [[chance, outcomes, unit], ...].  A
 * threshold is rounded: one unit of 2^-128, or `unit` where chances come as multiples of it, counts for the law.
 */
function spread(shares) {
  const [a, b, unit = 1n] = shares.reduce((most, one) => (above(one, most) ? one : most));
  const [c, d, other = 1n] = shares.reduce((least, one) => (above(least, one) ? one : least));
  return larger([[(a - unit) * d, (c + other) * b]]);
}

/** With a chance one of `inside` outputs, and else one of all: the ratio of those inside to the others. */
function kept(chance, inside, all) {
  const k = chance && chance - 1n;
  return [k * all + (ONE - k) * inside, (ONE - k) * inside];
}

// -- values of inputs: how many there are, a list of such numbers, {items, size}: of so many different ones a set, or
// {pairs, size}: of so many one, each with a chance of at most 1 / size ---------------------------------------------------

const single = (found) => (found.length === 1 ? found[0] : found);

function inRange({ low, high, missing }) {
  need([missing, low, high, high - low].every(Number.isFinite) && low < high);
}

function gridPoints(grid) {
  if (!Array.isArray(grid)) return Number(whole(grid)) + 1;
  need(grid.length > 1 && grid.every((x, i) => Number.isFinite(x) && (!i || x > grid[i - 1])));
  return grid.length;
}

const places = ({ labels, other }, low) => (need(isWhole(other, low)), Math.max(list(labels).length, other + 1));

const VALUES = {
  label: (node) => places(node, 0),
  number: (node) => (inRange(node), single(list(node.grids).map(gridPoints))),
  bins: (node) => (inRange(node), Number(whole(node.bins)) + (node.option === true)),
  cells: ({ of, sizes, asked }) => {
    need(list(of).map(values).every((many, i) => isWhole(sizes[i], many)));
    const cells = (some) => some.reduce((size, i) => (need(isWhole(i) && i < of.length), size * sizes[i]), 1);
    return single(list(asked).map((some) => Number(whole(cells(list(some))))));
  },
  items: (node) => {
    const [named, size, { fill }] = [places(node, -1), Number(whole(node.size)), node];
    need(fill === null || isWhole(fill, named));
    return { items: fill === null ? named : fill + size, size, exact: fill !== null };
  },
  pairs: (node) => {
    inRange(node);
    return { pairs: 2 * Number(whole(node.keys, node.labels ? places(node, -1) : 1) + whole(node.size)), size: node.size };
  },
  each: ({ of }) => list(of).map(values),
};

const values = (node) => ofKind(VALUES, "input", node)(node);

// -- laws: the largest ratio of the chances of an answer, over all values that the input gives ---------------------------

const within = (x, most) => need(isWhole(x) && x <= most);
const parts = (laws, x) => (need(list(x).length >= list(laws).length), laws.map((law, k) => ratio(law, x[k])));

function oneOf({ cuts, laws, starts, divide }, x) {
  need(chances(cuts).length === laws?.length && (!starts || list(starts).length >= laws.length));
  if (divide === undefined) return larger(parts(laws, x));
  whole(divide);
  within(x, Infinity);
  return larger(laws.map((law, k) => ratio(law, Math.ceil(x / divide ** k))));
}

function subset({ size, members, hits }, x) {
  const held = x.items ? x.size : 1;
  const n = whole(size, held);
  const m = whole(members, 0);
  within(x.items ?? x, size);
  need((x.exact ?? true) && m <= n && hits?.length <= held);
  const s = BigInt(held);
  const chance = chances(hits);
  if (held > MOST_ITEMS) return ENDLESS;
  // How many sets of m items there are with j of the s that are held: many / of times those with the fewest.
  const shares = [];
  let [many, of] = NONE;
  for (let j = m > n - s ? m - n + s : 0n; j <= s && j <= m; j++) {
    shares.push([(chance[j] ?? 0n) * of, many, of]);
    [many, of] = [many * (s - j) * (m - j), of * (j + 1n) * (n - s - m + j + 1n)];
  }
  return spread(shares);
}

function halfSpace({ size, high }, x) {
  const n = whole(size);
  need(Array.isArray(x) && x.length === size && x.every((many) => many <= 2));
  const h = limit(high);
  if (size > MOST_SIGNS) return ENDLESS;
  let middle = size % 2 ? 0n : 1n; // how many signs agree with those of x at exactly half of the places
  for (let j = 1n; middle && j <= n / 2n; j++) middle = (middle * (n / 2n + j)) / j;
  const more = ((1n << n) - middle) / 2n;
  return spread([[h, more], [ONE - h, (1n << n) - more]]);
}

function wheel({ points, width, terms, on }, x) {
  const [n, w, s] = [whole(points), whole(width), BigInt(x?.exact ? x.size : 0)];
  need(s && n > s * w && whole(terms));
  const t = limit(on);
  // Off the arcs, where these cover as little or as much as they can.
  const off = [w, s * w].map((covered) => [ONE * s * w - covered * t, s * w * (n - covered), s * w]);
  return spread([[t, s * w], ...off]);
}

const RATIOS = {
  same: (law, x) => (x === 1 ? NONE : ENDLESS),
  uniform: ({ size }) => (whole(size), NONE),
  block: ({ size }, x) => (whole(size), within(x, Infinity), ENDLESS),
  keep: ({ size, keep }, x) => {
    within(x.pairs ?? x, size);
    return kept(limit(keep), BigInt(x.pairs ? x.size : 1), whole(size));
  },
  bits: ({ size, one, zero }, x) => {
    whole(size);
    const [a, b] = [limit(one), limit(zero)];
    if (x.items) return ENDLESS;
    within(x, Infinity);
    return product([spread([[a, 1n], [b, 1n]]), spread([[ONE - a, 1n], [ONE - b, 1n]])]);
  },
  subset,
  window: ({ outputs, cells, uniform }, x) => {
    const [inside, all] = [whole(cells), whole(outputs)];
    within(x, outputs - cells + 1);
    return kept(ONE - limit(uniform), inside, all);
  },
  table: ({ rows }, x) => {
    const listed = list(rows).map(chances);
    within(x, listed.length);
    const most = listed.reduce((size, row) => Math.max(size, row.length), 0);
    return larger(Array.from({ length: most }, (_, j) => spread(listed.map((row) => [row[j] ?? 0n, 1n]))));
  },
  "one-of": oneOf,
  all: ({ laws }, x) => product(parts(laws, x)),
  coordinate: ({ size, step, law }, x) => {
    need(isWhole(step) && Array.isArray(x) && size === x.length);
    return larger(x.map((one) => ratio(law, one)));
  },
  pick: ({ law }, x) => (need(x.exact), ratio(law, x.items)),
  hash: ({ buckets, bits, keep }, x) => {
    within(x, 2 ** Number(whole(bits, 0)));
    return kept(limit(keep), 1n, whole(buckets));
  },
  hadamard: ({ outputs, block, keep }, x) => {
    const [all, inside] = [whole(outputs, 2), whole(block, 2)];
    need(!(inside & (inside - 1n)) && !(all % inside));
    within(x, (outputs / block) * (block - 1));
    return kept(limit(keep), inside / 2n, all);
  },
  "half-space": halfSpace,
  wheel,
};

const ratio = (law, x) => ofKind(RATIOS, "law", law)(law, x);

/** Several messages have no ratio that could be computed here. */
function messages({ per, own, first, count, dummy, held }, x) {
  need(["value", "item", "unit"].includes(per) && isWhole(first) && chances(count));
  ratio(own, per === "unit" ? 1 : per === "item" ? x.items ?? x : x);
  ratio(dummy, Number(whole(held, 0)) + 1);
  return ENDLESS;
}

/** e^x 2^200, to some 180 bits, for a double x of at most 4096, in units of 2^-200. @param {bigint} x */
function exp(x) {
  const part = x >> 16n;
  let [term, sum] = [1n << 200n, 1n << 200n];
  for (let i = 1n; term; i++) sum += term = ((term * part) >> 200n) / i;
  for (let i = 0; i < 16; i++) sum = (sum * sum) >> 200n;
  return sum;
}

/**
 * Refuses a program that says something else than laws.md, or more with its messages than the stated local eps allows.
 * @param {any} program
 * @param {number | "inf"} local the local eps of the signed guarantee
 * @param {boolean} pinned whether the page names this program by its digest
 */
export function checkProgram(program, local, pinned) {
  need(Object.keys(program ?? {}).sort().join() === "columns,encoding,input,law,message_bytes,reports_per_user,slots");
  const { columns, input, law, encoding, slots, message_bytes: bytes, reports_per_user: rows } = program;
  const many = whole(rows);
  need(list(columns).every((name) => typeof name === "string") && whole(slots, rows) && bytes === encodedBytes(encoding));
  if (slots * (bytes + 49) > 2 ** 20 - 62) throw new Refusal("law", "The messages of the program do not fit into a request");
  const x = values(input);
  const [a, b] = law?.kind === "messages" ? messages(law, x) : ratio(law, x);
  if (pinned && b === 0n) return;
  if (b === 0n || local === "inf")
    throw new Refusal("law", "The law has no local guarantee that a client could check; pin programDigest, which shuffledp shuffler publish prints.");
  need(rows === slots);
  // Of every report; 2^-40 is more than the rounding of probabilities to doubles can move it.
  const each = BigInt(Math.floor(Math.min(local, 4096 * rows) * 2 ** 200)) / many + (1n << 160n);
  if ((a << 200n) > b * exp(each))
    throw new Refusal("trust", `The law tells more than the local eps of ${local} that the publication states`);
}
