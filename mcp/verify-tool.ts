// The tool `verify`: an answer that this server gave, or the text of one, against the pinned anchors.
//   F1. Without anchors it claims nothing, whatever the answer is.
//   F2. Offline are the row signatures, the receipt and the sidecar, and each item of a pool of ads; the key set comes from the service, and only the anchors
//       make it trusted. An answer of this server must also name this caller and the request that was sent.
//   F3. Online (verify_online) what the service publishes about the business is read as well, and the service states what
//       it finds of the seal and of the AI policy's seal; its statements are verified here, and returned byte for byte.

import { readPublished } from "../client/evidence.ts";
import { toBase64, utf8 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { exactMember, parseStrictJson } from "../protocol/json/strict-json.ts";
import { described, matching, object, optional, text } from "../protocol/shape.ts";
import type { VerifyRequest } from "../protocol/wire/verify.ts";
import { isObject } from "../std/json-pointer.ts";
import { answerKind } from "../verifier/evidence.ts";
import { type Check, checkOf, type Report, reportOf } from "../verifier/members.ts";
import type { AnswerEvidence } from "../verifier/receipt.ts";
import { createVerifier, type Verifier, verifyServed } from "../verifier/verifier.ts";
import { invalidHere, type Outcome } from "./outcome.ts";
import { receiptFacts } from "./policy-words.ts";
import { recordIdArgument } from "./search-tool.ts";
import { argumentsOf, type KeptAnswer, resultSchema, rowsOf, type Tool, type ToolDeps } from "./tool.ts";

const shape = object({
  retrieval_id: optional(
    described(
      matching(/^[\x21-\x7e]{1,128}$/, "a retrieval id"),
      "Of a search, fetch or ads_pool of this server, in masterdb_mcp_notes.",
    ),
  ),
  record_id: optional(described(recordIdArgument, "The newest fetch of this record by this server.")),
  body: optional(described(text(1_000_000), "The exact first block of such an answer.")),
});
const names = ["retrieval_id", "record_id", "body"] as const;

export function verifyTool(deps: ToolDeps): Tool {
  return {
    name: "verify",
    title: "Verify an answer",
    description:
      (deps.config.verifyOnline
        ? "Check an earlier answer with pinned anchors: row signatures, receipt and sidecar, and the seals by the service's " +
          "signed statement. "
        : "Check an earlier answer on this machine with pinned anchors: row signatures, receipt and sidecar. ") +
      "Name it by retrieval_id, or a fetched record by record_id.",
    inputSchema: shape.schema,
    outputSchema: resultSchema(
      {
        verdict: { type: "string", enum: ["valid", "not_valid", "nothing_claimed"] },
        checks: rowsOf("Each check with its state."),
      },
      ["verdict", "checks"],
    ),
    readOnly: true,
    run: async (args) => {
      const parsed = argumentsOf(shape, args);
      if (!parsed.ok) return parsed.outcome;
      const named = names.filter((name) => parsed.value[name] !== undefined);
      if (named.length !== 1) return invalidHere("Give exactly one of the arguments.", { allowed: names });
      const { retrieval_id: retrievalId, record_id: recordId, body } = parsed.value;
      const kept = body === undefined ? deps.answers.find(retrievalId ?? recordId ?? "") : keptOf(body);
      if (kept !== null) return await verify(deps, kept, body === undefined);
      return body === undefined
        ? invalidHere(
            "This server keeps no such answer. Ask again, or give the text of the answer as body.",
            {
              pointer: `/${named[0]}`,
            },
          )
        : invalidHere("The text is not the answer of a search, a fetch or ads_pool.", { pointer: "/body" });
    },
  };
}

function keptOf(text: string): KeptAnswer | null {
  const kind = answerKind(text);
  return kind === null ? null : { kind, text, requestHash: null };
}

/** `isOwn`: the answer is one that this server received, so its receipt must name this caller and request. */
async function verify(deps: ToolDeps, answer: KeptAnswer, isOwn: boolean): Promise<Outcome> {
  if (deps.anchors === null) return nothingClaimed(answer);
  const verifier = createVerifier({ anchors: deps.anchors, keySet: await deps.readKeySet() });
  const chain = checkOf("key_set", verifier, ({ trust }) => `Issued at ${trust.keySet.issued_at}.`);
  if (!verifier.ok) return outcomeOf(answer, reportOf([chain]), []);
  const { verifyUrl } = deps.config;
  const presenter: AnswerEvidence = {
    ...(isOwn ? { callerKeyId: deps.keyId } : {}),
    ...(isOwn && answer.requestHash !== null ? { requestHash: answer.requestHash } : {}),
    ...(verifyUrl === null ? {} : { verifyUrl }),
  };
  const isOnline = deps.config.verifyOnline && answer.kind === "fetched";
  const evidence = isOnline ? { ...presenter, ...(await publishedOf(deps, answer)) } : presenter;
  const report = verifyServed(verifier.value, { kind: answer.kind, body: utf8(answer.text) }, evidence);
  const stated = isOnline ? await statements(deps, verifier.value, answer) : { checks: [], texts: [] };
  return outcomeOf(answer, reportOf([chain, ...report.checks, ...stated.checks]), stated.texts);
}

function nothingClaimed({ kind, text }: KeptAnswer): Outcome {
  const detail = "No anchors are configured (anchors_file), so nothing is claimed about this answer.";
  return {
    body: JSON.stringify({ verdict: "nothing_claimed", answer: kind, complete: false, checks: [], detail }),
    notes: { terms: [detail], retrieval_id: retrievalIdOf(text), billable: false },
    isError: false,
  };
}

function outcomeOf(
  answer: KeptAnswer,
  { valid, complete, checks }: Report,
  texts: readonly string[],
): Outcome {
  const verdict = valid ? "valid" : "not_valid";
  const open = complete
    ? "Every check was made."
    : "Some checks were not made, because their evidence is not at hand or a member is not known.";
  const apart = checks.some(({ state }) => state === "unsigned")
    ? ["What no signature covers is named in the checks: only the service's word stands for it."]
    : [];
  const said = valid ? "No check failed." : "At least one check failed: do not rely on this answer.";
  return {
    body: JSON.stringify({ verdict, answer: answer.kind, complete, checks }),
    notes: {
      terms: [
        said,
        open,
        ...apart,
        "Valid means genuine and unchanged, not that what a business states is true.",
      ],
      retrieval_id: retrievalIdOf(answer.text),
      billable: false,
      statements: texts.length,
    },
    isError: false,
    more: texts,
  };
}

function retrievalIdOf(text: string): string | null {
  const parsed = parseStrictJson(utf8(text));
  return parsed.ok && isObject(parsed.value)
    ? (receiptFacts(parsed.value["receipt"])?.retrievalId ?? null)
    : null;
}

// ---- Online ----

async function publishedOf({ client }: ToolDeps, { text }: KeptAnswer): Promise<AnswerEvidence> {
  const uuid = exactMember(text, "business_uuid");
  const { certificate, businessKeys, keyCustody } = await readPublished(
    client,
    String(JSON.parse(uuid ?? "null")),
  );
  const parse = (answer: string): JsonValue => JSON.parse(answer) as JsonValue;
  return {
    certificate: parse(certificate),
    businessKeys: parse(businessKeys),
    keyCustody: parse(keyCustody),
  };
}

interface Stated {
  readonly checks: readonly Check[];
  readonly texts: readonly string[];
}

/** What the service states about the record and about the AI policy's own record. */
async function statements(deps: ToolDeps, verifier: Verifier, { text }: KeptAnswer): Promise<Stated> {
  const value = JSON.parse(text) as JsonObject;
  const record = exactMember(text, "record");
  const policy = exactMember(text, "ai_policy", "record");
  const { seal, sidecar, ai_policy: sealed } = value;
  const about = [
    { name: "statement", bytes: record, members: { seal, sidecar } },
    {
      name: "ai_policy_statement",
      bytes: policy === "null" ? null : policy,
      members: { seal: isObject(sealed) ? sealed["seal"] : null },
    },
  ];
  const found: Stated[] = [];
  for (const { name, bytes, members } of about) {
    if (bytes !== null) found.push(await statementOf(deps, verifier, { name, bytes: utf8(bytes), members }));
  }
  return { checks: found.flatMap(({ checks }) => checks), texts: found.flatMap(({ texts }) => texts) };
}

async function statementOf(
  { client }: ToolDeps,
  verifier: Verifier,
  { name, bytes, members }: { readonly name: string; readonly bytes: Uint8Array; readonly members: object },
): Promise<Stated> {
  const request = { record_base64: toBase64(bytes), ...members } as VerifyRequest;
  const { text, body } = await client.verify(request);
  const verdict = verifier.statement(body as unknown as JsonValue, { bytes });
  const genuine = checkOf(name, verdict, ({ checked_at: at }) => `Stated by the service at ${at}.`);
  const findings: Check[] = verdict.ok
    ? [{ name: `${name}/findings`, state: verdict.value.valid ? "ok" : "failed" }]
    : [];
  return { checks: [genuine, ...findings], texts: [text] };
}
