// Curves as SVG on logarithmic axes, and the scale of eps; no library, no inline style.

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 420, LEFT = 52, RIGHT = 12, TOP = 10, BOTTOM = 36;

export function node(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// A number for people: 1,000 users, 10 million, 0.0125.
export function short(x) {
  if (x === null || x === undefined) return "";
  if (typeof x === "string") return x;
  for (const [size, word] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"]]) {
    if (x >= size) return trimmed(x / size) + word;
  }
  return x !== 0 && x < 1e-4 ? x.toExponential(0) : trimmed(x);
}

function trimmed(x) {
  return String(Number(x.toPrecision(3)));
}

// Four figures: an upper bound is rounded up, a lower one down.
export function safely(x, up) {
  if (typeof x !== "number") return String(x);
  if (x === 0) return "0";
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(x))) - 3);
  const whole = up ? Math.ceil(x / unit - 1e-9) : Math.floor(x / unit + 1e-9);
  return String(Number((whole * unit).toPrecision(4)));
}

function ticks(low, high, most) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const found = [];
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  for (let k = first; k <= last; k += step) found.push(Number(`1e${k}`));
  if (found.length >= 2) return found;
  const finer = [];
  for (let k = first - 1; k <= last; k++) for (const m of [1, 2, 5]) {
    const x = m * 10 ** k;
    if (x >= low * 0.999 && x <= high * 1.001) finer.push(Number(x.toPrecision(2)));
  }
  return finer.length ? finer : [low, high];
}

// Monotone cubic through points in screen coordinates (Fritsch, Carlson 1980): no bump that is not in the data.
function smooth(points) {
  const n = points.length;
  if (n < 3) return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const slope = [], tangent = [];
  for (let i = 0; i + 1 < n; i++) slope.push((points[i + 1][1] - points[i][1]) / (points[i + 1][0] - points[i][0]));
  for (let i = 0; i < n; i++) {
    const a = slope[Math.max(0, i - 1)], b = slope[Math.min(n - 2, i)];
    tangent.push(a * b <= 0 ? 0 : 2 * a * b / (a + b));
  }
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (let i = 0; i + 1 < n; i++) {
    const [x, y] = points[i], [u, v] = points[i + 1], third = (u - x) / 3;
    path += `C${(x + third).toFixed(1)} ${(y + tangent[i] * third).toFixed(1)} ${(u - third).toFixed(1)} `
      + `${(v - tangent[i + 1] * third).toFixed(1)} ${u.toFixed(1)} ${v.toFixed(1)}`;
  }
  return path;
}

const finite = (x) => typeof x === "number" && Number.isFinite(x) && x > 0;

// place: the element; data: {x, epsilon, lower}; options: {label, current: [x, eps], height, reading, name}
export function curve(place, data, options) {
  const height = options.height || 250;
  const current = options.current && options.current.every(finite) ? options.current : null;
  const rows = data.x.map((x, i) => ({ x, up: data.epsilon[i], low: data.lower ? data.lower[i] : null }))
    .filter((row) => finite(row.x) && finite(row.up));
  if (!rows.length) {
    place.replaceChildren(Object.assign(document.createElement("p"), { className: "muted", textContent: options.empty || "No finite eps here." }));
    return;
  }
  const xs = rows.map((r) => r.x), ys = rows.flatMap((r) => [r.up, finite(r.low) ? r.low : r.up]);
  if (current) { xs.push(current[0]); ys.push(current[1]); }
  let [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  if (x0 === x1) { x0 /= 2; x1 *= 2; }
  if (y1 / y0 < 4) { const middle = Math.sqrt(y0 * y1); y0 = middle / 2; y1 = middle * 2; }
  const px = (x) => LEFT + 8 + (WIDTH - LEFT - RIGHT - 16) * Math.log(x / x0) / Math.log(x1 / x0);
  const py = (y) => TOP + 6 + (height - TOP - BOTTOM - 12) * Math.log(y1 / y) / Math.log(y1 / y0);
  const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${height}`, "aria-hidden": "true", focusable: "false" });
  for (const y of ticks(y0, y1, 6)) {
    svg.append(node("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: py(y), y2: py(y) }));
    svg.append(node("text", { x: LEFT - 8, y: py(y) + 4, "text-anchor": "end" }, short(y)));
  }
  for (const x of ticks(x0, x1, 6)) {
    svg.append(node("line", { class: "grid", x1: px(x), x2: px(x), y1: TOP, y2: height - BOTTOM }));
    svg.append(node("text", { x: px(x), y: height - BOTTOM + 16, "text-anchor": "middle" }, short(x)));
  }
  svg.append(node("text", { x: WIDTH - RIGHT, y: height - 4, "text-anchor": "end" }, options.label));
  svg.append(node("text", { x: 2, y: TOP + 4 }, "eps"));
  const upper = rows.map((r) => [px(r.x), py(r.up)]);
  const known = rows.filter((r) => finite(r.low)), lower = known.map((r) => [px(r.x), py(r.low)]);
  if (lower.length > 1) {
    const back = [...lower].reverse().map(([x, y]) => `L${x.toFixed(1)} ${y.toFixed(1)}`).join("");
    const over = known.map((r, i) => `${i ? "L" : "M"}${px(r.x).toFixed(1)} ${py(r.up).toFixed(1)}`).join("");
    svg.append(node("path", { class: "band", d: `${over}${back}Z` }), node("path", { class: "lower", d: smooth(lower) }));
  }
  svg.append(node("path", { class: "upper", d: smooth(upper) }));
  if (options.dots) for (const [x, y] of upper) svg.append(node("circle", { class: "mark", cx: x, cy: y, r: 3 }));
  if (current) svg.append(node("circle", { class: "point", cx: px(current[0]), cy: py(current[1]), r: 5.5 }));
  const cross = node("line", { class: "cross", y1: TOP, y2: height - BOTTOM, visibility: "hidden" });
  svg.append(cross);
  place.replaceChildren(svg);
  reads(place, svg, rows, px, cross, options);
}

// The value under the pointer, or under the arrow keys.
function reads(place, svg, rows, px, cross, options) {
  let at = null;
  const show = (k) => {
    at = k;
    const row = rows[k];
    cross.setAttribute("x1", px(row.x));
    cross.setAttribute("x2", px(row.x));
    cross.setAttribute("visibility", "visible");
    const low = finite(row.low) ? `, at least ${safely(row.low, false)}` : "";
    options.reading.textContent = `${options.name} = ${short(row.x)}: eps at most ${safely(row.up, true)}${low}`;
  };
  const hide = () => { at = null; cross.setAttribute("visibility", "hidden"); options.reading.textContent = options.rest || ""; };
  const nearest = (event) => {
    const box = svg.getBoundingClientRect(), x = (event.clientX - box.left) * WIDTH / box.width;
    return rows.reduce((best, row, k) => Math.abs(px(row.x) - x) < Math.abs(px(rows[best].x) - x) ? k : best, 0);
  };
  options.reading.textContent = options.rest || "";
  svg.addEventListener("pointermove", (event) => show(nearest(event)));
  svg.addEventListener("pointerleave", hide);
  place.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { event.preventDefault(); show(Math.min(rows.length - 1, Math.max(0, at === null ? 0 : at + step))); }
    if (event.key === "Escape") hide();
  };
  place.onblur = hide;
}

// Where an eps lies between "very strong" and "hardly any"; every word has as much room as any other, and within its part
// of the rule eps is on a logarithmic scale.
export function scale(place, epsilon) {
  const ends = [0.001, 0.1, 1, 3, 10, 40], wide = 120;
  const words = ["very strong", "strong", "moderate", "weak", "hardly any"];
  const svg = node("svg", { viewBox: "0 -14 600 44" });
  words.forEach((word, k) => {
    svg.append(node("rect", { x: wide * k + 1, y: 0, width: wide - 2, height: 8, rx: 2, class: `zone z${k + 1}` }));
    svg.append(node("text", { x: wide * (k + 0.5), y: 24, "text-anchor": "middle", class: "zone-word" }, word));
  });
  if (epsilon !== null) {
    const eps = Math.min(40, Math.max(0.001, epsilon)), k = Math.min(4, ends.findLastIndex((end) => eps >= end));
    const x = wide * (k + Math.log(eps / ends[k]) / Math.log(ends[k + 1] / ends[k]));
    svg.append(node("path", { d: `M${x - 7} -12h14l-7 10z`, class: "needle" }));
  }
  place.replaceChildren(svg);
}

export function meter(share) {
  const box = document.createElement("div");
  box.className = "meter";
  const svg = node("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(node("rect", { class: "rail", width: 100, height: 10, rx: 3 }), node("rect", { width: Math.max(1, 100 * share), height: 10, rx: 3 }));
  box.append(svg);
  return box;
}
