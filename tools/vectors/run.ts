// Runs the public test vectors by the verifier of the package that this is in, on whatever platform it runs on.

import { sha256 } from "../../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { canonicalize } from "../../protocol/json/canonical-json.ts";
import { verifySignature } from "../../protocol/keys/signatures.ts";
import type { createRowVerifier } from "../../verifier/rows.ts";
import type { TrustVector, VectorCase } from "./case.ts";
import { isRowCheck, makeJudge, makeRowJudge } from "./judge.ts";

/** What one run found. */
export interface VectorRun {
  readonly judged: number;
  /** The names of the cases of which something else comes out than they say, with what. */
  readonly differing: readonly string[];
}

/**
 * Judges every case of the suite, or with `createRowVerifier` of the entry `rows` those that it has the checks for, by that entry.
 * `read` returns a file of the folder `vectors`, parsed. Throws for what is not a suite.
 */
export function runVectors(
  read: (path: string) => unknown,
  createRows: typeof createRowVerifier | null = null,
): VectorRun {
  const { trust } = read("trust.json") as { readonly trust: Readonly<Record<string, TrustVector>> };
  const { files } = read("index.json") as { readonly files: readonly { readonly path: string }[] };
  const judge =
    createRows === null
      ? makeJudge(trust, { verify: verifySignature, sha256 })
      : makeRowJudge(trust, createRows);
  const cases = files
    .flatMap(({ path }) => (read(path) as { readonly cases?: readonly VectorCase[] }).cases ?? [])
    .filter(({ check }) => createRows === null || isRowCheck(check));
  const differing = cases.flatMap((vector) => {
    const found = outcomeOf(() => canonicalize(judge.judge(vector) as unknown as JsonValue));
    return found === canonicalize(vector.expected as unknown as JsonObject)
      ? []
      : [`${vector.name}: ${found}`];
  });
  return { judged: cases.length, differing };
}

function outcomeOf(judge: () => string): string {
  try {
    return judge();
  } catch (error) {
    return String(error);
  }
}
