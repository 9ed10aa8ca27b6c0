// The public test vectors: every file of `vectors/`, the same bytes each time.

import { createHash } from "node:crypto";
import { adCases, poolCases, poolEvidenceCases } from "./ad-cases.fixture.ts";
import { fetchCases, searchCases } from "./answer-cases.fixture.ts";
import type { TrustFile, VectorCase, VectorFile } from "./case.ts";
import { certificateCases, historyCases } from "./certificate-cases.fixture.ts";
import { entitlementCases } from "./entitlement-cases.fixture.ts";
import { evidenceCases } from "./evidence-cases.fixture.ts";
import { anchorCases, keySetCases } from "./key-set-cases.fixture.ts";
import { logCases } from "./log-cases.fixture.ts";
import { priceCases } from "./price-cases.fixture.ts";
import { proofCases } from "./proof-cases.fixture.ts";
import {
  businessKeysCases,
  custodyCases,
  custodyRequestCases,
  decisionCases,
  mandateCases,
  possessionCases,
} from "./register-cases.fixture.ts";
import { receiptCases, sidecarCases } from "./retrieval-cases.fixture.ts";
import { policyBitsCases, projectionCases, rowCases } from "./row-cases.fixture.ts";
import { sealCases } from "./seal-cases.fixture.ts";
import { signatureCases } from "./signature-cases.fixture.ts";
import { directoryCases, pageCases, statementCases } from "./statement-cases.fixture.ts";
import { makeWorld } from "./world.fixture.ts";

/** Where the anchors and key sets are. */
export const trustPath = "trust.json";

export interface Suite {
  readonly trust: TrustFile;
  /** By file name. */
  readonly files: ReadonlyMap<string, VectorFile>;
}

export async function makeSuite(): Promise<Suite> {
  const world = makeWorld();
  const cases: Readonly<Record<string, readonly VectorCase[]>> = {
    anchors: anchorCases(world),
    "key-set": keySetCases(world),
    signature: signatureCases(),
    certificate: [...certificateCases(world), ...historyCases(world)],
    "business-keys": businessKeysCases(world),
    "key-custody": custodyCases(world),
    mandate: mandateCases(world),
    "hold-decision": decisionCases(world),
    "custody-request": custodyRequestCases(world),
    "key-possession": possessionCases(world),
    seal: sealCases(world),
    sidecar: sidecarCases(world),
    receipt: receiptCases(world),
    row: rowCases(world),
    projection: projectionCases(world),
    "ai-policy-bits": policyBitsCases(world),
    "verify-statement": statementCases(world),
    "verify-page": pageCases(world),
    "key-directory": directoryCases(world),
    entitlement: entitlementCases(world),
    log: logCases(world),
    "fetch-answer": fetchCases(world),
    "search-answer": searchCases(world),
    "ad-item": await adCases(world),
    "pool-answer": await poolCases(world),
    evidence: [
      ...evidenceCases(world),
      ...(await poolEvidenceCases(world)),
      ...proofCases(world),
      ...priceCases(world),
    ],
  };
  const files = Object.entries(cases).map(([name, each]) => [`${name}.json`, { v: 1, cases: each }] as const);
  return { trust: { v: 1, trust: world.trust }, files: new Map(files) };
}

/** The text of each file, the index included. */
export function suiteTexts(suite: Suite): ReadonlyMap<string, string> {
  const texts = new Map([[trustPath, textOf(suite.trust)]]);
  for (const [path, file] of suite.files) texts.set(path, textOf(file));
  const files = [...texts].map(([path, text]) => ({
    path,
    sha256: createHash("sha256").update(text).digest("hex"),
    cases: suite.files.get(path)?.cases.length ?? 0,
  }));
  return texts.set("index.json", textOf({ v: 1, files }));
}

function textOf(value: object): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}
