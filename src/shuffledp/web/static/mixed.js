// Users with budgets of their own: a table that is typed, and what holds for every row.

import { ask, leave, settled } from "/asking.js";
import { question } from "/collection.js";
import { $, clean, el, say, table } from "/page.js";

const rows = [{ users: "60000", budget: "1" }, { users: "40000", budget: "3" }];

export function fill() {
  $("mixed-rows").replaceChildren(...rows.map((row, k) => el("tr", {},
    el("td", {}, input(row, "users", `Users of class ${k + 1}`)),
    el("td", {}, input(row, "budget", `Local budget of class ${k + 1}`)),
    el("td", { class: "num" }, remove(k)))));
}

function input(row, key, name) {
  const made = el("input", { type: "text", inputmode: "decimal", maxlength: "20", "aria-label": name, "data-mixed": key });
  made.value = row[key];
  made.addEventListener("input", () => { row[key] = made.value; mixed(); });
  return made;
}

function remove(k) {
  const made = el("button", { type: "button", class: "use", "aria-label": `Remove class ${k + 1}`, text: "Remove", disabled: rows.length < 2 });
  made.addEventListener("click", () => { rows.splice(k, 1); fill(); mixed(); });
  return made;
}

export function begin() {
  fill();
  $("mixed-add").addEventListener("click", () => { rows.push({ users: "10000", budget: "2" }); fill(); mixed(); });
  $("mixed-paste").addEventListener("click", async () => {
    const read = await navigator.clipboard.readText().catch(() => "");
    const found = read.split("\n").map((line) => line.trim().split(/[\t;]|\s+at\s+|\s{2,}|,(?=\s)|\s/).map((x) => x.trim())).filter((row) => row.length === 2 && row.every((x) => Number.isFinite(Number(clean(x))) && x));
    if (!found.length) { say("Copy two columns first: users and their budget"); return; }
    rows.splice(0, rows.length, ...found.slice(0, 20).map(([users, budget]) => ({ users: clean(users), budget: clean(budget) })));
    fill();
    mixed();
  });
}

// Asked only while the section is open.
export function mixed() {
  if (!$("mixed-section").open) { leave("mixed"); settled("mixed"); return; }
  const budgets = rows.map((row) => `${clean(row.users)} at ${clean(row.budget)}`).join(", ");
  ask("mixed", `/api/mixed?${question({ budgets })}`, shown, (problem) => {
    $("mixed-note").textContent = problem.error;
    $("mixed-table").replaceChildren();
    $("mixed-python").textContent = "";
  });
}

function shown(found) {
  $("mixed-note").textContent = `Everybody: ε ≤ ${found.shown} in one round of ${found.n.toLocaleString("en")} users. Budgets are public and must not depend on what they protect.`;
  const made = found.rows.map((row) => el("tr", {},
    el("td", { text: row.users.toLocaleString("en") }),
    el("td", { class: "num", text: row.shown.local_epsilon }),
    el("td", { class: "num", text: row.shown.epsilon }),
    el("td", { text: row.level })));
  $("mixed-table").replaceChildren(table("What holds for each", [["users"], ["local budget", "num"], ["eps at most", "num"], ["protection"]], made));
  $("mixed-python").textContent = found.python;
}
