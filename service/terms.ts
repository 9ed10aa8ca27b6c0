// GET /v1/terms: the terms of AI companies, current or by version (specification, «Retrieval API»).
//   T1. A version that was in force can always be read again: its text never changes, and its hash says which it is.
//   T2. What comes into force later is announced: it is listed, and can be read by its number.

import { utf8 } from "../protocol/bytes.ts";
import { hashOf, type Sha256 } from "../protocol/hash.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import type { TermsAnswer, TermsFacts } from "../protocol/wire/terms.ts";
import { answerJson, type Outcome, refused } from "./answer.ts";

/** A version as its operator wrote it. */
export interface TermsText {
  readonly version: number;
  readonly effective_from: string;
  readonly language: string;
  readonly text: string;
}

export interface TermsDeps {
  /** All versions, oldest first; none where the operator publishes no terms. */
  readonly terms: () => readonly TermsText[];
  readonly clock: { readonly now: () => number };
  readonly sha256: Sha256;
}

export type ReadTerms = (request: { readonly version: string | null }) => Outcome;

const headers = Object.freeze({ "cache-control": "private, max-age=300" });

export function createReadTerms({ terms, clock, sha256 }: TermsDeps): ReadTerms {
  return ({ version: asked }) => {
    const all = terms();
    const now = formatTimestamp(clock.now());
    const current = all.findLast(({ effective_from }) => effective_from <= now);
    const number = asked === null ? current?.version : parseVersion(asked);
    if (number === null)
      return refused(
        problem("request_invalid", "version is the number of a version.", { pointer: "/query/version" }),
      );
    const wanted = all.find(({ version }) => version === number);
    if (wanted === undefined)
      return refused(problem("not_found", "There are no terms of this version, or none are in force."));
    const facts = ({ text, ...rest }: TermsText): TermsFacts => ({
      ...rest,
      sha256: hashOf(utf8(text), sha256),
    });
    const answer: TermsAnswer = {
      ...facts(wanted),
      media_type: "text/markdown; charset=utf-8",
      text: wanted.text,
      current_version: current?.version ?? null,
      versions: all.map(facts),
    };
    return answerJson(200, answer, headers);
  };
}

function parseVersion(text: string): number | null {
  return /^[1-9][0-9]{0,6}$/.test(text) ? Number(text) : null;
}
