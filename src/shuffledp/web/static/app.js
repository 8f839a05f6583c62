// The page: settings in, answers out.  With "spend the whole budget", the ranking comes first and says what all users
// run; set by hand, the guarantee does.

import { ask, expect, GONE, later, leave, not_later, settled } from "/asking.js";
import * as collection from "/collection.js";
import { field, follow, put } from "/fields.js";
import * as mixed from "/mixed.js";
import { $, bare, clean, copy, el, say, take } from "/page.js";
import * as panels from "/panels.js";
import * as programme from "/programme.js";
import { ranking } from "/ranking.js";

const { state, lists } = collection;
const FILES = [["plan.json", "Plan of this setting"], ["report.html", "Review of the ranking"], ["statement.html", "Statement to sign"], ["certificate.json", "Certificate (proof)"], ["curves.csv", "Curves (CSV)"], ["bounds.csv", "Bounds (CSV)"]];
const RANKED = { "plan.json": () => planned(), "report.html": collection.ranking_question, "statement.html": () => planned() };
const BINS = { range: "Bins", quantile: "Bins", sets: "Items", "key-value": "Keys", location: "Cells of the map", marginals: "Options of a column" };
const SLOWER = ["dropouts", "compare", "compose", "mixed", "statement"];
const PHONE = matchMedia("(max-width: 40rem)");

let shown = null; // the last good guarantee
let ranked = null; // the last ranking
let planned = collection.plan_question; // the question for the plan of what is shown

// -- fields ------------------------------------------------------------------------------------------------------------

function label_of(size) {
  if (size.name === "d") return BINS[state.task];
  return { low: "Lowest value", high: "Highest value", unit: "Unit, such as s or min", norm: "Length of a vector, at most" }[size.name];
}

function fields() {
  collection.complete();
  const crowd = (name) => field(state, name, changed);
  $("crowd").replaceChildren(...collection.CROWD.map(crowd));
  $("sizes").replaceChildren(...collection.sizes().map((size) => field(state, size.key, changed, { kind: size.name, label: label_of(size), text: size.text })));
  own();
  $("task").value = state.task;
  $("task-about").textContent = lists.tasks[state.task].title.replaceAll("``", "");
}

// What all users run.
function own() {
  $("parameters").replaceChildren(...collection.own().map((p) => field(state, p.name, by_hand, { hint: p.hint })));
  mechanisms();
  $("spend").checked = collection.spends();
  $("mechanism-about").textContent = lists.mechanisms[state.mechanism].title;
}

// Only those that fit the task can be chosen, and the bound for any of them.
function mechanisms() {
  const option = ([name, about]) => el("option", { value: name, text: about.single_message ? name : `${name} (several messages)` });
  const fitting = Object.entries(lists.mechanisms).filter(([name, about]) => name !== "general" && (collection.fits(about) || name === state.mechanism));
  $("mechanism").replaceChildren(
    el("option", { value: "general", text: "any eps0-LDP randomizer, the same for all" }),
    el("optgroup", { label: `for ${state.task}` }, ...fitting.map(option)));
  $("mechanism").value = state.mechanism;
}

function by_hand() {
  Object.assign(state, { spend: "", picked: "yes" });
  $("spend").checked = false;
  changed();
}

// -- asking ------------------------------------------------------------------------------------------------------------

const budget = () => Number(bare(state.epsilon).replaceAll("_", ""));

function changed() {
  not_later(slower);
  if (collection.spends()) {
    leave("guarantee", "curve-n", "curve-noise", ...SLOWER);
    expect("guarantee", ...open_kinds());
    rank();
  } else {
    ask_guarantee();
  }
}

function rank() {
  ask("rank", `/api/rank?${collection.ranking_question()}`, (found) => rank_known(found), (problem) => rank_known({ ...problem, choices: [] }));
}

function rank_known(found) {
  ranked = found;
  $("epsilon").removeAttribute("aria-invalid");
  show_ranking();
  if (!collection.spends()) { expected(); return; }
  const usable = found.choices.filter((choice) => choice.usable);
  const mine = state.picked === "yes" ? usable.find((choice) => choice.runs.split(":")[0] === state.mechanism) : null;
  // unless somebody picked one: the smallest error with a guarantee that remains if the shuffler fails, and one message
  const local = usable.filter((one) => one.local_epsilon !== "inf");
  const choice = mine || local.find((one) => one.messages === 1) || local[0] || usable[0];
  if (!choice) { cannot_spend(found); return; }
  if (state.picked === "yes" && !mine) say(`${state.mechanism} does not meet the budget; ${choice.mechanism} does`);
  collection.adopt(choice.runs);
  if ($("parameters").dataset.of === state.mechanism) for (const p of collection.own()) put(p.name, p.name, state[p.name]);
  else own();
  $("parameters").dataset.of = state.mechanism;
  ask_guarantee();
}

// No mechanism meets the budget, or what meets it has several parts, which no spec of one line names.
function cannot_spend(found) {
  settled("guarantee", ...open_kinds());
  const best = found.choices[0];
  if (!best) { settle({ error: found.error || found.why, parameter: found.parameter }); return; }
  settle(null);
  panels.headline(best.total, budget());
  panels.expected(best, found.assumed);
  const parts = { error: `What this task runs has several parts (${best.spec}, and more): see its plan in the ranking.` };
  $("terms").textContent = parts.error;
  $("once").hidden = true;
  $("local").textContent = "";
  for (const place of ["curve-n", "curve-noise", "dropouts-table", "rounds-chart", "bounds"]) panels.missing(place, parts);
  planned = () => collection.ranking_question({ choice: "0" });
  files(Object.keys(RANKED));
  statement();
  history.replaceState(null, "", collection.fragment());
}

function ask_guarantee() {
  const path = Number(clean(state.rounds)) > 1 ? "total" : "guarantee";
  ask("guarantee", `/api/${path}?${collection.question()}`, answered, settle);
}

function answered(found) {
  if (!found.total) { ask("guarantee", `/api/total?${collection.question()}`, answered, settle); return; } // 1e1 rounds, say
  shown = found;
  settle(null);
  panels.guarantee(found, budget());
  expected();
  show_ranking();
  for (const name of ["n", "delta"]) if (Number.isNaN(Number(clean(state[name]).replaceAll("_", "")))) follow(name, name, state[name], found[name]);
  history.replaceState(null, "", collection.fragment());
  planned = collection.plan_question;
  files(FILES.map(([name]) => name));
  expect(...open_kinds());
  if ($("curves-section").open) { drawn("n"); drawn("noise"); }
  later(slower, 200);
}

function expected() {
  const choice = ranked && shown && ranked.choices.find((one) => one.runs === shown.spec && one.total.rounds === shown.rounds);
  panels.expected(choice || null, ranked && ranked.assumed);
}

function settle(problem) {
  for (const input of document.querySelectorAll("#controls [aria-invalid]")) input.removeAttribute("aria-invalid");
  const box = $("problem");
  box.hidden = !problem;
  $("answer").classList.toggle("stale", Boolean(problem));
  if (!problem) { box.replaceChildren(); return; }
  settled(...open_kinds());
  box.replaceChildren(problem.error, shown ? el("small", { text: "The answers shown are for the last setting that was valid." }) : "");
  const guilty = problem.parameter && ($(problem.parameter) || $(`of_${problem.parameter}`));
  if (guilty && guilty.matches("input, select")) guilty.setAttribute("aria-invalid", "true");
}

// -- sections, asked for while they are open -----------------------------------------------------------------------------

function open_kinds() {
  return [...document.querySelectorAll("#question details.section[open] [data-waits]")].flatMap((place) => place.dataset.waits.split(" ")).filter((kind) => kind !== "rank");
}

// A curve comes in parts: the first within a moment, the finer points after it.
function drawn(over) {
  const found_for = shown, values = { ...state };
  const path = `/api/curves?${collection.question({ over, points: "17" })}`;
  ask(`curve-${over}`, path, (data) => {
    const at = over === "n" ? found_for.n : Number(clean(values[data.over] ?? ""));
    panels.curves(over, data, [at, found_for.epsilon]);
    if (!data.complete && shown === found_for) drawn(over);
  }, (problem) => panels.missing(`curve-${over}`, problem));
}

function slower() {
  const now = collection.question();
  if ($("further-section").open) {
    ask("dropouts", `/api/dropouts?${now}`, panels.dropouts, (problem) => panels.missing("dropouts-table", problem));
    ask("compose", `/api/compose?${now}`, panels.compose, (problem) => panels.missing("rounds-chart", problem));
  }
  if ($("bounds-section").open) ask("compare", `/api/compare?${now}`, panels.compare, (problem) => panels.missing("bounds", problem));
  statement();
  mixed.mixed();
  if (!collection.spends()) rank();
}

function statement() {
  if ($("statement-section").open) ask("statement", `/api/statement?${planned()}`, panels.statement, (problem) => panels.missing("statement", problem));
}

function show_ranking() {
  if (!ranked) return;
  const plan = (place) => `/api/download/plan.json?${collection.ranking_question({ choice: String(place) })}`;
  ranking(ranked, shown ? shown.spec : "", use, plan);
}

// Take a setting of the ranking over into the fields.
function use(choice) {
  Object.assign(state, { spend: clean(state.epsilon) ? "yes" : "", picked: "yes" });
  collection.adopt(choice.runs);
  own();
  $("parameters").dataset.of = state.mechanism;
  ask_guarantee();
  $("answer").scrollIntoView({ block: "nearest" });
  say(`${choice.mechanism} taken over`);
}

function files(names) {
  $("files").replaceChildren(...FILES.filter(([name]) => names.includes(name)).map(([name, text]) => el("li", {}, el("a", { href: `/api/download/${name}?${(RANKED[name] || collection.question)()}`, download: `shuffledp-${name}`, "data-file": name, text }))));
}

// -- views ---------------------------------------------------------------------------------------------------------------

function view(name) {
  state.view = name;
  $("question").hidden = name !== "question";
  $("programme").hidden = name !== "programme";
  for (const link of document.querySelectorAll("[data-view]")) link.setAttribute("aria-current", String(link.dataset.view === name));
  if (name === "programme") programme.open();
  else if (shown) history.replaceState(null, "", collection.fragment());
  else changed();
}

function from_link() {
  if (programme.read_fragment()) { view("programme"); return; }
  collection.read_fragment();
  fields();
  $("parameters").dataset.of = state.mechanism;
  shown = null;
  view("question");
}

// -- beginning -----------------------------------------------------------------------------------------------------------

async function begin() {
  try {
    [lists.mechanisms, lists.tasks] = await Promise.all(["mechanisms", "tasks"].map(async (list) => (await fetch(`/api/${list}`)).json()));
  } catch {
    settle({ error: GONE });
    return;
  }
  if (PHONE.matches) for (const section of document.querySelectorAll("details.section")) section.open = false;
  $("task").replaceChildren(...Object.keys(lists.tasks).map((name) => el("option", { value: name, text: name })));
  $("mechanism").addEventListener("change", (event) => { collection.pick(event.target.value); state.picked = "yes"; if (event.target.value === "general") state.spend = ""; fields(); changed(); });
  $("task").addEventListener("change", (event) => {
    state.task = event.target.value;
    const fitting = Object.entries(lists.mechanisms).filter(([, about]) => collection.fits(about));
    if (!fitting.some(([name]) => name === state.mechanism) && state.mechanism !== "general" && fitting.length) { collection.pick(fitting[0][0]); state.picked = ""; }
    fields();
    changed();
  });
  $("spend").addEventListener("change", (event) => { Object.assign(state, { spend: event.target.checked ? "yes" : "", epsilon: clean(state.epsilon) || "1" }); fields(); changed(); });
  $("reset").addEventListener("click", () => {
    if (state.view === "programme") { programme.reset(); return; }
    collection.forget();
    fields();
    changed();
  });
  for (const section of document.querySelectorAll("#question details.section")) {
    section.addEventListener("toggle", () => { if (section.open && (shown || ranked)) { if (section.id === "statement-section") statement(); else if (!shown) return; else if (section.id === "curves-section") { drawn("n"); drawn("noise"); } else if (section.id !== "ranking-section") slower(); } });
  }
  for (const link of document.querySelectorAll("[data-view]")) link.addEventListener("click", () => view(link.dataset.view));
  $("copy-link").addEventListener("click", () => copy(location.href, "Link"));
  document.addEventListener("click", take);
  for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of document.querySelectorAll("[data-copy]")) button.addEventListener("click", () => copy($(button.dataset.copy).innerText, "Text"));
  window.addEventListener("hashchange", from_link);
  mixed.begin();
  programme.begin();
  from_link();
}

begin();
