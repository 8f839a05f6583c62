// What a client can check of a program that it cannot derive from the plan: that every word of it is known and fits the
// others, so that no value stops the client, and exactly how far apart the chances of a message are under two values.

import { Refusal } from "./bytes.js";
import { encodedBytes, limit, ofKind } from "./law.js";

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

const isWhole = (value, low = 0) => Number.isSafeInteger(value) && typeof low === "number" && value >= low;
const whole = (value, low = 1) => (need(isWhole(value, low)), BigInt(value));

// -- words: the fields of every kind.  Nothing below, and nothing that draws, meets a text or a list that JavaScript would
// take for a number, a field that is null where it should be missing, or one that only some of the code reads -------------

const count = (value) => isWhole(value);
const size = (value) => isWhole(value, 1);
/** How many numbers are listed in a draw. */
const short = (value) => size(value) && value < 2 ** 23;
const place = (value) => isWhole(value, -1);
const real = Number.isFinite;
const chance = (value) => typeof value === "string" && /^([0-9a-f]{32}|10{32})$/.test(value);
const text = (value) => typeof value === "string";
const list = (fits) => (value) => Array.isArray(value) && value.every((one) => fits(one));
const perhaps = (fits) => (value) => value === undefined || fits(value);
const part = (what) => (node) => {
  const fields = ofKind(FIELDS[what], what, node);
  return Object.keys(node).every((name) => name === "kind" || Object.hasOwn(fields, name)) &&
    Object.keys(fields).every((name) => fields[name](node[name]));
};
const [input, law, encoding] = ["input", "law", "encoding"].map(part);

const LABELS = { labels: Array.isArray, other: place };
const RANGE = { column: count, low: real, high: real, missing: real };
const FIELDS = {
  input: {
    label: { column: count, ...LABELS },
    number: { ...RANGE, grids: list((grid) => short(grid) || list(real)(grid)) },
    bins: { ...RANGE, bins: size, option: (value) => typeof value === "boolean" },
    cells: { of: list(input), sizes: list(size), asked: list(list(count)) },
    items: { column: count, ...LABELS, size: short, separator: text, fill: (value) => value === null || count(value) },
    pairs: { ...RANGE, column: perhaps(count), keys: size, size, labels: perhaps(Array.isArray), other: perhaps(place) },
    each: { of: list(input) },
  },
  law: {
    same: {},
    uniform: { size },
    block: { size },
    keep: { size, keep: chance },
    bits: { size, one: chance, zero: chance },
    subset: { size, members: count, hits: list(chance) },
    window: { outputs: size, cells: size, uniform: chance },
    table: { rows: list(list(chance)) },
    "one-of": { cuts: list(chance), laws: list(law), starts: perhaps(list(count)), divide: perhaps(size) },
    all: { laws: list(law) },
    coordinate: { size, step: count, law },
    pick: { law },
    hash: { buckets: size, bits: count, keep: chance },
    hadamard: { outputs: size, block: size, keep: chance },
    "half-space": { size, high: chance },
    wheel: { points: size, width: size, terms: size, on: chance },
  },
  messages: {
    messages: {
      per: (value) => ["value", "item", "unit"].includes(value), own: law, first: count, count: list(chance), dummy: law, held: count,
    },
  },
  encoding: {
    number: { bytes: size },
    numbers: { bytes: size, count: size },
    bits: { size },
    "one-of": { bytes: size, fields: list(encoding), field_of: list(count) },
    all: { fields: list(encoding) },
  },
};

/** The chances of 0, 1, ... by rising thresholds. */
function chances(cuts) {
  const rising = [...cuts.map(limit), ONE];
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

function inRange({ low, high }) {
  need(Number.isFinite(high - low) && low < high);
}

function gridPoints(grid) {
  if (!Array.isArray(grid)) return grid + 1;
  need(grid.length > 1 && grid.every((x, i) => !i || x > grid[i - 1]));
  return grid.length;
}

const places = ({ labels, other }, low) => (need(isWhole(other, low)), Math.max(labels.length, other + 1));

const VALUES = {
  label: (node) => places(node, 0),
  number: (node) => (inRange(node), single(node.grids.map(gridPoints))),
  bins: (node) => (inRange(node), Number(whole(node.bins + node.option))),
  cells: ({ of, sizes, asked }, columns) => {
    need(of.every((one, i) => isWhole(sizes[i], values(one, columns))));
    const cells = (some) => some.reduce((size, i) => (need(i < of.length), size * sizes[i]), 1);
    return single(asked.map((some) => Number(whole(cells(some)))));
  },
  items: (node) => {
    const [named, { size, fill }] = [places(node, -1), node];
    need(fill === null || isWhole(fill, named));
    return { items: Number(whole(fill === null ? named : fill + size, 0)), size, exact: fill !== null };
  },
  pairs: (node, columns) => {
    inRange(node);
    const { keys, size, labels } = node;
    return { pairs: Number(2n * (whole(keys, labels ? places(node, -1) : columns) + BigInt(size))), size };
  },
  each: ({ of }, columns) => of.map((one) => values(one, columns)),
};

const values = (node, columns) => (need(!(node.column >= columns)), VALUES[node.kind](node, columns));

// -- laws: the largest ratio of the chances of an answer, over all values that the input gives ---------------------------

const within = (x, most) => need(isWhole(x) && x <= most);
const parts = (laws, x) => (need(Array.isArray(x) && x.length >= laws.length), laws.map((law, k) => ratio(law, x[k])));

function oneOf({ cuts, laws, starts, divide }, x) {
  need(chances(cuts).length === laws.length && (!starts || starts.length >= laws.length));
  if (!divide) return larger(parts(laws, x));
  within(x, Infinity);
  return larger(laws.map((law, k) => ratio(law, Math.ceil(x / divide ** k))));
}

function subset({ size, members, hits }, x) {
  const held = x.items ? x.size : 1;
  const n = whole(size, held);
  const m = BigInt(members);
  within(x.items ?? x, size);
  const s = BigInt(held);
  const chance = chances(hits);
  // So many of those that are held, and the rest of the others: where there are not as many, it must not happen.
  need((x.exact ?? true) && m <= n && chance.every((one, j) => !one || (j <= held && j <= m && m - BigInt(j) <= n - s)));
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
  const n = BigInt(size);
  need(Array.isArray(x) && x.length === size && x.every((many) => isWhole(many) && many <= 2));
  const h = limit(high);
  if (size > MOST_SIGNS) return ENDLESS;
  let middle = size % 2 ? 0n : 1n; // how many signs agree with those of x at exactly half of the places
  for (let j = 1n; middle && j <= n / 2n; j++) middle = (middle * (n / 2n + j)) / j;
  const more = ((1n << n) - middle) / 2n;
  return spread([[h, more], [ONE - h, (1n << n) - more]]);
}

function wheel({ points, width, on }, x) {
  const [n, w, s] = [BigInt(points), BigInt(width), BigInt(x.exact ? x.size : 0)];
  need(s && n > s * w && points <= 2 ** 52); // sums of two points are exact
  const t = limit(on);
  // Off the arcs, where these cover as little or as much as they can.
  const off = [w, s * w].map((covered) => [ONE * s * w - covered * t, s * w * (n - covered), s * w]);
  return spread([[t, s * w], ...off]);
}

const RATIOS = {
  same: (law, x) => (x === 1 ? NONE : ENDLESS),
  uniform: () => NONE,
  block: (law, x) => (within(x, Infinity), ENDLESS),
  keep: ({ size, keep }, x) => (within(x.pairs ?? x, size), kept(limit(keep), BigInt(x.pairs ? x.size : 1), BigInt(size))),
  bits: ({ one, zero }, x) => {
    const [a, b] = [limit(one), limit(zero)];
    if (x.items) return ENDLESS;
    within(x, Infinity);
    return product([spread([[a, 1n], [b, 1n]]), spread([[ONE - a, 1n], [ONE - b, 1n]])]);
  },
  subset,
  window: ({ outputs, cells, uniform }, x) => {
    within(x, outputs - cells + 1);
    return kept(ONE - limit(uniform), BigInt(cells), BigInt(outputs));
  },
  table: ({ rows }, x) => {
    const listed = rows.map(chances);
    within(x, listed.length);
    const most = listed.reduce((size, row) => Math.max(size, row.length), 0);
    return larger(Array.from({ length: most }, (_, j) => spread(listed.map((row) => [row[j] ?? 0n, 1n]))));
  },
  "one-of": oneOf,
  all: ({ laws }, x) => product(parts(laws, x)),
  coordinate: ({ size, law }, x) => (need(Array.isArray(x) && size === x.length), larger(x.map((one) => ratio(law, one)))),
  pick: ({ law }, x) => (need(x.exact), ratio(law, x.items)),
  hash: ({ buckets, bits, keep }, x) => (within(x, 2 ** bits), kept(limit(keep), 1n, BigInt(buckets))),
  hadamard: ({ outputs, block, keep }, x) => {
    const [all, inside] = [whole(outputs, 2), whole(block, 2)];
    need(!(inside & (inside - 1n)) && !(all % inside));
    within(x, (outputs / block) * (block - 1));
    return kept(limit(keep), inside / 2n, all);
  },
  "half-space": halfSpace,
  wheel,
};

const ratio = (law, x) => RATIOS[law.kind](law, x);

// -- answers: below which number each is, {each, count}: so many below it, {parts}: one of those, or a list of such; what
// an encoding cannot write would be drawn again by somebody, which is another law ---------------------------------------

const raised = (answer, by) => (need(isWhole(answer)), answer + by);
const most = (numbers) => numbers.reduce((found, one) => Math.max(found, one), 0);
const plain = ({ size }) => size;
const outputs = ({ outputs }) => outputs;

const ANSWERS = {
  same: (law, x) => x,
  uniform: plain,
  block: ({ size }, x) => x * size,
  keep: plain,
  bits: ({ size }) => ({ each: size }),
  subset: ({ size, members }) => ({ each: size, count: members }),
  window: outputs,
  table: ({ rows }) => most(rows.map((row) => row.length)) + 1,
  "one-of": ({ laws, starts, divide }, x) => {
    const found = laws.map((law, k) => answers(law, divide ? Math.ceil(x / divide ** k) : x[k]));
    return starts ? most(found.map((one, k) => raised(one, starts[k]))) : { parts: found };
  },
  all: ({ laws }, x) => laws.map((law, k) => answers(law, x[k])),
  coordinate: ({ step, law }, x) => most(x.map((one, k) => raised(answers(law, one), k * step))),
  pick: ({ law }, x) => answers(law, x.items),
  hash: ({ buckets, bits }) => ({ each: buckets, count: bits + 1 }),
  hadamard: outputs,
  "half-space": ({ size }) => ({ each: size }),
  wheel: ({ points, terms }) => ({ each: points, count: terms + 1 }),
};

const answers = (law, x) => ANSWERS[law.kind](law, x);

const WRITES = {
  number: ({ bytes }, y) => isWhole(y) && y <= 256 ** bytes,
  numbers: ({ bytes, count }, { each, count: many }) => many === count && each <= 256 ** bytes,
  bits: ({ size }, { each }) => each <= 8 * Math.ceil(size / 8),
  "one-of": ({ bytes, fields, field_of: fieldOf }, { parts = [] }) =>
    parts.length > 0 && parts.length <= 256 ** bytes && parts.every((part, k) => fieldOf[k] < fields.length && writes(fields[fieldOf[k]], part)),
  all: ({ fields }, y) => Array.isArray(y) && y.length === fields.length && fields.every((field, i) => writes(field, y[i])),
};

const writes = (encoding, y) => WRITES[encoding.kind](encoding, y);

/** Several messages have no ratio that could be computed here.  The messages are the user's own ones and dummies. */
function messages({ per, own, first, count, dummy, held }, x, encoding, room) {
  const [one, many] = { value: [x, 1], item: [x.items ?? x, x.size ?? 1], unit: [1, x - 1] }[per];
  need(chances(count) && (per === "value" || isWhole(x) || (per === "item" && x.items)) && many + first + count.length <= room);
  for (const [law, given] of [[own, one], [dummy, held + 1]]) {
    ratio(law, given);
    need(writes(encoding, answers(law, given)));
  }
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
  const { columns, slots, message_bytes: bytes, reports_per_user: rows } = program;
  const several = program.law?.kind === "messages";
  need(list(text)(columns) && isWhole(rows, 1) && isWhole(slots, rows));
  need(input(program.input) && part(several ? "messages" : "law")(program.law) && encoding(program.encoding));
  need(bytes === encodedBytes(program.encoding));
  if (slots * (bytes + 49) > 2 ** 20 - 62) throw new Refusal("law", "The messages of the program do not fit into a request");
  const x = values(program.input, columns.length);
  const [a, b] = several ? messages(program.law, x, program.encoding, slots / rows) : ratio(program.law, x);
  need(several || writes(program.encoding, answers(program.law, x)));
  if (pinned && b === 0n) return;
  if (b === 0n || local === "inf")
    throw new Refusal("law", "The law has no local guarantee that a client could check; pin programDigest, which shuffledp shuffler publish prints.");
  need(rows === slots);
  // Of every report; 2^-40 is more than the rounding of probabilities to doubles can move it.
  const each = BigInt(Math.floor(Math.min(local, 4096 * rows) * 2 ** 200)) / BigInt(rows) + (1n << 160n);
  if ((a << 200n) > b * exp(each))
    throw new Refusal("trust", `The law tells more than the local eps of ${local} that the publication states`);
}
