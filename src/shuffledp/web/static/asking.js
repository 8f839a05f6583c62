// Asking the server.  Of every kind of question one is under way at a time, and of those that come meanwhile only the
// newest is kept; the older one is left after a moment, and the server stops its work.  Whatever an answer will replace
// is marked at once: its old content disappears unless the answer is there within the blink of an eye (style.css).

import { $ } from "/page.js";

const under_way = new Map();
const MOMENT = 250;
const due = new Map();

export const GONE = "The server does not answer; is it still running?";

export function ask(kind, path, then, failed = () => {}) {
  const waiting = under_way.get(kind);
  if (waiting) {
    waiting.next = [path, then, failed];
    setTimeout(() => waiting.left.abort(), MOMENT);
    return;
  }
  const turn = { next: null, left: new AbortController() };
  under_way.set(kind, turn);
  expect(kind);
  fetch(path, { headers: { accept: "application/json" }, signal: turn.left.signal })
    .then(async (response) => {
      const found = await response.json();
      if (turn.next) return;
      settled(kind);
      if (response.ok) then(found); else failed(found);
    })
    .catch((error) => {
      if (turn.next) return;
      settled(kind);
      if (error instanceof TypeError || error.name === "AbortError") failed({ error: GONE }); else throw error;
    })
    .finally(() => { under_way.delete(kind); if (turn.next && turn.next.length) ask(kind, ...turn.next); working(); });
}

// What is under way is no longer wanted.
export function leave(...kinds) {
  for (const kind of kinds) {
    const waiting = under_way.get(kind);
    if (waiting) { waiting.next = []; waiting.left.abort(); }
  }
}

// An answer of this kind will come: what it replaces is out of date.
export function expect(...kinds) {
  for (const kind of kinds) for (const place of document.querySelectorAll(`[data-waits~="${kind}"]`)) place.classList.add("waiting");
  working();
}

export function settled(...kinds) {
  for (const kind of kinds) for (const place of document.querySelectorAll(`[data-waits~="${kind}"]`)) place.classList.remove("waiting");
  working();
}

// Questions that wait for a quieter moment.
export function later(what, milliseconds) {
  not_later(what);
  due.set(what, setTimeout(() => { due.delete(what); what(); working(); }, milliseconds));
  working();
}

export function not_later(what) {
  clearTimeout(due.get(what));
  due.delete(what);
}

// Whether an answer is still to come, for those who cannot see it arrive.
function working() {
  $("views").setAttribute("aria-busy", String(under_way.size > 0 || due.size > 0));
}
