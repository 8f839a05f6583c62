// Runs laws on the cases of standard input, for comparison with the interpreter in Python.

import { readFileSync } from "node:fs";

import { fromHex, toHex } from "../src/bytes.js";
import { drawRows } from "../src/law.js";

const { portables, cases } = JSON.parse(readFileSync(0, "utf8"));
const found = cases.map(([name, rows, random]) => {
  const bytes = fromHex(random);
  let used = 0;
  const report = drawRows(portables[name], rows, (count) => bytes.slice(used, (used += count)));
  return [report.map(toHex), used];
});
console.log(JSON.stringify(found));
