// The page: settings in, answers out.  Settings live in the address after "#", which is never sent anywhere; the last
// good answer stays until there is a better one.

import * as panels from "/panels.js";

const { el } = panels;
const $ = (id) => document.getElementById(id);

// Parameters with a slider: range, in logarithms unless linear; and what its two ends mean.
const SLIDERS = {
  eps0: { low: 0.05, high: 16, label: "Local budget eps0", ends: ["more private", "more accurate"] },
  d: { low: 2, high: 1e6, whole: true, label: "Options d", ends: ["few options", "many"] },
  dim: { low: 2, high: 1e6, whole: true, label: "Dimensions", ends: ["few", "many"] },
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
};
const CROWD = ["n", "delta", "rounds", "dropouts"];
const START = { task: "histogram", mechanism: "grr", target: "", n: "100000", delta: "1e-7", rounds: "1", dropouts: "0" };
const FILES = [["plan.json", "Plan of this setting"], ["report.html", "Review of the ranking"], ["certificate.json", "Certificate (proof)"], ["curves.csv", "Curves (CSV)"], ["bounds.csv", "Bounds (CSV)"]];

const RANKED = { "plan.json": true, "report.html": true };

let catalog = {}, tasks = {};
const state = { ...START };
let shown = null; // the last good guarantee
let later = 0;

// -- settings ----------------------------------------------------------------------------------------------------------

const clean = (text) => (/^\d{1,3}(,\d{3})+$/.test(text.trim()) ? text.trim().replaceAll(",", "") : text.trim());
const COUNTS = ["messages", "total_messages", "poisson"];

// The parameters of the mechanism that must be given, and those of the others that are.
function parameters() {
  const counted = COUNTS.slice(1).some((name) => state[name] !== undefined);
  return catalog[state.mechanism].parameters.filter((p) =>
    (p.needed && !(p.name === "messages" && counted && state.messages === undefined)) || (!p.needed && state[p.name] !== undefined));
}

// The sizes of the task that the mechanism does not have, so that no field stands twice.
function sizes() {
  const known = parameters().map((p) => p.name);
  return tasks[state.task].sizes.filter((size) => size.needed && !known.includes(size.name));
}

const spec = () => `${state.mechanism}:${parameters().map((p) => `${p.name}=${clean(state[p.name])}`).join(",")}`;

// A field in percent takes 5, 5% and 5 % alike, and says what it means.
const bare = (text) => clean(text).replace(/\s*%$/, "");
const percent = (text) => `${bare(text)}%`;

function question(more = {}) {
  const asked = { spec: spec(), n: clean(state.n), delta: clean(state.delta), dropouts: percent(state.dropouts), rounds: clean(state.rounds) };
  return new URLSearchParams({ ...asked, ...more }).toString();
}

// The same with the task, its sizes and the target.
function ranking_question(more = {}) {
  const asked = { task: state.task };
  for (const size of tasks[state.task].sizes) if (size.needed) asked[size.name] = clean(state[size.name]);
  if (clean(state.target)) asked.epsilon = clean(state.target);
  return question({ ...asked, ...more });
}

function fragment() {
  const kept = { task: state.task, mechanism: state.mechanism };
  for (const p of [...parameters(), ...sizes()]) kept[p.name] = clean(state[p.name]);
  for (const name of CROWD) kept[name] = clean(state[name]);
  if (state.target) kept.target = state.target;
  return `#${new URLSearchParams(kept)}`;
}

function forget() {
  for (const name of Object.keys(state)) delete state[name];
  Object.assign(state, START);
}

function read_fragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (![...given].length) return;
  forget();
  for (const [name, value] of given) if (value.length <= 60) state[name] = value;
  state.mechanism = state.mechanism.replace(/(optim|random)is/, "$1iz"); // links of before
  if (!Object.hasOwn(catalog, state.mechanism)) state.mechanism = START.mechanism;
  if (!Object.hasOwn(tasks, state.task)) state.task = START.task;
}

// -- fields ------------------------------------------------------------------------------------------------------------

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

function field(name, about = {}) {
  const range = SLIDERS[name];
  const label = range ? range.label : name;
  const box = el("div", { class: "field" });
  const hint = about.hint && !range ? el("small", { text: about.hint }) : "";
  const typed = el("input", { type: "text", id: name, name, inputmode: name === "delta" ? "text" : "decimal", spellcheck: "false", maxlength: "40", "aria-describedby": "problem" });
  typed.value = state[name];
  box.append(el("div", { class: "row" }, el("label", { for: name }, label, range && range.unit ? `, ${range.unit}` : "", hint), typed));
  if (range) {
    const slider = el("input", { type: "range", id: `${name}-slider`, min: "0", max: "1000", step: "1", "aria-label": `${label}, slider` });
    slider.addEventListener("input", () => {
      state[name] = typed.value = value_at(range, Number(slider.value));
      slider.setAttribute("aria-valuetext", typed.value);
      changed();
    });
    slider.addEventListener("keydown", (event) => keys(event, slider));
    box.append(slider, el("div", { class: "ends", "aria-hidden": "true" }, el("span", { text: range.ends[0] }), el("span", { text: range.ends[1] })));
  }
  typed.addEventListener("input", () => { state[name] = typed.value; follow(name); changed(); });
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

// The slider follows what was typed.
function follow(name, value = Number(bare(state[name]).replaceAll("_", ""))) {
  const slider = $(`${name}-slider`), range = SLIDERS[name];
  if (!slider || !Number.isFinite(value)) return;
  slider.value = String(place_of(range, Math.min(range.high, Math.max(range.low, value))));
  slider.setAttribute("aria-valuetext", state[name]);
}

function fields() {
  for (const p of [...parameters(), ...tasks[state.task].sizes]) if (p.needed || p.start !== null) state[p.name] ??= String(p.start);
  $("sizes").replaceChildren(...sizes().map((size) => field(size.name)));
  $("parameters").replaceChildren(...parameters().map((p) => field(p.name, p)));
  $("crowd").replaceChildren(...CROWD.map((name) => field(name)));
  mechanisms();
  $("task").value = state.task;
  $("target").value = state.target;
  $("mechanism-about").textContent = catalog[state.mechanism].title;
  $("task-about").textContent = tasks[state.task].title;
  for (const p of [...parameters(), ...sizes(), ...CROWD.map((name) => ({ name }))]) follow(p.name);
}

// -- asking ------------------------------------------------------------------------------------------------------------

// One request of a kind at a time: while one is under way, only the newest of the further ones is kept.  The older one is
// left after a moment, and the server stops its work.
const under_way = new Map();
const MOMENT = 250;

function ask(kind, path, then, failed = () => {}) {
  const waiting = under_way.get(kind);
  if (waiting) {
    waiting.next = [path, then, failed];
    setTimeout(() => waiting.left.abort(), MOMENT);
    return;
  }
  const turn = { next: null, left: new AbortController() };
  under_way.set(kind, turn);
  working();
  fetch(path, { headers: { accept: "application/json" }, signal: turn.left.signal })
    .then(async (response) => {
      const found = await response.json();
      if (turn.next) return;
      if (response.ok) then(found); else failed(found);
    })
    .catch(() => { if (!turn.next) failed({ error: "The server does not answer; is it still running?" }); })
    .finally(() => { under_way.delete(kind); if (turn.next) ask(kind, ...turn.next); working(); });
}

// Whether an answer is still to come, for those who cannot see it arrive.
function working() {
  document.querySelector("main").setAttribute("aria-busy", String(under_way.size > 0 || later !== 0));
}

function changed() {
  clearTimeout(later);
  later = 0;
  ask("guarantee", `/api/guarantee?${question()}`, answered, refused);
}

function answered(found) {
  shown = found;
  settle(null);
  panels.guarantee(found);
  for (const name of ["n", "delta"]) if (Number.isNaN(Number(clean(state[name]).replaceAll("_", "")))) follow(name, found[name]);
  $("total").hidden = $("total").hidden || found.rounds < 2;
  $("total").classList.add("stale");
  history.replaceState(null, "", fragment());
  files();
  drawn("n");
  drawn("noise");
  clearTimeout(later);
  later = setTimeout(slower, 200);
}

function refused(problem) {
  settle(problem);
}

function settle(problem) {
  for (const input of document.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
  const box = $("problem");
  box.hidden = !problem;
  $("answer").classList.toggle("stale", Boolean(problem));
  if (!problem) { box.replaceChildren(); return; }
  box.replaceChildren(problem.error, el("small", { text: "The answers shown are for the last setting that was valid." }));
  const guilty = problem.parameter && $(problem.parameter);
  if (guilty && guilty.matches("input, select")) guilty.setAttribute("aria-invalid", "true");
}

// A curve comes in parts: the first within a moment, the finer points after it.
function drawn(over) {
  const found_for = shown, values = { ...state };
  const path = `/api/curves?${question({ over, points: "17" })}`;
  ask(`curve-${over}`, path, (data) => {
    const at = over === "n" ? found_for.n : Number(clean(values[data.over] ?? ""));
    panels.curves(over, data, [at, found_for.epsilon]);
    if (!data.complete && shown === found_for) drawn(over);
  }, (problem) => panels.missing(`curve-${over}`, problem));
}

function slower() {
  later = 0;
  const now = question();
  ask("dropouts", `/api/dropouts?${now}`, panels.dropouts, (problem) => panels.missing("dropouts-table", problem));
  ask("compare", `/api/compare?${now}`, panels.compare, (problem) => panels.missing("bounds", problem));
  ask("compose", `/api/compose?${now}`, panels.compose, (problem) => { panels.missing("rounds-chart", problem); $("total").hidden = true; });
  $("ranking-section").classList.add("waiting");
  ask("rank", `/api/rank?${ranking_question()}`, (found) => ranked(found), (problem) => ranked({ ...problem, choices: [] }));
}

function ranked(found) {
  $("ranking-section").classList.remove("waiting");
  $("target").toggleAttribute("aria-invalid", found.parameter === "epsilon");
  const plan = (place) => `/api/download/plan.json?${ranking_question({ choice: String(place) })}`;
  panels.ranking(found, shown ? shown.spec : "", use, plan);
}

// Take a setting of the ranking over into the fields.
function use(text) {
  const [word, rest] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  pick(word);
  for (const part of rest.split(",")) state[part.slice(0, part.indexOf("="))] = part.slice(part.indexOf("=") + 1);
  fields();
  changed();
  $("answer").scrollIntoView({ block: "nearest" });
  say(`${word} taken over`);
}

// Another mechanism: values that both have stay, optional ones of the old do not.
function pick(name) {
  const needed = catalog[name].parameters.filter((p) => p.needed).map((p) => p.name);
  for (const p of catalog[state.mechanism].parameters) if (!needed.includes(p.name) && !tasks[state.task].sizes.some((size) => size.name === p.name)) delete state[p.name];
  for (const name of COUNTS) delete state[name];
  state.mechanism = name;
}

// -- files, links and lines to take away ---------------------------------------------------------------------------------

function files() {
  $("files").replaceChildren(...FILES.map(([name, text]) => el("li", {}, el("a", { href: `/api/download/${name}?${name in RANKED ? ranking_question() : question()}`, download: `shuffledp-${name}`, "data-file": name, text }))));
}

// A file that cannot be made says why on the page.
async function take(event) {
  const link = event.target.closest("a[data-file]");
  if (!link) return;
  event.preventDefault();
  say("Making the file …");
  const problem = $("file-problem");
  try {
    const response = await fetch(link.href);
    if (!response.ok) throw new Error((await response.json()).error);
    const address = URL.createObjectURL(await response.blob());
    const saved = el("a", { href: address, download: link.download });
    saved.click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    problem.hidden = true;
    say("Saved");
  } catch (error) {
    problem.hidden = false;
    problem.textContent = error.message;
    say("");
  }
}

let quiet = 0;
function say(text) {
  $("said").textContent = text;
  clearTimeout(quiet);
  if (text) quiet = setTimeout(() => { $("said").textContent = ""; }, 2500);
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = el("textarea", { readonly: true, class: "skip" });
    box.value = text;
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  say(`${what} copied`);
}

// -- beginning -----------------------------------------------------------------------------------------------------------

function menus() {
  $("task").replaceChildren(...Object.keys(tasks).map((name) => el("option", { value: name, text: name })));
  mechanisms();
}

// Those that fit the task come first.
function mechanisms() {
  const fits = (about) => about.serves.some((kind) => tasks[state.task].inputs.includes(kind));
  const option = ([name, about]) => el("option", { value: name, text: about.single_message ? name : `${name} (several messages)` });
  const rest = Object.entries(catalog).filter(([name]) => name !== "general");
  $("mechanism").replaceChildren(
    el("option", { value: "general", text: "any eps0-LDP randomizer, the same for all" }),
    el("optgroup", { label: `for ${state.task}` }, ...rest.filter(([, about]) => fits(about)).map(option)),
    el("optgroup", { label: "for other tasks" }, ...rest.filter(([, about]) => !fits(about)).map(option)));
  $("mechanism").value = state.mechanism;
}

async function begin() {
  try {
    [catalog, tasks] = await Promise.all(["mechanisms", "tasks"].map(async (list) => (await fetch(`/api/${list}`)).json()));
  } catch {
    settle({ error: "The server does not answer; is it still running?" });
    return;
  }
  read_fragment();
  menus();
  fields();
  $("mechanism").addEventListener("change", (event) => { pick(event.target.value); fields(); changed(); });
  $("task").addEventListener("change", (event) => { state.task = event.target.value; fields(); changed(); });
  $("target").addEventListener("input", (event) => { state.target = event.target.value; changed(); });
  $("reset").addEventListener("click", () => {
    forget();
    fields();
    changed();
  });
  $("copy-link").addEventListener("click", () => copy(location.href, "Link"));
  document.addEventListener("click", take);
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", () => copy($(button.dataset.copy).textContent, "Text"));
  }
  window.addEventListener("hashchange", () => { read_fragment(); fields(); changed(); });
  changed();
}

begin();
