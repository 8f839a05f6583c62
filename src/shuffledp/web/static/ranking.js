// The ranking of mechanisms for the task and the budget.

import { meter } from "/charts.js";
import { $, el, figures, table } from "/page.js";

// current: the spec of the setting; use(choice): take a row over; plan(place): the address of its plan.
export function ranking(found, current, use, plan) {
  $("ranking-code").hidden = !found.choices.length;
  if (!found.choices.length) {
    $("ranking-note").textContent = found.error || found.why || "No mechanism meets the budget.";
    $("ranking").replaceChildren();
    return;
  }
  $("ranking-python").textContent = found.python.trim();
  $("ranking-shell").textContent = found.command;
  const reached = found.typed ? "the budget" : "what the setting reaches";
  $("ranking-note").textContent = `Every mechanism calibrated to eps = ${found.target} (${reached}); smallest error first. Error: ${found.measure}.`;
  const worst = Math.max(...found.choices.map((c) => c.error)), least = Math.min(...found.choices.map((c) => c.error));
  const share = (x) => (worst / least > 1.001 ? 0.06 + 0.94 * Math.log(x / least) / Math.log(worst / least) : 1);
  const rows = found.choices.map((choice) => row(choice, choice.runs === current, share(choice.error), use, plan));
  const asides = found.references.map((r) => ({ name: `${r.model} model`, shown: r.shown, note: `${r.mechanism.split(":")[0]}: ${r.note}` }));
  if (found.floor) asides.unshift({ name: "floor of one message", shown: found.floor.shown, note: found.floor.words });
  const references = asides.map((r) => el("tr", { class: "aside" },
    el("td", {}, r.name, " ", el("span", { class: "tag", text: "for comparison" })),
    el("td", { class: "num", text: r.shown }), el("td", { class: "note", colspan: "5" }, el("small", { text: r.note }))));
  const heads = [["mechanism"], [found.unit ? `error, ${found.unit}` : "error", "num"], [""], ["bits", "num"], ["messages", "num"], ["local eps", "num"], [""]];
  $("ranking").replaceChildren(table(found.refused ? `${found.refused} mechanisms do not fit or cannot meet the budget.` : "", heads, [...rows, ...references]));
}

function row(choice, mine, share, use, plan) {
  const name = choice.variant ? `${choice.mechanism} (${choice.variant})` : choice.mechanism;
  const floor = choice.above_floor ? `${choice.above_floor.toFixed(2)} times the floor of one message` : false;
  return el("tr", { class: mine ? "here" : false },
    el("td", {}, name, " ",
      choice.on_front ? el("span", { class: "tag best", title: "no other one has both a smaller error and fewer bits", text: "best trade-off" }) : "",
      mine ? el("span", { class: "tag", text: "yours" }) : "",
      settings(choice.spec)),
    el("td", { class: "num", title: floor, text: choice.shown.error }),
    el("td", { class: "bar" }, meter(share)),
    el("td", { class: "num", text: figures(choice.bits) }),
    el("td", { class: "num", text: figures(choice.messages) }),
    el("td", { class: "num", text: choice.local_epsilon === "inf" ? "none" : choice.shown.local_epsilon }),
    el("td", { class: "num acts" }, ...(choice.usable ? [button(choice, use)] : []),
      el("a", { class: "use", href: plan(choice.place), download: "shuffledp-plan.json", "data-file": "plan.json", "aria-label": `Plan of ${name}`, text: "Plan" })));
}

function button(choice, use) {
  const made = el("button", { type: "button", class: "use", "aria-label": `Use ${choice.mechanism}`, text: "Use" });
  made.addEventListener("click", () => use(choice));
  return made;
}

// The parameters of a calibrated setting, long decimals in four figures; a line may end behind a long name.
export function settings(spec) {
  const text = spec.slice(spec.indexOf(":") + 1).replaceAll(",", ", ").replace(/=(\d+\.\d{4,})/g, (_, x) => `=${Number(Number(x).toPrecision(4))}`);
  return el("small", { class: "spec" }, ...text.split(/(?<=\w{12}=)/).flatMap((part, k) => (k ? [el("wbr"), part] : [part])));
}
