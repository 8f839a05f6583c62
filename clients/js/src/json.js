// JSON as every reader of signed documents takes it: no key twice, no number that others would read otherwise.

/** Levels of lists and mappings. */
const DEPTH = 32;
const PLAIN = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * The data of a JSON text.  Mappings are made in one step from their pairs, so that no key can reach a prototype.
 * @param {string} text
 */
export function parse(text) {
  let at = 0;
  const fail = (what) => {
    throw new SyntaxError(`${what} at character ${at}`);
  };
  /** Whether this character follows, which is then passed over. */
  const next = (char) => {
    while (/^[ \t\n\r]/.test(text[at] ?? "")) at++;
    return text[at] === char && ++at > 0;
  };
  const expect = (char) => next(char) || fail(`no ${char}`);
  const string = () => {
    const start = at - 1;
    for (let end = start; ; ) {
      end = text.indexOf('"', end + 1);
      if (end < 0) fail("an open text");
      let slashes = end;
      while (text[slashes - 1] === "\\") slashes--;
      if ((end - slashes) % 2) continue;
      at = end + 1;
      const found = JSON.parse(text.slice(start, at));
      return found.isWellFormed() ? found : fail("half of a surrogate pair");
    }
  };
  const plain = () => {
    PLAIN.lastIndex = at;
    const [written] = PLAIN.exec(text) ?? fail("no JSON");
    at += written.length;
    const found = JSON.parse(written);
    if (written.length > 100 || /e[+-]?\d{4}/i.test(written) || Math.abs(found) === Infinity) fail("an immoderate number");
    return found;
  };
  const pairs = (depth) => {
    const found = new Map();
    do {
      expect('"');
      const key = string();
      if (found.has(key) || key === "__proto__") fail(`the key ${key} twice, or a reserved one,`);
      expect(":");
      found.set(key, value(depth));
    } while (next(","));
    expect("}");
    return Object.fromEntries(found);
  };
  const list = (depth) => {
    const found = [];
    do found.push(value(depth));
    while (next(","));
    expect("]");
    return found;
  };
  const value = (depth) => {
    if (next('"')) return string();
    const mapping = next("{");
    if (!mapping && !next("[")) return plain();
    if (depth === DEPTH) fail("too many levels");
    if (next(mapping ? "}" : "]")) return mapping ? {} : [];
    return mapping ? pairs(depth + 1) : list(depth + 1);
  };
  const found = value(0);
  next("");
  return at === text.length ? found : fail("more than one value");
}
