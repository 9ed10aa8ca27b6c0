// Cases about pushed records, and about the scope in which they were sealed.

import { hashOf } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import {
  batchSeal,
  sealedAt,
  sealedMandate,
  sidecarEnvelope,
  sidecarFacts,
} from "../../verifier/business.fixture.ts";
import { altered } from "../../verifier/scene.fixture.ts";
import { soleKey } from "../../verifier/service.fixture.ts";
import type { VectorCase } from "./case.ts";
import { batch, bytes, makings } from "./seal-makings.fixture.ts";
import { base64, casesOf, otherUuid, type World } from "./world.fixture.ts";

export function pushedCases(world: World): readonly VectorCase[] {
  const { business, of, pushed, service } = makings(world);
  const { good, bad } = casesOf("seal");
  const whole = batchSeal(business, batch, 1) as JsonObject;
  const proof = whole["proof"] as readonly string[];
  const changed = (change: object) => pushed({ seal: { ...whole, ...change } });
  const alone = batchSeal(business, [bytes], 0);
  const sidecar = sidecarEnvelope(service, sidecarFacts(business, bytes));
  const terms = { v: 1, ai_policy_version: undefined, terms_version: 4 };
  const { mandates } = makings(world);
  return [
    ...batch.map((record, at) =>
      good(
        `pushed: leaf ${at}`,
        `Record ${at} of a batch of five, with its path to the root.`,
        of(record, batchSeal(business, batch, at), { mandates }),
      ),
    ),
    good("pushed: batch of one", "A batch of one record has an empty path.", of(bytes, alone, { mandates })),
    good(
      "pushed: format 1",
      "Format 1 of a batch seal.",
      pushed({ seal: batchSeal(business, batch, 1, { facts: terms, kind: "batch-seal.v1" }) }),
    ),
    bad(
      "payload_malformed",
      "pushed: mixed formats",
      "Format 2 under the type of format 1.",
      pushed({ seal: batchSeal(business, batch, 1, { kind: "batch-seal.v1" }) }),
    ),
    ...[0, 100_001].map((tree_size) =>
      bad(
        "payload_malformed",
        `pushed: a sealed batch of ${tree_size}`,
        "A batch has 1 to 100,000 records.",
        pushed({ seal: batchSeal(business, batch, 1, { facts: { tree_size } }) }),
      ),
    ),
    bad(
      "hash_mismatch",
      "pushed: altered, batch of one",
      "The path is empty, so it is the bytes that differ.",
      of(altered(bytes), alone, { mandates }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: altered",
      "Altered bytes and a wrong path look alike where nothing names the right bytes.",
      pushed({ bytes_base64: base64(altered(bytes)) }),
    ),
    bad(
      "hash_mismatch",
      "pushed: altered, with its sidecar",
      "The sidecar names other bytes.",
      pushed({ bytes_base64: base64(altered(bytes)), sidecar }),
    ),
    bad(
      "hash_mismatch",
      "pushed: altered, with its hash",
      "Another verified source names other bytes.",
      pushed({ bytes_base64: base64(altered(bytes)), expected_hash: hashOf(bytes) }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: other index",
      "The path is that of another leaf.",
      changed({ leaf_index: 0 }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: other index, known hash",
      "The bytes are known to be right, so the path is wrong.",
      {
        ...changed({ leaf_index: 0 }),
        expected_hash: hashOf(bytes),
      },
    ),
    bad(
      "inclusion_invalid",
      "pushed: no such leaf",
      "The index is outside the tree.",
      changed({ leaf_index: 5 }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: other size",
      "The tree is said to be larger than the sealed one.",
      changed({ tree_size: 6 }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: short path",
      "A hash of the path is missing.",
      changed({ proof: proof.slice(1) }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: long path",
      "The path has further hashes.",
      changed({ proof: [...proof, ...proof] }),
    ),
    bad(
      "inclusion_invalid",
      "pushed: path in another order",
      "The path leads from the root to the leaf.",
      changed({ proof: proof.toReversed() }),
    ),
    bad(
      "envelope_malformed",
      "pushed: no hashes",
      "The path is no list of hashes.",
      changed({ proof: ["x"] }),
    ),
    bad(
      "envelope_malformed",
      "pushed: negative index",
      "An index is not negative.",
      changed({ leaf_index: -1 }),
    ),
    bad(
      "envelope_malformed",
      "pushed: further member",
      "A member that a record seal does not have.",
      changed({ extra: 1 }),
    ),
    bad(
      "key_unknown",
      "pushed: by a hosted key",
      "A batch is a system's.",
      pushed({ seal: batchSeal(business, batch, 1, { key: business.hosted }) }),
    ),
    bad(
      "payload_type_mismatch",
      "pushed: batch seal alone",
      "A batch seal without its path.",
      of(bytes, (alone as JsonObject)["batch_seal"]),
    ),
  ];
}

export function scopeCases(world: World): readonly VectorCase[] {
  const { service, business, pushed, single } = makings(world);
  const { good, bad } = casesOf("seal");
  const { scope } = business.mandate;
  const under = (facts: object, revoked_at: string | null = null) =>
    pushed({ mandates: [{ envelope: sealedMandate(business, facts), revoked_at }] });
  /** Mandates `man_1`, `man_2` and so on. */
  const several = (scopes: readonly object[]) =>
    pushed({
      mandates: scopes.map((changes, at) => ({
        envelope: sealedMandate(business, { mandate_id: `man_${at + 1}`, scope: { ...scope, ...changes } }),
        revoked_at: null,
      })),
    });
  const facts = sidecarFacts(business, bytes);
  const withSidecar = (changes: object) => ({
    ...pushed({ sidecar: sidecarEnvelope(service, { ...facts, ...changes }) }),
    mandates: undefined,
  });
  const stated = (changes: object) => ({ scope: { ...facts.scope, ...changes } });
  return [
    bad(
      "out_of_scope",
      "scope: country",
      "The record is for a country outside the mandate.",
      under({ scope: { ...scope, countries: ["DE"] } }),
    ),
    bad(
      "out_of_scope",
      "scope: type",
      "The mandate is for another record type.",
      under({ scope: { ...scope, record_types: ["events"] } }),
    ),
    bad(
      "out_of_scope",
      "scope: key",
      "The mandate is for another key.",
      under({ key_id: business.hosted.keyId }),
    ),
    bad(
      "out_of_scope",
      "scope: business",
      "The mandate is another business's.",
      under({ business_uuid: otherUuid }),
    ),
    bad(
      "out_of_scope",
      "scope: before it begins",
      "It begins a millisecond later.",
      under({ valid_from: "2026-03-01T12:00:00.001Z" }),
    ),
    bad(
      "out_of_scope",
      "scope: when it ends",
      "It ends at that very instant.",
      under({ valid_until: sealedAt }),
    ),
    good(
      "scope: before it ends",
      "It ends a millisecond later.",
      under({ valid_until: "2026-03-01T12:00:00.001Z" }),
    ),
    good(
      "scope: one of several mandates",
      "Of three mandates of the key, the last allows the record alone.",
      several([{ countries: ["DE"] }, { record_types: ["events"] }, {}]),
    ),
    bad(
      "out_of_scope",
      "scope: only together",
      "One mandate is for the type and another country, the other for the country and another type.",
      several([{ countries: ["DE"] }, { record_types: ["events"] }]),
    ),
    good(
      "scope: the named one of several mandates",
      "Of two mandates that allow the record, the sidecar names the second.",
      {
        ...several([{}, {}]),
        sidecar: sidecarEnvelope(service, { ...facts, ...stated({ mandate_id: "man_2" }) }),
      },
      { sidecar: "ok" },
    ),
    bad(
      "out_of_scope",
      "scope: the named one of several mandates does not allow it",
      "The sidecar names the second mandate, and only the first allows the record.",
      {
        ...several([{}, { countries: ["DE"] }]),
        sidecar: sidecarEnvelope(service, { ...facts, ...stated({ mandate_id: "man_2" }) }),
      },
    ),
    bad("out_of_scope", "scope: revoked", "The mandate was revoked at that instant.", under({}, sealedAt)),
    good(
      "scope: before the revocation",
      "It was revoked a millisecond later.",
      under({}, "2026-03-01T12:00:00.001Z"),
    ),
    bad(
      "payload_malformed",
      "scope: over 92 days",
      "A mandate that is too long is none.",
      under({ valid_until: "2026-05-04T00:00:00.001Z" }),
    ),
    bad("key_unknown", "scope: its own mandate", "The machine's key sealed its own mandate.", {
      ...pushed({
        mandates: [{ envelope: sealedMandate({ ...business, passkey: business.system }), revoked_at: null }],
      }),
    }),
    good(
      "scope: stated by the sidecar",
      "Without a mandate, the sidecar says on what basis it was published.",
      withSidecar({}),
      { sidecar: "ok" },
    ),
    good(
      "sidecar of other bytes",
      "A sidecar of other bytes does not touch a good seal.",
      withSidecar({ sha256: `sha256:${"0".repeat(64)}` }),
      { sidecar: "hash_mismatch" },
    ),
    good(
      "sidecar of another seal",
      "A sidecar of another instant does not touch a good seal.",
      withSidecar({ sealed_at: "2026-03-01T12:00:00.001Z" }),
      { sidecar: "hash_mismatch" },
    ),
    good(
      "sidecar of another business",
      "A sidecar of another business.",
      withSidecar({ business_uuid: otherUuid }),
      { sidecar: "hash_mismatch" },
    ),
    good(
      "sidecar of another key",
      "A sidecar that names another sealing key.",
      withSidecar({ sealed_by_key_id: business.hosted.keyId }),
      { sidecar: "key_mismatch" },
    ),
    good(
      "sidecar of another scope key",
      "A sidecar whose scope names another key.",
      withSidecar(stated({ key_id: business.hosted.keyId })),
      { sidecar: "key_mismatch" },
    ),
    good(
      "sidecar of another certificate",
      "A sidecar that names another certificate.",
      withSidecar({ cert_id: facts.sha256 }),
      { sidecar: "certificate_unknown" },
    ),
    good(
      "sidecar of another type",
      "A sidecar that names another record type.",
      withSidecar({ record_type: "events" }),
      { sidecar: "record_type_mismatch" },
    ),
    good(
      "sidecar of another AI policy",
      "A sidecar that names another AI policy version.",
      withSidecar({ ai_policy_version: 2 }),
      { sidecar: "ai_policy_version_mismatch" },
    ),
    good(
      "sidecar by another key",
      "A sidecar that the receipt key signed.",
      {
        ...single({ sidecar: sidecarEnvelope(service, facts, soleKey(service.receipt)) }),
      },
      { sidecar: "key_unknown" },
    ),
    bad(
      "out_of_scope",
      "sidecar of another basis",
      "A system's key whose sidecar says that a role allowed it.",
      withSidecar(stated({ basis: "role" })),
    ),
    bad(
      "out_of_scope",
      "sidecar of another kind of key",
      "A system's key whose sidecar says that it is hosted.",
      withSidecar(stated({ kind: "hosted" })),
    ),
    bad(
      "out_of_scope",
      "sidecar without the permission",
      "A sidecar that permits another record type.",
      withSidecar(stated({ permissions: ["publish:events"] })),
    ),
    bad(
      "out_of_scope",
      "sidecar of another mandate",
      "The sidecar names another mandate than the given one.",
      pushed({ sidecar: sidecarEnvelope(service, { ...facts, ...stated({ mandate_id: "man_2" }) }) }),
    ),
    bad(
      "out_of_scope",
      "sidecar of the other path",
      "A pushed record whose sidecar says path B.",
      withSidecar({ path: "B" }),
    ),
  ];
}
