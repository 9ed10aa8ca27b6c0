// The command sequences that golden snapshots are taken from: each kind ends in a state that fills every member of its context.

import { rubbish } from "../protocol/rubbish.fixture.ts";
import { type ActorHarness, driveActor } from "./actor.fixture.ts";
import { adCampaignActor } from "./ad-campaign/definition.ts";
import { adPoolActor } from "./ad-pool/definition.ts";
import { adSessionActor } from "./ad-session/definition.ts";
import { applicationActor } from "./application/definition.ts";
import { bulkUploadActor } from "./bulk-upload/definition.ts";
import { businessActor } from "./business/definition.ts";
import { pushSeal } from "./facts.fixture.ts";
import { integrationKeyActor } from "./integration-key/definition.ts";
import { ledgerActor } from "./ledger/definition.ts";
import { logSequencerActor } from "./log-sequencer/definition.ts";
import type { ActorProtocols, KindOf } from "./messages/kinds.ts";
import { personActor } from "./person/definition.ts";
import { pushActor } from "./push/definition.ts";
import { recoveryActor } from "./recovery/definition.ts";
import type { ActorDefinition, Message } from "./system/definition.ts";
import { webhookActor } from "./webhook/definition.ts";

export interface GoldenLife {
  /** The name of its golden files, if it is not the kind. */
  readonly name?: string;
  readonly definition: ActorDefinition;
  live(): Pick<ActorHarness, "snapshot">;
}

const public_key = { kty: "OKP", crv: "Ed25519", x: "x" };
const uuid = "00000000-0000-4000-8000-000000000001";

/** Golden snapshots were taken from commands that contain no more than the machine keeps. */
function life<K extends KindOf<ActorProtocols>>(
  definition: ActorDefinition<K>,
  id: string,
  commands: readonly (Message & Readonly<Record<string, unknown>>)[],
): GoldenLife {
  return {
    definition,
    live: () => {
      const harness = driveActor(definition, id);
      for (const command of commands) harness.send(rubbish(command));
      return harness;
    },
  };
}

const uploaded = { name: "first", bytes: 99, records: 3, root: "sha256:r", sha256: "sha256:f" };
const leaf = {
  leaf_index: 0,
  record_id: "svc_r",
  hash: "h",
  business_product_id: "p",
  listings: { US: ["1.00", "USD"] },
};
const caps = { records_per_hour: 10, bytes_per_day: 1_000 };
const outcome = { leaf_index: 0, outcome: "accepted", record_id: "svc_r", version: 1, errors: [] };

export const goldenLives: readonly GoldenLife[] = [
  life(businessActor, uuid, [
    {
      type: "party.open",
      party: { uuid, kind: "business", legal_name: "L", country: "GB", group: uuid, blocked_groups: [] },
    },
    {
      type: "certificate.issue",
      certificate: {
        cert_id: "c",
        uuid,
        status: "active",
        status_effective_from: "t",
        status_reason: null,
        issued_at: "t",
        envelope: "{}",
      },
      follows: null,
    },
    {
      type: "policy.accept",
      policy: { business_uuid: uuid, version: 1, record_id: "aip_r", live_from: "t", seal: "{}" },
    },
    { type: "group.block", group: "g" },
    { type: "push.admit", push_id: "bat_1", key_id: "k", records: 1, may_hold: false, plan: null },
    {
      type: "chunk.assign",
      push_id: "bat_1",
      number: 1,
      chunk: 0,
      collection: "products",
      leaves: [leaf],
      refused: [],
      seal: pushSeal,
    },
  ]),
  {
    name: "ai-company",
    ...life(businessActor, uuid, [
      {
        type: "party.open",
        party: { uuid, kind: "ai_company", legal_name: "L", country: "GB", group: uuid, blocked_groups: [] },
      },
      { type: "directory.choose", listed: true },
      { type: "group.join", group: "g" },
      { type: "terms.agree", version: 1, sha256: "s", act: { by: "k", reason: "r" } },
    ]),
  },
  life(integrationKeyActor, "k", [
    { type: "push.charge", seq: 7, push_id: "bat_1", digest: "d", attempt: "a", records: 3, bytes: 99, caps },
  ]),
  life(bulkUploadActor, `${uuid}.bup_1`, [
    { type: "upload.issue", record_type: "products", key_id: "k", valid_ms: 3_600_000 },
    { type: "upload.begin", attempt: "none" },
    { type: "upload.abort", attempt: "none", is_refused: true },
    { type: "upload.begin", attempt: "first" },
    { type: "upload.finish", attempt: "first", file: uploaded },
    { type: "import.begin", push_id: "bat_1" },
  ]),
  life(logSequencerActor({ origin: "o", intervals: { leafMs: 3_600_000, receiptsMs: 1_000 } }), "svc-log", [
    { type: "log.append", entries: [{ leaf: "sha256:l", leaf_type: "seal", subject: uuid }] },
  ]),
  life(pushActor, "bat_1", [
    {
      type: "push.accept",
      facts: { push_id: "bat_1", business_uuid: uuid, records: 450 },
      held_reasons: [],
      seal_leaf: "sha256:l",
    },
    { type: "chunk.settle", chunk: 0, outcomes: [outcome], references: [], unindexed: ["eu-west1"] },
  ]),
  life(ledgerActor, uuid, [
    {
      type: "money.enter",
      entry_id: "p",
      kind: "top_up",
      amount: 1_000,
      currency: "EUR",
      by: "b",
      reason: "r",
    },
    { type: "slice.lease", holder: "eu-west1/i", n: 1, wanted: 100, price: 1, returned: 0 },
  ]),
  life(adCampaignActor, `${uuid}.spring`, [
    {
      type: "campaign.accept",
      terms: {
        currency: "EUR",
        gross_price: 10,
        net_price: 7,
        budget: 100,
        paused: false,
        starts_at_ms: 1,
        ends_at_ms: 2,
        sealed_at_ms: 3,
        seal_id: "s",
      },
    },
    { type: "ad.assign", ad_id: "ad_a", seal_id: "a", hash: "h", sealed_at_ms: 4 },
  ]),
  life(adPoolActor, "ret_1@eu-west1", [
    {
      type: "pool.serve",
      company: "c",
      session: "s@eu-west1",
      served_at_ms: Date.UTC(2026, 0, 1),
      items: [{ ad_id: "ad_a", business_uuid: uuid, campaign_id: "spring", allow_repeats: false }],
    },
    { type: "item.settle", index: 0, format: "card", refusal: null, at_ms: Date.UTC(2026, 0, 1) + 1 },
  ]),
  life(applicationActor, uuid, [
    {
      type: "application.file",
      application: {
        applicant: "p",
        applicant_name: "n",
        legal_name: "L",
        country: "GB",
        public_key: { kty: "OKP", crv: "Ed25519", x: "x" },
        cose: "c",
        credential_id: "c",
        challenge: "c",
        proof: "{}",
      },
    },
    { type: "application.approve", act: { by: "b", reason: "r" } },
  ]),
  life(personActor, uuid, [
    {
      type: "person.join",
      name: "n",
      passkey: { credential_id: "c", public_key: "p", name: "n", counter: 0 },
      session: { session: "s", ends_at_ms: Date.UTC(2027, 0, 1) },
      network: null,
    },
  ]),
  life(webhookActor, `${uuid}.whk_1`, [
    { type: "delivery.owe", delivery: { id: "whd_1", kind: "push.ended", ids: { push_id: "p" }, at_ms: 1 } },
  ]),
  life(recoveryActor, `p.${uuid}`, [
    {
      type: "recovery.file",
      recovery: { applicant: "p", applicant_name: "n", uuid, sealing: { public_key } },
    },
    { type: "recovery.approve", act: { by: "a", reason: "r" }, replaces: "o", public_key },
    { type: "recovery.approve", act: { by: "b", reason: "r" }, replaces: "o", public_key },
    { type: "recovery.announced", due_at_ms: Date.UTC(2026, 0, 4) },
  ]),
  life(adSessionActor, "s@eu-west1", [{ type: "shown.note", ad_id: "ad_a", until_ms: 1 }]),
];
