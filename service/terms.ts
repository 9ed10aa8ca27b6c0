// The terms of AI companies, current or by version (specification, «Retrieval API»), and what a company agreed to.
//   T1. A version that was in force can always be read again: its text never changes, and its hash says which it is.
//   T2. What comes into force later is announced: it is listed, can be read by its number, and can be agreed to.
//   T3. An agreement is to one exact text: it names the version and the hash of what its company read.

import { utf8 } from "../protocol/bytes.ts";
import { hashOf, type Sha256 } from "../protocol/hash.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import {
  type AgreementAnswer,
  type AgreementBody,
  agreementBody,
  type TermsAnswer,
  type TermsFacts,
} from "../protocol/wire/terms.ts";
import type { Agreements } from "./agreements.ts";
import { answerJson, isRefused, type Outcome, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { parseJsonBody } from "./json-body.ts";

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
  readonly agreements: Agreements;
}

export type ReadTerms = (request: {
  readonly caller: Pick<Caller, "party">;
  readonly version: string | null;
}) => Promise<Outcome>;

const headers = Object.freeze({ "cache-control": "private, no-cache" });

export function createReadTerms(deps: TermsDeps): ReadTerms {
  return async ({ caller, version: asked }) => {
    const all = deps.terms();
    const current = termsInForce(deps);
    const number = asked === null ? current?.version : parseVersion(asked);
    if (number === null)
      return refused(
        problem("request_invalid", "version is the number of a version.", { pointer: "/query/version" }),
      );
    const wanted = all.find(({ version }) => version === number);
    if (wanted === undefined)
      return refused(problem("not_found", "There are no terms of this version, or none are in force."));
    const facts = ({ text, ...rest }: TermsText): TermsFacts => ({ ...rest, sha256: hashOfText(deps, text) });
    const answer: TermsAnswer = {
      ...facts(wanted),
      media_type: "text/markdown; charset=utf-8",
      text: wanted.text,
      current_version: current?.version ?? null,
      agreed: await deps.agreements.find(caller.party.uuid, wanted.version),
      versions: all.map(facts),
    };
    return answerJson(200, answer, headers);
  };
}

/** The version that is in force now. */
export function termsInForce({ terms, clock }: Pick<TermsDeps, "terms" | "clock">): TermsText | undefined {
  const now = formatTimestamp(clock.now());
  return terms().findLast(({ effective_from }) => effective_from <= now);
}

export function hashOfText({ sha256 }: Pick<TermsDeps, "sha256">, text: string): string {
  return hashOf(utf8(text), sha256);
}

export type AgreeToTerms = (request: {
  readonly caller: Caller;
  readonly body: Uint8Array;
}) => Promise<Outcome>;

/** POST /v1/terms/agreements: sent again, it gets the first answer, whatever came into force since. */
export function createAgreeToTerms(deps: TermsDeps): AgreeToTerms {
  return async ({ caller, body }) => {
    const parsed = parseJsonBody<AgreementBody>(agreementBody, body);
    if (isRefused(parsed)) return parsed;
    const { version, sha256 } = parsed.value;
    const { uuid } = caller.party;
    const wanted = deps.terms().find((each) => each.version === version);
    if (wanted === undefined) {
      const detail = `There are no terms of version ${version}.`;
      return refused(problem("not_found", detail, { pointer: "/version" }));
    }
    if (sha256 !== hashOfText(deps, wanted.text)) {
      const detail = `This is not the hash of the text of version ${version}: read that text, and agree to it.`;
      return refused(problem("terms_mismatch", detail, { pointer: "/sha256" }));
    }
    const current = termsInForce(deps);
    const isSuperseded = current !== undefined && current.version > version;
    if (isSuperseded && (await deps.agreements.find(uuid, version))?.sha256 !== sha256) {
      const detail = `Version ${current.version} is in force: agree to that one, or to one that comes later.`;
      return refused(problem("terms_superseded", detail, { pointer: "/version" }));
    }
    const { key, requestHash } = caller;
    const act = {
      by: `key ${key.key_id}`,
      reason: `version ${version}, ${sha256}, by request ${requestHash}`,
    };
    const agreed = await deps.agreements.agree({ uuid, version, sha256, act });
    const answer: AgreementAnswer = { ai_company_uuid: uuid, ...agreed };
    return answerJson(200, answer, { "cache-control": "no-store" });
  };
}

function parseVersion(text: string): number | null {
  return /^[1-9][0-9]{0,6}$/.test(text) ? Number(text) : null;
}
