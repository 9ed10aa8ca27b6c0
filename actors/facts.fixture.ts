// Complete facts of a party and its pushes, for tests that care about one or two of their members.

import type { AdSeal } from "./messages/ads.ts";
import type {
  BusinessProtocol,
  CertificateFacts,
  KeyFacts,
  MandateFacts,
  PartyFacts,
  PolicyFacts,
} from "./messages/business.ts";
import type { CommandOf } from "./messages/protocol.ts";
import type { HoldDecided, PushFacts } from "./messages/push.ts";
import type { SealedRemoval } from "./messages/removal.ts";
import type { PushSeal } from "./messages/serving.ts";

export const businessUuid = "00000000-0000-4000-8000-000000000001";

export function partyFacts(changes: Partial<PartyFacts> = {}): PartyFacts {
  return {
    uuid: businessUuid,
    kind: "business",
    legal_name: "L",
    country: "GB",
    group: businessUuid,
    blocked_groups: [],
    ...changes,
  };
}

export function keyFacts(changes: Partial<KeyFacts> = {}): KeyFacts {
  return {
    key_id: "k",
    party_uuid: businessUuid,
    role: "integration",
    alg: "Ed25519",
    public_key: { kty: "OKP", crv: "Ed25519", x: "" },
    cose: null,
    valid_from: "2025-01-01T00:00:00.000Z",
    valid_until: null,
    revoked_at: null,
    compromised_from: null,
    ...changes,
  };
}

export function certificateFacts(changes: Partial<CertificateFacts> = {}): CertificateFacts {
  return {
    cert_id: "c",
    uuid: businessUuid,
    status: "active",
    status_effective_from: "t",
    status_reason: null,
    issued_at: "t",
    envelope: "{}",
    ...changes,
  };
}

export function policyFacts(changes: Partial<PolicyFacts> = {}): PolicyFacts {
  return {
    business_uuid: businessUuid,
    version: 1,
    record_id: "aip_x",
    record_base64: "",
    seal: "{}",
    live_from: "t",
    bits: { use: 0, action: 0, blocked: 0 },
    ...changes,
  };
}

export function pushFacts(changes: Partial<PushFacts> = {}): PushFacts {
  return {
    push_id: "bat_0",
    business_uuid: "b",
    path: "A",
    key_id: "k",
    sealer: "system",
    collection: "products",
    seq: 1,
    source: "api",
    mode: "queued",
    records: 1,
    cert_id: "c",
    ai_policy_version: 1,
    sealed_at: "2026-01-01T00:00:00.000Z",
    received_at: "2026-01-01T00:00:00.000Z",
    mandates: null,
    own_names: [],
    number: 1,
    ...changes,
  };
}

/** The seal of a push by key and certificate of the other facts, of the first day of 2026. */
export const pushSeal: PushSeal = {
  key_id: "k",
  cert_id: "c",
  mandates: [],
  sealed_at: "2026-01-01T00:00:00.000Z",
  received_at: "2026-01-01T00:00:00.000Z",
};

/** The seal of a campaign or an ad by the same key. */
export const adSeal: AdSeal = {
  key_id: "k",
  cert_id: "c",
  is_stated: true,
  sealed_at: "2026-01-01T00:00:00.000Z",
  received_at: "2026-01-01T00:00:00.000Z",
};

/** What a removal without content of its own was sealed as. */
export const sealedRemoval: SealedRemoval = {
  document: "{}",
  seal: "{}",
  received_at: "2026-01-01T00:00:00.000Z",
};

/** How a push of which nothing was published ended. */
export const endedPush: CommandOf<BusinessProtocol, "push.finished">["ended"] = {
  received_at_ms: 0,
  number: 1,
  counts: { accepted: 0, updated: 0, rejected: 0 },
};

export const holdDecided: HoldDecided = {
  decision: "confirm",
  key_id: "owner",
  at: "2026-01-02T00:00:00.000Z",
  decided_at: "2026-01-02T00:00:01.000Z",
};

/** An owner's decision about a held push that was sealed with what the other facts have in force. */
export function holdSettlement(
  push_id: string,
  confirmed: boolean,
  changes: Partial<CommandOf<BusinessProtocol, "hold.settle">> = {},
): CommandOf<BusinessProtocol, "hold.settle"> {
  return {
    type: "hold.settle",
    push_id,
    confirmed,
    held: { key_id: "k", mandate_ids: [], cert_id: "c", ai_policy_version: 0 },
    decision: { key_id: "owner", at: "2026-01-01T00:00:00.000Z", envelope: "{}" },
    fallen: null,
    ...changes,
  };
}

export function mandateFacts(changes: Partial<MandateFacts> = {}): MandateFacts {
  return {
    mandate_id: "m",
    business_uuid: businessUuid,
    key_id: "k",
    scope: {
      record_types: ["products"],
      countries: ["GB"],
      directions: ["publish"],
      caps: { records_per_hour: 1, bytes_per_day: 1 },
      source_ip_allow_list: null,
    },
    valid_from: "2026-01-01T00:00:00.000Z",
    valid_until: "2026-03-01T00:00:00.000Z",
    revoked_at: null,
    accepted_at: "2026-01-01T00:00:00.000Z",
    envelope: `{"of":"${changes.mandate_id ?? "m"}"}`,
    ...changes,
  };
}
