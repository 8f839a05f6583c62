// What the answers look like: each function takes an answer of the API and puts it on the page.

import { curve, meter, safely, scale, short } from "/charts.js";

const $ = (id) => document.getElementById(id);

export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") made.textContent = value;
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

const number = (x) => (x === "inf" ? Infinity : x);
const users = (n) => (n === 1 ? "1 user" : `${n.toLocaleString("en")} users`);

// A number and its percent sign stay on one line.
const together = (text) => text.replaceAll(" %", "\u00a0%");

export function guarantee(found) {
  const infinite = found.epsilon === "inf";
  $("epsilon").textContent = infinite ? "no finite eps" : `ε ≤ ${found.shown.epsilon}`;
  const level = $("level");
  level.hidden = false;
  level.textContent = infinite ? "no guarantee" : `${found.risk.level} protection`;
  level.className = "level" + ({ weak: " warn", moderate: " warn", "hardly any": " bad" }[found.risk.level] || "");
  const one = found.rounds > 1 ? "one round of " : "";
  const missing = found.dropouts ? `, of whom ${found.dropouts.toLocaleString("en")} may drop out` : "";
  const least = found.shown.lower === null ? "" : ` No analysis can claim less than ${found.shown.lower}.`;
  $("terms").textContent = `at δ = ${found.shown.delta}, for ${one}${users(found.n)}${missing}.${infinite ? "" : least}`;
  scale($("scale"), number(found.epsilon));
  $("risk").textContent = together(`${found.risk.words} ${found.risk.local}`);
  $("paragraph").textContent = found.text;
  $("trust").textContent = found.trust;
  $("warnings").replaceChildren(...found.warnings.map((text) => el("li", { text })));
  $("python").textContent = found.code.python;
  $("shell").textContent = found.code.shell;
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

function table(caption, heads, rows) {
  return el("table", {}, el("caption", { text: caption }),
    el("thead", {}, el("tr", {}, ...heads.map(([text, kind]) => el("th", { scope: "col", class: kind || false, text })))),
    el("tbody", {}, ...rows));
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
  const rest = found.rounds > 1 ? `${found.rounds.toLocaleString("en")} rounds together: eps at most ${found.shown}` : "";
  curve($("rounds-chart"), { x: found.rows.map((r) => r.rounds), epsilon: found.rows.map((r) => r.epsilon) },
    { label: "rounds", name: "rounds", current: [found.rounds, found.epsilon], height: 230, reading: $("rounds-reading"), rest, dots: true });
  $("rounds-chart").setAttribute("aria-label", "eps of all rounds together: " + found.rows.map((r) => `${r.rounds}: ${r.shown}`).join(", "));
  const total = $("total");
  total.classList.remove("stale");
  total.hidden = found.rounds < 2;
  total.textContent = found.epsilon === "inf" ? "No finite eps covers all rounds together."
    : together(`All ${found.rounds.toLocaleString("en")} rounds together: ε ≤ ${found.shown}, ${found.level} protection; a guess is right at most ${found.guess} of the time.`);
}

const figures = (x) => (typeof x === "number" ? String(Number(x.toPrecision(3))) : x);

export function ranking(found, current, use, plan) {
  $("ranking-code").hidden = !found.choices.length;
  if (!found.choices.length) {
    $("ranking-note").textContent = found.error || found.why || "No mechanism meets the target.";
    $("ranking").replaceChildren();
    return;
  }
  $("ranking-python").textContent = found.python.trim();
  $("ranking-shell").textContent = found.command;
  const reached = found.typed ? "as typed" : "what the setting above reaches";
  $("ranking-note").textContent = `Calibrated to eps = ${found.target} (${reached}); smallest error first. Error: ${found.measure}.`;
  const worst = Math.max(...found.choices.map((c) => c.error)), least = Math.min(...found.choices.map((c) => c.error));
  const share = (x) => (worst / least > 1.001 ? 0.06 + 0.94 * Math.log(x / least) / Math.log(worst / least) : 1);
  const rows = found.choices.map((choice) => el("tr", { class: choice.mechanism === current.split(":")[0] ? "here" : false },
    el("td", {}, choice.variant ? `${choice.mechanism} (${choice.variant})` : choice.mechanism, " ",
      choice.on_front ? el("span", { class: "tag best", title: "no other one has both a smaller error and fewer bits", text: "best trade-off" }) : "",
      choice.mechanism === current.split(":")[0] ? el("span", { class: "tag", text: "yours" }) : "",
      el("small", { class: "spec", text: settings(choice.spec) })),
    el("td", { class: "num", text: figures(choice.error), title: choice.above_floor ? `${choice.above_floor.toFixed(2)} times the floor of one message` : false }),
    el("td", { class: "wide" }, meter(share(choice.error))),
    el("td", { class: "num", text: figures(choice.bits) }),
    el("td", { class: "num wide", text: figures(choice.messages) }),
    el("td", { class: "num wide", text: choice.local_epsilon === "inf" ? "none" : figures(choice.local_epsilon) }),
    el("td", { class: "num acts" }, ...(choice.usable ? [button(choice, use)] : []),
      el("a", { class: "use", href: plan(choice.place), download: "shuffledp-plan.json", "data-file": "plan.json", "aria-label": `Plan of ${choice.mechanism}`, text: "Plan" }))));
  const asides = found.references.map((r) => ({ name: `${r.model} model`, error: r.error, note: `${r.mechanism.split(":")[0]}: ${r.note}` }));
  if (found.floor) asides.unshift({ name: "floor of one message", error: found.floor.error, note: found.floor.words });
  const references = asides.map((r) => el("tr", { class: "aside" },
    el("td", {}, r.name, " ", el("span", { class: "tag", text: "for comparison" }), el("small", { text: r.note })),
    el("td", { class: "num", text: figures(r.error) }), el("td", { class: "wide" }), el("td"), el("td", { class: "wide" }), el("td", { class: "wide" }), el("td")));
  const heads = [["mechanism"], ["error", "num"], ["", "wide"], ["bits", "num"], ["messages", "num wide"], ["local eps", "num wide"], [""]];
  $("ranking").replaceChildren(table(found.refused ? `${found.refused} mechanisms do not fit or cannot meet the target.` : "", heads, [...rows, ...references]));
}

function button(choice, use) {
  const made = el("button", { type: "button", class: "use", "aria-label": `Use ${choice.mechanism}`, text: "Use" });
  made.addEventListener("click", () => use(choice.spec));
  return made;
}

// The parameters of a calibrated setting, long decimals in four figures.
function settings(spec) {
  return spec.slice(spec.indexOf(":") + 1).replaceAll(",", ", ").replace(/=(\d+\.\d{4,})/g, (_, x) => `=${Number(Number(x).toPrecision(4))}`);
}
