// Writes the public test vectors to `vectors/`; the same bytes each time.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./process.ts";
import { makeSuite, suiteTexts } from "./vectors/suite.fixture.ts";

const folder = join(root, "vectors");
await mkdir(folder, { recursive: true });
for (const [path, text] of suiteTexts(await makeSuite())) await writeFile(join(folder, path), text);
