// What every part of the page needs: elements, words for numbers, copying, and files that say why they cannot be made.

export const $ = (id) => document.getElementById(id);

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

export const number = (x) => (x === "inf" ? Infinity : x);
export const users = (n) => (n === 1 ? "1 user" : `${n.toLocaleString("en")} users`);
export const figures = (x) => (typeof x === "number" ? String(Number(x.toPrecision(3))) : x);
export const times = (count) => (count === 1 ? "once" : `${count.toLocaleString("en")} times`);

// A number and its percent sign stay on one line.
export const together = (text) => text.replaceAll(" %", "\u00a0%");

// Commas between thousands are understood; a field in percent takes 5, 5% and 5 % alike, and says what it means.
export const clean = (text) => (/^\d{1,3}(,\d{3})+$/.test(text.trim()) ? text.trim().replaceAll(",", "") : text.trim());
export const bare = (text) => clean(text).replace(/\s*%$/, "");
export const percent = (text) => `${bare(text)}%`;

export function level(place, word, infinite = false) {
  place.hidden = false;
  place.textContent = infinite ? "no guarantee" : `${word} protection`;
  place.className = "level" + ({ weak: " warn", moderate: " warn", "hardly any": " bad" }[word] || "");
}

// Columns are named in every cell, for screens on which a row is a card.
export function table(caption, heads, rows) {
  for (const row of rows) [...row.cells].forEach((cell, k) => { if (heads[k][0]) cell.dataset.label = heads[k][0]; });
  return el("table", {}, el("caption", { text: caption }),
    el("thead", {}, el("tr", {}, ...heads.map(([text, kind]) => el("th", { scope: "col", class: kind || false, text })))),
    el("tbody", {}, ...rows));
}

let quiet = 0;
export function say(text) {
  $("said").textContent = text;
  clearTimeout(quiet);
  if (text) quiet = setTimeout(() => { $("said").textContent = ""; }, 2500);
}

export async function copy(text, what) {
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

// A file that cannot be made says why, in the place that its link names.
export async function take(event) {
  const link = event.target.closest("a[data-file]");
  if (!link) return;
  event.preventDefault();
  say("Making the file …");
  const problem = $(link.dataset.problem || "file-problem");
  try {
    const response = await fetch(link.href);
    if (!response.ok) throw new Error((await response.json()).error);
    const address = URL.createObjectURL(await response.blob());
    el("a", { href: address, download: link.download }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    problem.hidden = true;
    say("Saved");
  } catch (error) {
    problem.hidden = false;
    problem.textContent = error.message;
    say("");
  }
}
