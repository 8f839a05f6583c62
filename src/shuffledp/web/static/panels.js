// What the answers about one collection look like: each function takes an answer of the API and puts it on the page.

import { curve, meter, safely, scale, short } from "/charts.js";
import { $, el, level, number, table, together, users } from "/page.js";

// The total over all rounds.  It may be known before the rest: a ranking finds what spends the budget.
export function headline(total, budget) {
  const infinite = total.epsilon === "inf", eps = number(total.epsilon);
  $("epsilon-total").textContent = infinite ? "no finite eps" : `ε ≤ ${total.shown}`;
  level($("level"), total.level, infinite);
  const verdict = $("verdict");
  verdict.hidden = !(budget > 0);
  verdict.textContent = eps <= budget ? `within the budget of ${budget}` : `above the budget of ${budget}`;
  verdict.className = eps <= budget ? "level" : "level bad";
  scale($("scale"), eps);
  $("risk").textContent = together(total.words);
}

export function guarantee(found, budget) {
  const total = found.total, infinite = total.epsilon === "inf", several = found.rounds > 1;
  headline(total, budget);
  const missing = found.dropouts ? `, of whom ${found.dropouts.toLocaleString("en")} may drop out` : "";
  const least = several || infinite || found.shown.lower === null ? "" : ` No analysis can claim less than ${found.shown.lower}.`;
  const rounds = several ? `${found.rounds.toLocaleString("en")} rounds of ` : "";
  $("terms").textContent = `over ${several ? "all " : "one round of "}${rounds}${users(found.n)}${missing}, at δ = ${found.shown.delta}.${least}`;
  $("once").hidden = !several;
  const one = found.epsilon === "inf" ? "no finite eps" : `ε ≤ ${found.shown.epsilon}`;
  $("once").textContent = together(`One round alone: ${one}; a guess is right at most ${found.risk.guess} of the time.`);
  $("local").textContent = together(`${found.risk.local}${several && found.local_epsilon !== "inf" ? " (Of one round.)" : ""}`);
  $("paragraph").textContent = found.text;
  $("trust").textContent = found.trust;
  $("warnings").replaceChildren(...found.warnings.map((text) => el("li", { text })));
  $("python").textContent = found.code.python;
  $("shell").textContent = found.code.shell;
}

// What the plan means, for people who sign.
export function statement(found) {
  const part = (section) => [el("h3", { text: section.heading }),
    ...(section.listed ? [el("ul", {}, ...section.texts.map((text) => el("li", { text })))] : section.texts.map((text) => el("p", { text })))];
  $("statement").replaceChildren(el("p", { class: "signed", text: found.heading }), ...found.sections.flatMap(part));
}

// The error to expect, where a ranking says it of this very setting.
export function expected(choice, assumed) {
  $("expected").hidden = !choice;
  if (!choice) return;
  const said = choice.predicted.map((one) => `${one.item}: ${one.text}`).join("; ");
  $("expected").replaceChildren(el("strong", { text: "Error to expect: " }), together(said), assumed ? el("small", { text: `for ${assumed}` }) : "");
}

export function curves(over, data, at) {
  const name = over === "n" ? "n" : data.over;
  const label = over === "n" ? "users n" : label_of(name);
  if (over === "noise") $("curve-noise-caption").textContent = name === null ? "with the noise" : `with ${label}`;
  curve($(`curve-${over}`), data, {
    label, name: name || "", current: at, reading: $(`curve-${over}-reading`),
    empty: name === null ? "This mechanism is given by its law; nothing sets its noise." : "No finite eps here.",
  });
  const low = data.epsilon.find((x) => typeof x === "number"), high = data.epsilon.filter((x) => typeof x === "number").at(-1);
  if (low !== undefined) {
    $(`curve-${over}`).setAttribute("aria-label",
      `eps as a function of ${label}: ${safely(low, true)} at ${short(data.x[0])}, ${safely(high, true)} at ${short(data.x.at(-1))}; use the arrow keys to read it`);
  }
}

function label_of(name) {
  return { eps0: "the local budget eps0", messages: "blanket messages per user", sigma: "the noise sigma" }[name] || name || "";
}

// Why a panel shows nothing, rather than what it showed for another setting.
export function missing(place, problem) {
  const box = $(place), reading = $(`${place.replace("-chart", "")}-reading`);
  box.replaceChildren(el("p", { class: "muted", text: problem.error }));
  if (!reading) return;
  reading.textContent = "";
  box.onkeydown = box.onblur = null;
  box.setAttribute("aria-label", problem.error);
}

export function compare(found) {
  const top = Math.max(...found.rows.map((r) => number(r.epsilon)).filter(Number.isFinite), 1e-300);
  const least = Math.min(...found.rows.map((r) => number(r.epsilon)).filter((x) => Number.isFinite(x) && x > 0), top);
  const share = (x) => (top / least > 1.001 ? 0.06 + 0.94 * Math.log(Math.max(x, least) / least) / Math.log(top / least) : 1);
  const best = found.rows.find((r) => r.kind === "upper");
  const rows = found.rows.map((row) => el("tr", { class: row === best ? "here" : row.kind === "upper" ? false : "aside" },
    el("td", {}, row.bound, " ", el("span", { class: `tag${row.kind === "not a bound" ? " no" : row === best ? " best" : ""}`, text: row === best ? "used" : row.kind === "upper" ? "sound" : row.kind === "lower" ? "lower bound" : "not proved" }), el("small", { text: row.title })),
    el("td", { class: "wide" }, Number.isFinite(number(row.epsilon)) ? meter(Math.min(1, share(number(row.epsilon)))) : ""),
    el("td", { class: "num", text: row.shown })));
  $("bounds").replaceChildren(table("Smallest first, on a logarithmic scale.", [["bound"], ["", "wide"], ["eps", "num"]], rows));
  $("bounds-note").textContent = found.notes.join(" ");
  const absent = Object.entries(found.absent);
  $("absent-box").hidden = !absent.length;
  $("absent").replaceChildren(...absent.flatMap(([name, why]) => [el("dt", { text: name }), el("dd", { text: why })]));
}

export function dropouts(found) {
  const rows = found.rows.map((row) => el("tr", { class: row.dropouts === found.dropouts ? "here" : false },
    el("td", { text: `${Number((100 * row.dropouts).toPrecision(6))} % missing` }),
    el("td", { class: "num", text: row.shown === null ? "nobody left" : row.shown === "inf" ? "no finite eps" : row.shown })));
  $("dropouts-table").replaceChildren(table("eps of one round if so many drop out, at worst", [["users"], ["eps at most", "num"]], rows));
}

export function compose(found) {
  const rest = found.rounds > 1 ? `${found.rounds.toLocaleString("en")} rounds together: eps at most ${found.shown}${found.shown_lower === null ? "" : `, at least ${found.shown_lower}`}` : "";
  curve($("rounds-chart"), { x: found.rows.map((r) => r.rounds), epsilon: found.rows.map((r) => r.epsilon), lower: found.rows.map((r) => r.lower) },
    { label: "rounds", name: "rounds", current: [found.rounds, found.epsilon], height: 230, reading: $("rounds-reading"), rest, dots: true });
  $("rounds-chart").setAttribute("aria-label", "eps of all rounds together: " + found.rows.map((r) => `${r.rounds}: ${r.shown}`).join(", "));
}
