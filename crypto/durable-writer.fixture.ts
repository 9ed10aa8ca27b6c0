// A process that replaces one file again and again until it is killed. Its argument is the file. It prints each number once
// the file holds it.

import { replaceFile } from "./durable-file.ts";

const path = process.argv[2] ?? "";
for (let count = 1; ; count += 1) {
  await replaceFile(path, `{"count":${count},"filler":"${"x".repeat(50_000)}"}`);
  process.stdout.write(`${count}\n`);
}
