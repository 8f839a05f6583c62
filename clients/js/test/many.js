// As many clients as there are values, each with a memory of its own; settings come from standard input as JSON.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { FileStorage } from "../src/file.js";
import { Client, MemoryStorage } from "../src/index.js";

const { values, name, folder, resend = false, ...settings } = JSON.parse(readFileSync(0, "utf8"));

async function run(value, i) {
  const storage = folder ? new FileStorage(join(folder, String(i))) : new MemoryStorage();
  const client = new Client({ ...settings, storage });
  try {
    return resend ? { results: await client.resend(name) } : await client.report(name, value);
  } catch (error) {
    return { status: "refused", code: error.code, message: error.message };
  }
}

const found = [];
for (let i = 0; i < values.length; i += 20) found.push(...(await Promise.all(values.slice(i, i + 20).map((value, j) => run(value, i + j)))));
console.log(JSON.stringify(found));
