// `npm run entered`: how many files and functions of a node one request enters, of a sandbox that has answered such requests before.
// A reader of that request's story opens so many files. What the node does beside it in the same moment is counted as well.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fetchPlan, newSearches, productId } from "../bench/catalogue.ts";
import { Child } from "../bench/child.ts";
import { companyOf, merchantOf } from "../bench/parties.ts";
import { preparePush, productRanges, publish } from "../bench/publishing.ts";
import { ask } from "../bench/requests.ts";
import { parseOptions, runTool } from "./command-line.ts";
import type { Entered } from "./entered/coverage.ts";

declare module "../bench/child.ts" {
  interface Modules {
    readonly "../tools/entered/coverage.ts": typeof import("./entered/coverage.ts");
  }
}

const help = `npm run entered -- [options]
  --files NAME   print the files as well that NAME enters: a push, a search or a fetch`;

const coverage = "../tools/entered/coverage.ts";
const warmingTimes = 5;
/** A file that is entered for no more functions is opened for little. */
const fewFunctions = 3;

async function run(args: readonly string[]): Promise<void> {
  const { files } = parseOptions(args, { files: { type: "string" } });
  const folder = await mkdtemp(join(tmpdir(), "svc-entered-"));
  try {
    await using child = new Child();
    for (const [name, request] of Object.entries(await requestsOf(child, join(folder, "node")))) {
      await child.call(coverage, "begin");
      for (let time = 0; time < warmingTimes; time += 1) await request();
      await child.call(coverage, "take");
      await request();
      const entered = await child.call(coverage, "take");
      await child.call(coverage, "close");
      console.log(`${name}: ${textOf(entered)}`);
      if (files === name)
        for (const [path, count] of Object.entries(entered)) console.log(`  ${path} ${count}`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Each sends one request and waits for all that follows from it. */
async function requestsOf(child: Child, home: string) {
  const sandbox = await child.call("serve.ts", "open", home);
  const { base_url: baseUrl, business_url: businessUrl } = sandbox;
  const [merchant, company] = [merchantOf(sandbox), companyOf(sandbox)];
  const nextProduct = productRanges(0);
  const nextSearch = newSearches();
  const push = async () =>
    publish({ child, businessUrl }, await preparePush(businessUrl, merchant, nextProduct(1)));
  await push();
  const [recordId = ""] = await child.call("serve.ts", "recordIds", merchant.uuid, [productId(0)]);
  return {
    push,
    search: async () => {
      for (const plan of nextSearch(1)) await ask(baseUrl, company, plan);
    },
    fetch: () => ask(baseUrl, company, fetchPlan(recordId)),
  };
}

function textOf(entered: Entered): string {
  const counts = Object.values(entered);
  const functions = counts.reduce((sum, each) => sum + each, 0);
  const little = counts.filter((each) => each <= fewFunctions).length;
  const folders = Object.entries(Object.groupBy(Object.keys(entered), (path) => path.split("/")[0] ?? ""))
    .map(([folder, paths = []]) => [folder, paths.length] as const)
    .sort(([, a], [, b]) => b - a);
  const rooms = folders.map(([folder, count]) => `${folder} ${count}`).join(", ");
  return `${counts.length} files, ${functions} functions, ${little} files for at most ${fewFunctions} of them (${rooms})`;
}

await runTool({ help, run });
