// A process that bundles the script of pages: it takes the file of the script as its argument, and writes what a browser runs.

import { build } from "rolldown";
import { pureFunctions } from "./pure-functions.ts";

const [input = ""] = process.argv.slice(2);
const built = await build({
  input,
  write: false,
  platform: "browser",
  output: { format: "esm", minify: true },
  resolve: { extensions: [".ts", ".js"] },
  treeshake: { manualPureFunctions: [...pureFunctions] },
});
process.stdout.write(built.output[0].code);
