// A page with the client: verifies the plan, asks its question, reports one randomized and sealed answer, and shows
// the collected answer once there is one.  settings.json beside it says {"service", "publishers", "name"},
// and perhaps {"programDigest"}.

import { BrowserStorage, Client, MemoryStorage } from "../../clients/js/src/index.js";

const CROWD = 200;
const element = (id) => document.getElementById(id);

function say(text, bad = false) {
  element("said").textContent = text;
  element("said").classList.toggle("bad", bad);
}

/** Runs what a button starts, with all buttons off, and says what it gives or why it was refused. */
async function run(work) {
  for (const button of document.querySelectorAll("button")) button.disabled = true;
  try {
    say(await work());
  } catch (error) {
    say(error.message, true);
  }
  for (const button of document.querySelectorAll("button")) button.disabled = false;
}

function terms({ guarantee, minimum, starts, length, period, program, digest }) {
  const over = new Date(1000 * (starts + (period + 1) * length)).toLocaleTimeString();
  const bytes = 62 + program.slots * (49 + program.message_bytes);
  return (
    `The plan is verified. Your browser randomizes the answer, seals it to the analyst and sends ${bytes} bytes. Answers of ` +
    `at least ${minimum.toLocaleString()} people are shuffled before the analyst gets them: epsilon ${guarantee.epsilon} at ` +
    `delta ${guarantee.delta.toExponential()}, and epsilon ${guarantee.local_epsilon} should the shuffler fail. ` +
    `You can answer once until ${over}. Everybody who is asked this sees the same digest; compare it with others: ${digest}.`
  );
}

function ask(labels) {
  for (const label of labels) {
    const line = document.createElement("label");
    const choice = Object.assign(document.createElement("input"), { type: "radio", name: "value", required: true });
    choice.value = String(label);
    line.append(choice, " ", String(label));
    element("options").append(line);
  }
  element("form").hidden = false;
}

/** Made-up people, each with a memory of its own: for trying it out, a crowd is needed. */
async function crowd(settings, labels) {
  for (let i = 0; i < CROWD; i += 10) {
    say(`${i} of ${CROWD} made-up answers are sent.`);
    await Promise.all(
      Array.from({ length: 10 }, () => {
        const value = labels[Math.floor(labels.length * Math.random() ** 2)]; // the first ones more often
        return new Client({ ...settings, storage: new MemoryStorage() }).report(settings.name, value);
      }),
    );
  }
  return `${CROWD} made-up answers were sent.`;
}

function row(label, share, low, high, largest) {
  const percent = (part) => `${(100 * Math.max(0, part)) / largest}%`;
  const [line, bar, value, range] = ["tr", "div", "i", "b"].map((name) => document.createElement(name));
  bar.className = "bar";
  value.style.width = percent(share);
  range.style.left = percent(low);
  range.style.width = `calc(${percent(high)} - ${percent(low)})`;
  bar.append(value, range);
  for (const [content, name] of [[String(label), ""], [bar, "wide"], [`${(100 * share).toFixed(1)} %`, ""]]) {
    const cell = Object.assign(document.createElement("td"), { className: name });
    cell.append(content);
    line.append(cell);
  }
  return line;
}

/** What `shuffledp collect --json` wrote to answer.json beside this page, once it is there and whole. */
async function shown() {
  const response = await fetch("answer.json", { cache: "no-store" });
  const found = response.ok && (await response.json().catch(() => undefined));
  if (!found) return false;
  const { items, value, low, high, users } = found;
  const largest = Math.max(...high);
  element("bars").replaceChildren(...items.map((item, i) => row(item, value[i], low[i], high[i], largest)));
  element("from").textContent = `Estimated from ${users.toLocaleString()} randomized answers; lines are 95 % intervals.`;
  element("answer").hidden = false;
  return true;
}

try {
  const settings = await (await fetch("settings.json", { cache: "no-store" })).json();
  const client = new Client({ ...settings, storage: new BrowserStorage() });
  const plan = await client.publication(settings.name);
  const { labels = [], column } = plan.plan.query;
  element("title").textContent = settings.name;
  element("question").textContent = column;
  element("terms").textContent = terms(plan);
  ask(labels);
  element("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = new FormData(event.target).get("value");
    run(async () => {
      const { status } = await client.report(settings.name, labels.find((label) => String(label) === chosen));
      return status === "sent" ? "Your answer was sent." : "Your answer of this period was sent before; it counts once.";
    });
  });
  element("crowd").addEventListener("click", () => run(() => crowd(settings, labels)));
  for (const { period } of await client.resend(settings.name)) say(`A kept answer of period ${period} was sent.`);
  while (!(await shown())) await new Promise((resolve) => setTimeout(resolve, 3000));
} catch (error) {
  say(error.message, true);
}
