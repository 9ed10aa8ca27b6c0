// POST /v1/verify: the record in the caller's hands, judged by the same pure functions that anyone can run, with what
// only the service knows added. A check that fails is an answer, not an error.
//   V1. The record's bytes are required: a bare id or hash is never accepted, so nobody learns which ids exist.
//   V2. The statement says what the answer says, and nothing else is signed.
//   V3. A seal is refused for what the register does not have only by a register that was followed since the request
//       came: a key, a certificate or an AI policy that this node had not heard of is no reason.

import type { Clock, CryptoPort, SignerAt } from "../crypto/port.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import { canonicalBytes, type JsonObject } from "../protocol/canonical-json.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import type { ReasonCode } from "../protocol/result.ts";
import type { SealVerdict } from "../verifier/seal-report.ts";
import type { Trust } from "../verifier/trust.ts";
import { answerJson, type Outcome, type Refused, refused } from "./answer.ts";
import type { Environment } from "./service-keys.ts";
import { signEnvelope } from "./sign-envelope.ts";
import type { Standing, Standings } from "./standing.ts";
import { type Claimed, findStanding, objectMember, readClaims, type VerifyInput } from "./verify-evidence.ts";
import {
  bitsSection,
  type Judged,
  judgeSeal,
  projectionSection,
  type SealJudgement,
  type SectionDeps,
  sealSection,
  sidecarSection,
} from "./verify-sections.ts";

export interface VerifyDeps extends Omit<SectionDeps, "trust"> {
  readonly environment: Environment;
  readonly standings: Standings;
  /** Trust in this service's own keys, as it is now. */
  readonly trust: () => Trust;
  readonly statement: SignerAt;
  readonly crypto: Pick<CryptoPort, "sha256">;
  readonly clock: Clock;
}

/** Of one request: it is judged by one trust, whatever key set comes meanwhile. */
type RequestDeps = Omit<VerifyDeps, "trust"> & SectionDeps;

export type Verify = (body: JsonObject) => Promise<Outcome>;

/** Characters of `record_base64` at most (specification, «POST /v1/verify»). */
export const recordCharactersMax = 204_800;

/** `body` has passed the request schema: its members are those of the specification, and of their types. */
export function createVerify(deps: VerifyDeps): Verify {
  return async (body) => {
    const input = readInput(deps, body);
    return "kind" in input ? input : answer({ ...deps, trust: deps.trust() }, input);
  };
}

function readInput({ crypto }: VerifyDeps, body: JsonObject): VerifyInput | Refused {
  if (body["ad_item"] !== undefined) {
    if (Object.keys(body).length > 1) {
      return refused(
        problem("request_invalid", "ad_item must be verified without other members.", {
          pointer: "/ad_item",
        }),
      );
    }
    return refused(
      problem("not_offered", "Ads are not offered by this version of the service.", { pointer: "/ad_item" }),
    );
  }
  const { record_base64: record, seal, sidecar, key_events: keyEvents } = body;
  if (record === undefined) {
    return refused(
      problem("request_invalid", "record_base64 is required: the record that you have is what is verified.", {
        pointer: "/record_base64",
      }),
    );
  }
  const bytes =
    typeof record === "string" && record.length <= recordCharactersMax ? parseBase64(record) : null;
  if (bytes === null) {
    return refused(
      problem("request_invalid", "record_base64 must be the base64 of the record's exact bytes.", {
        pointer: "/record_base64",
      }),
    );
  }
  const input: VerifyInput = {
    bytes,
    hash: hashOf(bytes, crypto.sha256),
    seal: seal ?? null,
    sidecar: sidecar ?? null,
    row: objectMember(body["row"]),
    policyBits: objectMember(body["ai_policy_bits"]),
    keyEvents: keyEvents === "require" ? "require" : "warn",
  };
  if (input.seal === null && input.sidecar === null && input.row === null) {
    const detail = "Give something to verify the record against: its seal, its sidecar or its row.";
    return refused(problem("request_invalid", detail, { allowed: ["seal", "sidecar", "row"] }));
  }
  if (input.policyBits !== null && input.seal === null) {
    return refused(
      problem("request_invalid", "ai_policy_bits need the AI policy record and its seal.", {
        pointer: "/seal",
      }),
    );
  }
  return input;
}

async function answer(deps: RequestDeps, input: VerifyInput): Promise<Outcome> {
  const checkedAt = formatTimestamp(deps.clock.now());
  const claimed = readClaims(deps.trust, input);
  const { seal: verdict, standing, receipt } = await judge(deps, { input, claimed, at: checkedAt });
  const warnings: string[] = [];
  const judged: Judged = { input, claimed, standing, receipt, warnings };
  const seal = await sealSection(deps.register, verdict, judged);
  const sidecar = sidecarSection(judged, verdict);
  const projection = projectionSection(deps, judged);
  const policyBits = bitsSection(deps, judged);
  if (isOfRegister(verdict)) warnings.push(registerWarning);
  warnAboutCertificate(standing, warnings);
  const findings: JsonObject = {
    valid: [seal, sidecar, projection, policyBits].every((section) => section === null || section.valid),
    seal,
    log_inclusion: { status: "not_in_log", checkpoint: null },
    sidecar,
    projection,
    ai_policy_bits: policyBits,
    ad: null,
    warnings,
  };
  const payload = canonicalBytes({
    v: 1,
    checked_at: checkedAt,
    record_hash: input.hash,
    ...(deps.environment === "sandbox" ? { sandbox: true } : {}),
    ...findings,
  });
  const statement = await signEnvelope(payloadTypes["verify-statement.v1"], payload, [
    deps.statement(checkedAt),
  ]);
  return answerJson(200, { ...findings, checked_at: checkedAt, statement }, { "cache-control": "no-store" });
}

type Found = SealJudgement & { readonly standing: Standing | null };

/** See V3. */
async function judge(
  deps: RequestDeps,
  asked: { readonly input: VerifyInput; readonly claimed: Claimed; readonly at: string },
): Promise<Found> {
  const { input, claimed, at } = asked;
  const once = async (): Promise<Found> => {
    const standing = await findStanding(deps, claimed, at);
    return { standing, ...(await judgeSeal(deps, { input, claimed, standing })) };
  };
  const first = await once();
  if (!isOfRegister(first.seal)) return first;
  await deps.register.refresh();
  return once();
}

/** What a register that has heard too little refuses a good seal with. */
const registerReasons: readonly ReasonCode[] = [
  "key_unknown",
  "certificate_unknown",
  "ai_policy_version_mismatch",
  "out_of_scope",
];

function isOfRegister(seal: SealVerdict | null): boolean {
  return seal !== null && !seal.ok && registerReasons.includes(seal.code);
}

const registerWarning =
  "The seal was judged by the register of this region; what was registered in another region moments ago may not have reached it yet.";

function warnAboutCertificate(standing: Standing | null, warnings: string[]): void {
  const today = standing?.certificates.issuances[0]?.certificate;
  if (today !== undefined && today.status !== "active") {
    const { status, status_effective_from: from, subject } = today;
    warnings.push(`The certificate of business ${subject.uuid} is ${status} from ${from} on.`);
  }
}
