// A production service's keys, made by the ceremonies in a folder of their own. For tests.

import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import {
  certifyRequests,
  createPair,
  createRecordId,
  createWorking,
  writeAnchors,
  writeKeySet,
} from "./ceremonies.ts";
import { anchorsFile, keySetFile } from "./trusted-files.ts";

export const dayMs = 86_400_000;
export const testPasskeys = { rp_ids: ["portal.svc.test"], origins: ["https://portal.svc.test"] };

export interface ProductionKeys {
  readonly folder: string;
  /** Folder of a node's keys (SVC_KEYS). */
  readonly node: string;
  readonly path: (name: string) => string;
}

/** As an operator makes them: a root, an issuance pair, the working keys of a region, the first set. */
export async function makeProductionKeys(
  folder: string,
  given: {
    readonly region: string;
    readonly nowMs: number;
    readonly environment?: "production" | "sandbox";
    readonly validFromMs?: number;
    readonly lifeMs?: number;
  },
): Promise<ProductionKeys> {
  const { region, nowMs, environment = "production" } = given;
  await mkdir(folder, { recursive: true });
  const path = (name: string): string => join(folder, name);
  const out = (name: string) => ({ path: path(name), replace: false });
  const longWindow = windowOf(nowMs, 3_650 * dayMs);
  const window = windowOf(given.validFromMs ?? nowMs, given.lifeMs ?? 365 * dayMs);
  const node = path("node");
  await createPair({ use: "root", keys: path("root"), public: out("root.json"), window: longWindow });
  await createPair({
    use: "issuance",
    keys: path("issuance"),
    public: out("issuance.json"),
    window: longWindow,
  });
  for (const use of ["root", "issuance"]) {
    await certifyRequests({
      ...{ root: path("root"), requests: path(`${use}.json`), environment, until: null, nowMs },
      out: out(`${use}-certificates.json`),
    });
  }
  await createWorking({ role: "serving", region, keys: node, public: out("working.json"), window, nowMs });
  await createRecordId(node);
  await writeAnchors({
    ...{ roots: [path("root.json")], environment, passkeys: testPasskeys },
    ...{ logOrigin: "svc.test/log", out: out(anchorsFile) },
  });
  await writeKeySet({
    ...{ issuance: path("issuance"), anchors: path(anchorsFile), environment, previous: null },
    requests: [path("working.json")],
    certificates: [path("root-certificates.json"), path("issuance-certificates.json")],
    ...{ ends: new Map(), compromised: new Map(), out: out(keySetFile), nowMs },
  });
  for (const file of [anchorsFile, keySetFile]) await copyFile(path(file), join(node, file));
  return { folder, node, path };
}

export function windowOf(fromMs: number, lifeMs: number) {
  return { valid_from: formatTimestamp(fromMs), valid_until: formatTimestamp(fromMs + lifeMs) };
}
