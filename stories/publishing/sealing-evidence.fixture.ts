// The evidence that anyone can hold about a business and its publications, and the offline verifier's verdict on it. For
// tests.

import { parseBase64 } from "../../protocol/bytes.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { buildTree, leafHash } from "../../protocol/merkle.ts";
import type { Environment } from "../../service/register/service-keys.ts";
import { sealText } from "../../service/retrieval/fetched-record.ts";
import { createVerification } from "../../service/verification/verification.ts";
import { verifyBusinessKeys } from "../../verifier/business-keys.ts";
import { certificateEnvelopes, verifyCertificates } from "../../verifier/certificate.ts";
import { verifyMandate } from "../../verifier/mandate.ts";
import { held } from "../../verifier/scene.fixture.ts";
import { type SealEvidence, verifySeal } from "../../verifier/seal.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";
import type { Path, Sent } from "./sealing-attempt.fixture.ts";
import type { PastBusiness, SealingWorld } from "./sealing-world.fixture.ts";

/** `ok`, or the reason. */
export type Finding = string;

type Public = Pick<SealEvidence, "certificates" | "keys" | "policies">;

/** What the service currently publishes about the business, verified. */
async function publicOf(world: SealingWorld, { uuid }: PastBusiness): Promise<Public> {
  const trust = world.services.trust();
  // A home's decision reaches the register of its region a moment later.
  await registerInForce(world.services);
  const reads = createVerification({
    ...world.services,
    pace: () => null,
    verifyUrl: "https://verify.test",
  });
  const bodyOf = (outcome: Awaited<ReturnType<typeof reads.businessKeys>>): JsonValue => {
    if (outcome.kind !== "answer") throw new Error(JSON.stringify(outcome));
    return JSON.parse(String(outcome.body)) as JsonValue;
  };
  const certificate = bodyOf(await reads.certificate(uuid));
  return {
    certificates: held(verifyCertificates(trust, uuid, held(certificateEnvelopes(certificate)))),
    keys: held(verifyBusinessKeys(trust, uuid, bodyOf(await reads.businessKeys(uuid)))),
    policies: { versions: await world.services.register.policies(uuid), isComplete: true },
  };
}

/** The mandate of the key that sealed. */
async function mandateOf(world: SealingWorld, { uuid, mandateId }: PastBusiness, keyId: string | undefined) {
  const mandates = await world.services.register.mandates(uuid);
  const found = mandates.find((each) => each.mandate_id === mandateId && each.key_id === keyId);
  return found && { envelope: JSON.parse(found.envelope) as JsonValue, revoked_at: found.revoked_at };
}

/** Verdict on what was sent, whatever became of it: each record of a batch on its own, and the first reason found. */
export async function findingOfSent(
  world: SealingWorld,
  business: PastBusiness,
  sent: Sent,
  { path, environment }: { readonly path: Path; readonly environment: Environment },
): Promise<Finding> {
  const trust = world.trust(environment);
  const known = await publicOf(world, business);
  const envelope = sent.envelope as unknown as JsonValue;
  if (path === "mandate") return codeOf(verifyMandate(trust, known.keys, envelope));
  if (path !== "A") {
    const document = path === "policy" ? "ai_policy" : "record";
    const [bytes = new Uint8Array()] = sent.records;
    return codeOf(verifySeal(trust, { ...known, document, bytes, seal: envelope }));
  }
  const mandate = await mandateOf(world, business, sent.envelope.signatures[0]?.keyid);
  const tree = buildTree(sent.records.map((record) => leafHash(record)));
  const findings = sent.records.map((bytes, index) => {
    const proof = tree.path(index).map((node) => `sha256:${node.toHex()}`);
    const place = { leaf_index: index, tree_size: sent.records.length, proof };
    const expectedHash = sent.sealedHashes[index];
    return codeOf(
      verifySeal(trust, {
        ...known,
        bytes,
        seal: { batch_seal: envelope, ...place },
        ...(expectedHash === undefined ? {} : { expectedHash }),
        ...(mandate === undefined ? {} : { mandates: [mandate] }),
      }),
    );
  });
  return findings.find((finding) => finding !== "ok") ?? "ok";
}

/** Verdict on what the service keeps and publishes of what it accepted. */
export async function findingOfPublished(
  world: SealingWorld,
  business: PastBusiness,
  {
    path,
    environment,
    recordIds,
  }: {
    readonly path: Path;
    readonly environment: Environment;
    readonly recordIds: readonly string[];
  },
): Promise<readonly Finding[]> {
  const { register, records } = world.services;
  const trust = world.trust(environment);
  const known = await publicOf(world, business);
  if (path === "mandate") {
    const sealed = await register.mandates(business.uuid);
    return sealed
      .filter((each) => each.mandate_id.startsWith("mdt_sent_"))
      .map((each) => codeOf(verifyMandate(trust, known.keys, JSON.parse(each.envelope) as JsonValue)));
  }
  if (path === "policy") {
    return (await register.policies(business.uuid)).map((policy) => {
      const bytes = parseBase64(policy.record_base64) ?? new Uint8Array();
      const seal = JSON.parse(policy.seal) as JsonValue;
      return codeOf(verifySeal(trust, { ...known, document: "ai_policy", bytes, seal }));
    });
  }
  const mandate = path === "A" ? await mandateOf(world, business, business.caller.keyId) : undefined;
  return Promise.all(
    recordIds.map(async (id) => {
      const served = await records.readServed(id);
      if (served === null) return "not served";
      const evidence: SealEvidence = {
        ...known,
        bytes: served.version.bytes,
        seal: JSON.parse(sealText(served.version, served.seal)) as JsonValue,
        sidecar: JSON.parse(served.version.sidecar) as JsonValue,
        ...(mandate === undefined ? {} : { mandates: [mandate] }),
      };
      return codeOf(verifySeal(trust, evidence));
    }),
  );
}

function codeOf(verdict: { readonly ok: true } | { readonly ok: false; readonly code: string }): Finding {
  return verdict.ok ? "ok" : verdict.code;
}
