// The setting of the page: what is asked, of whom, for which budget, and what all users run.  It lives in the address
// after "#", which is never sent anywhere.

import { clean, percent } from "/page.js";

export const CROWD = ["epsilon", "n", "rounds", "delta", "dropouts"];
export const START = { view: "question", task: "histogram", mechanism: "grr", spend: "yes", picked: "", epsilon: "1", n: "100000", delta: "1e-7", rounds: "1", dropouts: "0" };
const COUNTS = ["messages", "total_messages", "poisson"];

export const state = { ...START };
export const lists = { mechanisms: {}, tasks: {} };

// The parameters of the mechanism that must be given, and those of the others that are.
export function parameters() {
  const counted = COUNTS.slice(1).some((name) => state[name] !== undefined);
  return lists.mechanisms[state.mechanism].parameters.filter((p) =>
    (p.needed && !(p.name === "messages" && counted && state.messages === undefined)) || (!p.needed && state[p.name] !== undefined));
}

// The sizes of the task.  Those that a mechanism has as well stand once; others, such as the columns of a table of which
// every mechanism sees one, have a name of their own.
export function sizes(name = state.task) {
  const task = lists.tasks[name];
  const known = task.sizes.filter((size) => size.needed || ["low", "high", "norm"].includes(size.name))
    .map((size) => ({ ...size, key: task.same.includes(size.name) ? size.name : `of_${size.name}` }));
  return task.unit ? [...known, { name: "unit", key: "unit", needed: false, start: "", text: true }] : known;
}

// The parameters of the mechanism that are not sizes of the task.
export function own() {
  const shown = sizes().map((size) => size.key);
  return parameters().filter((p) => !shown.includes(p.name));
}

export const fits = (about) => about.serves.some((kind) => lists.tasks[state.task].inputs.includes(kind));

// Values that are needed and not there yet.
export function complete() {
  for (const p of parameters()) if (p.needed || p.start !== null) state[p.name] ??= String(p.start);
  for (const size of sizes()) state[size.key] ??= String(size.start);
}

export const spec = () => `${state.mechanism}:${parameters().map((p) => `${p.name}=${clean(state[p.name])}`).join(",")}`;
export const spends = () => state.spend === "yes" && clean(state.epsilon) !== "";

function crowd() {
  return { n: clean(state.n), delta: clean(state.delta), dropouts: percent(state.dropouts), rounds: clean(state.rounds) };
}

export function question(more = {}) {
  return new URLSearchParams({ spec: spec(), ...crowd(), ...more }).toString();
}

// The task, its sizes and the budget; without a budget, that of the setting.
export function ranking_question(more = {}) {
  const asked = { task: state.task };
  for (const size of sizes()) if (clean(state[size.key])) asked[size.name] = clean(state[size.key]);
  if (clean(state.epsilon)) asked.epsilon = clean(state.epsilon); else asked.spec = spec();
  return new URLSearchParams({ ...crowd(), ...asked, ...more }).toString();
}

// A plan of the setting itself.
export function plan_question(more = {}) {
  const asked = Object.fromEntries(new URLSearchParams(ranking_question()));
  return new URLSearchParams({ ...asked, spec: spec(), ...more }).toString();
}

export function fragment() {
  const kept = { task: state.task, mechanism: state.mechanism };
  for (const p of parameters()) kept[p.name] = clean(state[p.name]);
  for (const size of sizes()) if (clean(state[size.key]) !== String(size.start) || size.needed) kept[size.key] = clean(state[size.key]);
  for (const name of CROWD) kept[name] = clean(state[name]);
  for (const name of ["spend", "picked"]) if (state[name] === "yes") kept[name] = "yes";
  return `#${new URLSearchParams(kept)}`;
}

export function forget() {
  for (const name of Object.keys(state)) delete state[name];
  Object.assign(state, START);
}

// A link says everything; one of before had no budget of its own, or called it the target.
export function read_fragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (![...given].length || given.get("view") === "programme") return;
  forget();
  Object.assign(state, { spend: "", picked: "", epsilon: given.get("target") ?? "" });
  for (const [name, value] of given) if (value.length <= 60 && name !== "target") state[name] = value;
  state.mechanism = state.mechanism.replace(/(optim|random)is/, "$1iz"); // links of before
  if (!Object.hasOwn(lists.mechanisms, state.mechanism)) state.mechanism = START.mechanism;
  if (!Object.hasOwn(lists.tasks, state.task)) state.task = START.task;
}

// Another mechanism: values that both have stay, optional ones of the old do not.
export function pick(name) {
  const needed = lists.mechanisms[name].parameters.filter((p) => p.needed).map((p) => p.name);
  const kept = sizes().map((size) => size.key);
  for (const p of lists.mechanisms[state.mechanism].parameters) if (!needed.includes(p.name) && !kept.includes(p.name)) delete state[p.name];
  for (const count of COUNTS) delete state[count];
  state.mechanism = name;
}

// A spec of a ranking, taken over.
export function adopt(text) {
  const [word, rest] = [text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1)];
  if (word !== state.mechanism) pick(word); else for (const count of COUNTS) delete state[count];
  for (const part of rest.split(",")) state[part.slice(0, part.indexOf("="))] = part.slice(part.indexOf("=") + 1);
}
