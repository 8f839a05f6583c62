// Several questions against one budget.  Weights can be dragged: until the answer is there, the errors move by the
// leading order (all rounds together cost about the root of the sum of eps squared), marked as estimates.

import { meter } from "/charts.js";
import { ask, expect, later } from "/asking.js";
import { lists } from "/collection.js";
import { field } from "/fields.js";
import { $, clean, el, figures, level, percent, say, together, users } from "/page.js";
import { settings } from "/ranking.js";

const START = {
  crowd: { epsilon: "1", n: "2000000", opt_in: "60", dropouts: "5", delta: "0.01/n" },
  questions: [
    { name: "Screens", task: "histogram", d: "40", count: "13", weight: "1" },
    { name: "Latency", task: "quantile", d: "64", low: "0", high: "60", unit: "s", count: "3", weight: "1" },
    { name: "Session", task: "mean", low: "0", high: "120", unit: "min", count: "3", weight: "1" },
    { name: "Crashes by model", task: "histogram", d: "200", count: "13", weight: "1" },
  ],
};
const MOST = 12;
const SIZES = ["d", "dim", "size", "low", "high", "norm", "length", "unit"];
const LABELS = { d: "Options or bins", dim: "Dimensions", size: "Items of a user", low: "Lowest", high: "Highest", norm: "Length at most", length: "Bytes", unit: "Unit" };

let crowd = {}, questions = [];
let shown = null; // the last answer, and the questions that it is for

// -- what is asked -------------------------------------------------------------------------------------------------------

function wanted(question) {
  const task = lists.tasks[question.task];
  const known = task.sizes.map((size) => size.name);
  return SIZES.filter((name) => known.includes(name) || (name === "unit" && task.unit));
}

function asked(question) {
  const made = { task: question.task };
  for (const name of ["name", "column"]) if (clean(question[name] ?? "")) made[name] = clean(question[name]);
  const labels = (question.labels ?? "").split(",").map((word) => word.trim()).filter(Boolean);
  for (const name of wanted(question)) if (clean(question[name] ?? "") && !(name === "d" && labels.length)) made[name] = clean(question[name]);
  if (labels.length) made.labels = labels;
  if (clean(question.count ?? "")) made.count = clean(question.count);
  if (clean(question.error ?? "")) made.error = clean(question.error); else made.weight = clean(question.weight ?? "1");
  return made;
}

function query() {
  return new URLSearchParams({
    epsilon: clean(crowd.epsilon), n: clean(crowd.n), delta: clean(crowd.delta),
    opt_in: percent(crowd.opt_in), dropouts: percent(crowd.dropouts), questions: JSON.stringify(questions.map(asked)),
  }).toString();
}

function fragment() {
  return `#${new URLSearchParams({ view: "programme", ...crowd, questions: JSON.stringify(questions.map(asked)) })}`;
}

// Whether the address is that of a programme; what it says is taken over, as far as it makes sense.
export function read_fragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.get("view") !== "programme") return false;
  for (const name of Object.keys(START.crowd)) if ((given.get(name) ?? "").length <= 60) crowd[name] = given.get(name) ?? crowd[name];
  try {
    const found = JSON.parse(given.get("questions") ?? "[]");
    const plain = found.filter((one) => one && Object.hasOwn(lists.tasks, one.task)).slice(0, MOST);
    if (plain.length) questions = plain.map((one) => Object.fromEntries(Object.entries(one).map(([key, value]) => [key, Array.isArray(value) ? value.join(", ") : String(value).slice(0, 60)])));
  } catch { /* a link that was cut off: the questions that are there stay */ }
  fill();
  return true;
}

// -- fields --------------------------------------------------------------------------------------------------------------

function fill() {
  $("programme-crowd").replaceChildren(...Object.keys(START.crowd).map((name) => field(crowd, name, changed, { id: `programme-${name}`, kind: name })));
  $("questions").replaceChildren(...questions.map(card));
  $("add-question").disabled = questions.length >= MOST;
}

function card(question, k) {
  const again = () => { fill(); changed(); };
  const id = (name) => `q${k}-${name}`;
  const task = el("select", { id: id("task"), "aria-label": `Task of ${question.name || `question ${k + 1}`}` }, ...Object.keys(lists.tasks).map((name) => el("option", { value: name, text: name })));
  task.value = question.task;
  task.addEventListener("change", () => {
    question.task = task.value;
    for (const size of lists.tasks[task.value].sizes) if (size.needed) question[size.name] ??= String(size.start);
    again();
  });
  const small = (name, label, about = {}) => field(question, name, changed, { id: id(name), kind: `plain-${name}`, label, ...about });
  const name = el("input", { type: "text", class: "name", maxlength: "60", "aria-label": `Name of question ${k + 1}`, id: id("name") });
  name.value = question.name ?? "";
  name.addEventListener("input", () => { question.name = name.value; changed(); });
  const remove = el("button", { type: "button", class: "use", "aria-label": `Remove ${question.name || `question ${k + 1}`}`, text: "Remove", disabled: questions.length < 2 });
  remove.addEventListener("click", () => { questions.splice(k, 1); again(); });
  const sizes = wanted(question).map((size) => small(size, LABELS[size], { text: size === "unit" }));
  const weight = field(question, "weight", moved, { id: id("weight"), kind: "weight", label: "Weight" });
  weight.classList.add("weight");
  return el("li", { class: "card asked", "data-question": String(k) },
    el("div", { class: "asked-head" }, name, task, remove),
    el("div", { class: "asked-sizes" }, ...sizes, small("count", "How often")),
    question.error ? "" : weight,
    el("div", { class: "asked-answer", "data-waits": "programme" },
      el("p", { class: "asked-error", id: id("answer") }), el("div", { class: "asked-share", id: id("share") }), el("p", { class: "muted", id: id("about") })),
    el("details", { class: "more", open: Boolean(question.column || question.labels || question.error) }, el("summary", { text: "Column, labels, wanted error" }),
      small("column", "Column of the data", { text: true }),
      small("labels", "Labels, with commas (instead of a number of options)", { text: true }),
      small("error", "Wanted error (instead of a weight), such as 0.2 s or 100 users", { text: true })));
}

// -- answers -------------------------------------------------------------------------------------------------------------

function changed(key) {
  if (key === "error") { const open = document.activeElement.id; fill(); $(open)?.focus(); }
  expect("programme");
  later(ask_all, 250);
}

function moved() {
  estimate();
  changed();
}

function ask_all() {
  const now = questions.map(asked);
  ask("programme", `/api/programme?${query()}`, (found) => answered(found, now), refused);
}

function answered(found, now) {
  shown = { found, now };
  problem(null);
  $("programme-total").textContent = `ε ≤ ${found.shown.epsilon}`;
  level($("programme-level"), found.level);
  $("programme-verdict").hidden = false;
  $("programme-verdict").textContent = `within the budget of ${found.shown.target}`;
  const away = found.users - found.counted;
  $("programme-terms").textContent = `for all rounds of all questions to ${users(found.users)}${away ? `, of whom ${away.toLocaleString("en")} may drop out` : ""}, at δ = ${found.shown.delta}.${found.shown.lower === null ? "" : ` No analysis can claim less than ${found.shown.lower}.`}`;
  $("programme-risk").textContent = together(found.words);
  found.rounds.forEach((round, k) => {
    write(k, round.predicted.map((one) => [one.item, one.text]), shares(found.rounds.map((r) => [r.count, r.epsilon]))[k]);
    const local = round.local_epsilon === "inf" ? "nothing remains" : `eps0 = ${round.shown.local_epsilon} remains`;
    const about = $(`q${k}-about`);
    about.replaceChildren(`${round.mechanism.split(":")[0]}, one round ε ≤ ${round.shown.epsilon}; if the shuffler fails, ${local}.`, settings(round.mechanism), round.assumed ? el("small", { text: `Error for ${round.assumed}.` }) : "");
  });
  $("programme-yaml").textContent = found.yaml;
  $("programme-command").textContent = `${found.command}\nshuffledp check plans`;
  $("programme-statement").textContent = found.statement;
  $("programme-files").replaceChildren(...[["programme.yaml", "Programme (YAML)"], ["plans.zip", "Plans of all questions (ZIP)"], ["programme-statement.html", "Statement to sign"]].map(([name, text]) =>
    el("li", {}, el("a", { href: `/api/download/${name}?${query()}`, download: `shuffledp-${name}`, "data-file": name, "data-problem": "programme-file-problem", text }))));
  history.replaceState(null, "", fragment());
}

function refused(found) {
  shown = null;
  problem(found);
  $("programme-total").textContent = "no plan";
  for (const id of ["programme-level", "programme-verdict"]) $(id).hidden = true;
  for (const id of ["programme-terms", "programme-risk", "programme-yaml", "programme-command", "programme-statement"]) $(id).textContent = "";
  $("programme-files").replaceChildren();
  questions.forEach((_, k) => { for (const part of ["answer", "share", "about"]) $(`q${k}-${part}`)?.replaceChildren(); });
}

function problem(found) {
  for (const card of document.querySelectorAll(".asked.guilty")) card.classList.remove("guilty");
  const box = $("programme-problem");
  box.hidden = !found;
  if (!found) return;
  // places in the list are for files; people read names
  const place = /(?:questions|rounds)\[(\d+)\]/.exec(found.error);
  const name = place && (questions[place[1]]?.name || `question ${Number(place[1]) + 1}`);
  box.textContent = place ? found.error.replaceAll(place[0], name) : found.error;
  if (place) document.querySelector(`.asked[data-question="${place[1]}"]`)?.classList.add("guilty");
}

function write(k, errors, share, estimated = false) {
  const place = $(`q${k}-answer`);
  place.parentElement.classList.toggle("estimated", estimated);
  place.replaceChildren(...errors.map(([item, text]) => el("span", { class: "one" }, el("b", { text: estimated ? `≈ ${text}` : text }), ` ${item}`)));
  $(`q${k}-share`).replaceChildren(meter(share), el("span", { text: together(`${Math.round(100 * share)} % of the budget`) }));
}

// What part of the sum of squares every question has: about what it takes of the budget.
function shares(parts) {
  const squares = parts.map(([count, eps]) => count * eps * eps);
  const all = squares.reduce((a, b) => a + b, 0);
  return squares.map((square) => (all > 0 ? square / all : 0));
}

// Weights were dragged: the sum of count times eps squared stays about what it was, and errors are about as 1/eps.
function estimate() {
  if (!shown || JSON.stringify(shown.now.map((q) => ({ ...q, weight: 0 }))) !== JSON.stringify(questions.map((q) => ({ ...asked(q), weight: 0 })))) return;
  const weights = questions.map((q) => Number(clean(q.weight ?? "1")));
  const rounds = shown.found.rounds;
  if (!weights.every((w) => w > 0) || rounds.some((round) => round.wanted !== null)) return;
  const before = rounds.reduce((sum, r) => sum + r.count * r.epsilon ** 2, 0);
  const scale = Math.sqrt(before / rounds.reduce((sum, r, k) => sum + r.count * weights[k] ** 2, 0));
  const now = shares(rounds.map((r, k) => [r.count, weights[k]]));
  rounds.forEach((round, k) => {
    const ratio = round.epsilon / (scale * weights[k]);
    write(k, round.predicted.map((one) => [one.item, `${figures(one.error * ratio)}${one.unit ? ` ${one.unit}` : ""}`]), now[k], true);
  });
}

// -- beginning -----------------------------------------------------------------------------------------------------------

export function reset() {
  crowd = { ...START.crowd };
  questions = START.questions.map((one) => ({ ...one }));
  fill();
  changed();
}

export function open() {
  if (!shown) changed();
  else history.replaceState(null, "", fragment());
}

export function begin() {
  crowd = { ...START.crowd };
  questions = START.questions.map((one) => ({ ...one }));
  fill();
  $("add-question").addEventListener("click", () => {
    questions.push({ name: `Question ${questions.length + 1}`, task: "histogram", d: "16", count: "1", weight: "1" });
    fill();
    changed();
    $(`q${questions.length - 1}-name`).focus();
    say("Question added");
  });
}
