// The diamond merchant's catalogue, pushed by its system (path A) over HTTP like anyone else's.

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { runPush } from "../../client/push-run.ts";
import type { PushJournal, PushState } from "../../client/push-state.ts";
import type { Fetch } from "../../client/sender.ts";
import { createSvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import { readFileIfThere, replaceFile } from "../../crypto/durable-file.ts";
import type { Clock } from "../../crypto/port.ts";
import { canonicalBytes } from "../../protocol/canonical-json.ts";
import { stoneShop } from "./businesses.ts";
import { diamondProduct, parseStones } from "./diamonds.ts";
import type { SandboxKey } from "./sandbox-file.ts";

export interface CatalogueDeps {
  /** The node's home folder. */
  readonly home: string;
  readonly businessUrl: string;
  readonly clock: Clock;
  /** A fetch function that reaches `businessUrl`. */
  readonly fetch: Fetch;
}

/** The round trip is short: the service's own retry advice is meant for remote clients. */
const waitMsMax = 50;
const patienceMs = 30_000;

/** An accepted push is awaited for as long as it takes, so the caller aborts it when it is no longer needed. */
export async function pushCatalogue(
  deps: CatalogueDeps,
  pusher: SandboxKey,
  failed: AbortSignal,
): Promise<void> {
  const key = await parseSigningKey(pusher.private_jwk);
  if (!key.ok) throw new Error(`A sample key cannot be used: ${key.detail}`);
  const csv = await readFile(join(import.meta.dirname, "data", "diamonds-slice.csv"), "utf8");
  const records = parseStones(csv).map((stone, index) =>
    canonicalBytes(diamondProduct(stone, index, stoneShop)),
  );
  const client = createSvcClient({
    fetch: deps.fetch,
    key: key.value,
    grant: pusher.grant,
    baseUrl: null,
    businessUrl: deps.businessUrl,
    verifyUrl: null,
  });
  const folder = join(deps.home, "pushes");
  await mkdir(folder, { recursive: true });
  const { batches } = await runPush(
    {
      client,
      key: key.value,
      journal: fileJournal(join(folder, "sandbox-catalogue.json")),
      now: deps.clock.now,
      wait: (delayMs) => delay(Math.min(delayMs, waitMsMax), undefined, { signal: failed }),
      patienceMs,
      runId: "seed",
    },
    records,
  );
  const faulty = batches.find(
    ({ result }) => result?.state !== "complete" || !result.faults.every(({ errors }) => isOvertaken(errors)),
  );
  if (faulty !== undefined)
    throw new Error(`The sample catalogue was not published: ${JSON.stringify(faulty.result)}`);
}

/** Whether nothing else is wrong than that a push of another node, which fills the same sandbox, has published the record. */
export function isOvertaken(errors: readonly { readonly code: string }[]): boolean {
  return errors.every(({ code }) => code === "superseded");
}

function fileJournal(path: string): PushJournal {
  return {
    load: async () => {
      const text = await readFileIfThere(path);
      return text === null ? null : (JSON.parse(text) as PushState);
    },
    save: (state) => replaceFile(path, `${JSON.stringify(state)}\n`),
  };
}
