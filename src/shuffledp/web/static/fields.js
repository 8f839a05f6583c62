// Fields with a slider that follow each other.

import { $, bare, el } from "/page.js";

// Range, in logarithms unless linear; and what the two ends mean.
export const SLIDERS = {
  epsilon: { low: 0.01, high: 10, label: "Budget eps", ends: ["more private", "more accurate"] },
  eps0: { low: 0.05, high: 16, label: "Local budget eps0", ends: ["more private", "more accurate"] },
  d: { low: 2, high: 1e6, whole: true, label: "Options d", ends: ["few", "many"] },
  dim: { low: 2, high: 1e6, whole: true, label: "Dimensions", ends: ["few", "many"] },
  length: { low: 1, high: 64, whole: true, label: "Bytes of a string", ends: ["short", "long"] },
  messages: { low: 0.01, high: 1000, label: "Blanket messages", ends: ["more accurate", "more private"] },
  poisson_per_index: { low: 0.0001, high: 100, label: "Fabricated per index", ends: ["more accurate", "more private"] },
  sigma: { low: 0.05, high: 50, label: "Noise sigma", ends: ["more accurate", "more private"] },
  flip: { low: 0.001, high: 0.5, label: "Flip probability", ends: ["more accurate", "more private"] },
  d01: { low: 0.01, high: 10, label: "Distance d01", ends: ["more private", "more accurate"] },
  dmax: { low: 0.01, high: 100, label: "Distance dmax", ends: ["small domain", "large"] },
  size: { low: 1, high: 1000, whole: true, label: "Items of a user", ends: ["one", "many"] },
  s: { low: 1, high: 64, whole: true, label: "Items s", ends: ["few items", "many"] },
  n: { low: 10, high: 1e12, whole: true, label: "Users n", ends: ["small crowd", "more private"] },
  delta: { low: 1e-15, high: 1e-2, label: "Delta", ends: ["stricter", "laxer"] },
  rounds: { low: 1, high: 1000, whole: true, label: "Rounds", ends: ["asked once", "less private"] },
  dropouts: { low: 0, high: 90, linear: true, label: "Dropouts", unit: "%", ends: ["all take part", "less private"] },
  opt_in: { low: 1, high: 100, linear: true, label: "Users who opt in", unit: "%", ends: ["few", "all"] },
  weight: { low: 0.1, high: 10, label: "Weight", ends: ["less precise", "more precise"] },
};

function place_of(range, value) {
  if (range.linear) return Math.round(1000 * (value - range.low) / (range.high - range.low));
  return Math.round(1000 * Math.log(value / range.low) / Math.log(range.high / range.low));
}

function value_at(range, place) {
  const x = range.linear ? range.low + (range.high - range.low) * place / 1000 : range.low * (range.high / range.low) ** (place / 1000);
  if (range.linear) return String(Math.round(x));
  if (range.whole) return String(x < 100 ? Math.round(x) : Number(x.toPrecision(2)));
  return String(Number(x.toPrecision(x < 1e-4 ? 1 : 2)));
}

// values[key] is what is typed; changed() is called after every change.  Options: id, kind (of slider), label, hint, text.
export function field(values, key, changed, { id = key, kind = key, label, hint, text = false } = {}) {
  const range = text ? undefined : SLIDERS[kind];
  const words = label || (range ? range.label : kind);
  const box = el("div", { class: "field" });
  const small = hint && !range ? el("small", { text: hint }) : "";
  const typed = el("input", { type: "text", id, name: id, inputmode: text || kind === "delta" ? "text" : "decimal", spellcheck: "false", maxlength: text ? "60" : "40", "aria-describedby": "problem", class: text ? "words" : false });
  typed.value = values[key] ?? "";
  box.append(el("div", { class: "row" }, el("label", { for: id }, words, range && range.unit ? `, ${range.unit}` : "", small), typed));
  if (range) {
    const slider = el("input", { type: "range", id: `${id}-slider`, min: "0", max: "1000", step: "1", "aria-label": `${words}, slider` });
    slider.addEventListener("input", () => {
      values[key] = typed.value = value_at(range, Number(slider.value));
      slider.setAttribute("aria-valuetext", typed.value);
      changed(key);
    });
    slider.addEventListener("keydown", (event) => keys(event, slider));
    box.append(slider, el("div", { class: "ends", "aria-hidden": "true" }, el("span", { text: range.ends[0] }), el("span", { text: range.ends[1] })));
  }
  typed.addEventListener("input", () => { values[key] = typed.value; follow(id, kind, typed.value); changed(key); });
  if (range) follow(id, kind, typed.value, undefined, box);
  return box;
}

// A slider has a thousand places: arrow keys take steps that can be seen.
function keys(event, slider) {
  const step = { ArrowRight: 10, ArrowUp: 10, ArrowLeft: -10, ArrowDown: -10, PageUp: 100, PageDown: -100 }[event.key];
  if (!step) return;
  event.preventDefault();
  slider.value = String(Number(slider.value) + step);
  slider.dispatchEvent(new Event("input"));
}

// The slider follows what was typed, or a value that a rule gives.
export function follow(id, kind, typed, value = Number(bare(typed).replaceAll("_", "")), within = document) {
  const slider = within.querySelector(`#${CSS.escape(id)}-slider`), range = SLIDERS[kind];
  if (!slider || !Number.isFinite(value)) return;
  slider.value = String(place_of(range, Math.min(range.high, Math.max(range.low, value))));
  slider.setAttribute("aria-valuetext", typed);
}

// Put a value into a field from outside, unless somebody is typing there.
export function put(id, kind, value) {
  const typed = $(id);
  if (!typed || typed === document.activeElement) return;
  typed.value = value;
  follow(id, kind, value);
}
