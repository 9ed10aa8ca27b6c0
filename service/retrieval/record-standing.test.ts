import { describe, expect, it } from "vitest";
import type { CertificateFacts, KeyFacts, MandateFacts } from "../../actors/messages/business.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import type { KeyWindow } from "../../protocol/keys/signatures.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import { businessUuid, keyFacts } from "../authentication.fixture.ts";
import { createRecordStanding } from "./record-standing.ts";

const day = (of: number) => `2026-03-${String(of).padStart(2, "0")}T00:00:00.000Z`;
const hash = (of: string) => `sha256:${of.repeat(64)}`;
const certId = hash("c");
const keyId = "k".repeat(43);
const jwk = { kty: "OKP", crv: "Ed25519", x: "" } as const;

interface Sealed {
  readonly at: number;
  readonly key?: string;
  readonly mandate?: string;
}

/** A sidecar of a version that was sealed and received on a day. */
function sidecarOf({ at, key = keyId, mandate = "m" }: Sealed): string {
  const payload = {
    action: "publish",
    ai_policy_version: 0,
    batch_id: `bat_${"a".repeat(24)}`,
    business_uuid: businessUuid,
    cert_id: certId,
    change: 1,
    generation: 1,
    path: "A",
    published_at: day(at),
    received_at: day(at),
    record_id: `svc_${"a".repeat(26)}`,
    record_type: "products",
    record_version: 1,
    scope: {
      basis: "mandate",
      key_id: key,
      kind: "system",
      mandate_id: mandate,
      permissions: ["publish:products"],
    },
    seal_ok: true,
    sealed_at: day(at),
    sealed_by_key_id: key,
    sha256: hash("1"),
    source: "api",
    v: 2,
  };
  return JSON.stringify({
    payloadType: payloadTypes["sidecar.v2"],
    payload: toBase64(utf8(JSON.stringify(payload))),
    signatures: [{ keyid: keyId, sig: toBase64(new Uint8Array(64)) }],
  });
}

function rowOf(signature: string): string {
  const head = `{"adl_key_id":"k","adl_origin":"${hash("1")}","adl_origin_cert":"${certId}","adl_proj":"products/1"`;
  return `${head},"adl_row_sig":"${signature}","ai_policy_version":0,"record_id":"r"}`;
}

const hitOf = (signature: string, business = businessUuid, generation = 1) => {
  return { record_id: "r", business_uuid: business, generation, row: rowOf(signature) };
};

interface Known {
  readonly keys?: readonly KeyFacts[];
  readonly certificates?: readonly CertificateFacts[];
  readonly mandates?: readonly MandateFacts[];
  /** The versions of the record, newest first, each by the signature of its row. */
  readonly versions?: readonly (readonly [signature: string, Sealed])[];
}

const compromised = (from: number, id = keyId) =>
  ended({ compromised_from: day(from), revoked_at: day(9) }, id);
const ended = (window: Partial<KeyWindow>, id = keyId): KeyFacts => {
  const facts = keyFacts(id, jwk, { role: "integration", party: businessUuid });
  return { ...facts, valid_from: day(1), valid_until: null, ...window };
};
const active: CertificateFacts = {
  cert_id: certId,
  uuid: businessUuid,
  status_reason: null,
  issued_at: day(1),
  envelope: "",
  status: "active",
  status_effective_from: day(1),
};

function standing({ keys = [compromised(4)], certificates = [active], mandates = [], versions = [] }: Known) {
  const reads = { register: 0, records: 0 };
  const counted = async <T>(facts: T): Promise<T> => {
    reads.register += 1;
    return facts;
  };
  const stored = versions.map(([signature, sealed], at) => {
    return { generation: versions.length - at, hash: hash("1"), signature, sealed };
  });
  const judged = createRecordStanding({
    register: part({
      mayHaveFallen: (uuid) => uuid === businessUuid,
      keys: () => counted(keys),
      certificates: () => counted(certificates),
      mandates: () => counted(mandates),
    }),
    records: part({
      listVersions: async () => stored.slice(0, 1).map((each) => ({ ...each, published_at_ms: 0 })),
      readPublished: async (id) => {
        reads.records += 1;
        const found = stored.find(({ generation }) => generation === id.generation);
        if (found === undefined) return null;
        const { signature, sealed } = found;
        const place = { seal_id: "s", leaf_index: 0, proof: new Uint8Array() };
        return { ...id, ...place, row: rowOf(signature), sidecar: sidecarOf(sealed) };
      },
    }),
  });
  return { judged, reads };
}

const stands = async (known: Known, sealed: Sealed) =>
  standing(known).judged.version({ business_uuid: businessUuid, sidecar: sidecarOf(sealed) });

describe("a version", () => {
  it("stands as far as the service received it before its key was in other hands", async () => {
    expect([await stands({}, { at: 3 }), await stands({}, { at: 5 })]).toEqual([true, false]);
    expect(await stands({ keys: [ended({ revoked_at: day(9) })] }, { at: 5 })).toBe(true);
  });

  it("falls with a certificate that was revoked from before its seal", async () => {
    const revoked: CertificateFacts = {
      ...active,
      cert_id: hash("d"),
      issued_at: day(9),
      status: "revoked",
      status_effective_from: day(4),
    };
    const known = { keys: [ended({})], certificates: [revoked, active] };
    expect([await stands(known, { at: 3 }), await stands(known, { at: 5 })]).toEqual([true, false]);
  });

  it("falls with a mandate whose sealer was in other hands before it began", async () => {
    const envelope = JSON.stringify({
      payloadType: payloadTypes["mandate.v1"],
      payload: toBase64(utf8("{}")),
      signatures: [{ keyid: "owner", sig: toBase64(new Uint8Array(64)) }],
    });
    const mandate = { mandate_id: "m", valid_from: day(2), revoked_at: null, envelope } as MandateFacts;
    const known = { keys: [ended({}), compromised(1, "owner")], mandates: [mandate] };
    expect([await stands(known, { at: 3 }), await stands(known, { at: 3, mandate: "m2" })]).toEqual([
      false,
      true,
    ]);
  });

  it("stands while the register has not heard of its key or its certificate (RN3)", async () => {
    expect(await stands({}, { at: 5, key: "A".repeat(43) })).toBe(true);
    expect(await stands({ keys: [ended({})], certificates: [] }, { at: 5 })).toBe(true);
  });

  it("is judged without a read where nothing of its business can have fallen (RN1)", () => {
    const { judged, reads } = standing({});
    const version = { business_uuid: "another", sidecar: "no envelope" };
    expect(judged.version(version)).toBe(true);
    const versions = [
      { ...version, record_id: "r", generation: 1, hash: "h", bytes: new Uint8Array(), published_at_ms: 0 },
    ];
    expect(judged.versions("another", versions)).toBe(versions);
    expect(reads).toEqual({ register: 0, records: 0 });
  });
});

describe("the newest version of a record", () => {
  it("is judged whether it is served or not, and one that never was stands", async () => {
    const newest = (versions: Known["versions"] = []) =>
      standing({ versions }).judged.newest(businessUuid, "r");
    expect(
      await newest([
        ["new", { at: 5 }],
        ["old", { at: 3 }],
      ]),
    ).toBe(false);
    expect(
      await newest([
        ["new", { at: 3 }],
        ["old", { at: 5 }],
      ]),
    ).toBe(true);
    expect(await newest()).toBe(true);
    expect(standing({}).judged.newest("another", "r")).toBe(true);
  });
});

describe("a row", () => {
  it("is judged by the seal of the version that has exactly this row, of several with the same bytes", async () => {
    const { judged } = standing({
      versions: [
        ["new", { at: 5 }],
        ["old", { at: 3 }],
      ],
    });
    const [older, newer, foreign] = [hitOf("old"), hitOf("new", businessUuid, 2), hitOf("old", "another")];
    expect(await judged.rows([newer, older, foreign])).toEqual([older, foreign]);
  });

  it("has its seal read once, and what the register says each time (RN2)", async () => {
    const { judged, reads } = standing({ versions: [["a", { at: 3 }]] });
    for (const _ of [1, 2, 3]) expect(await judged.rows([hitOf("a")])).toHaveLength(1);
    expect(reads).toEqual({ register: 9, records: 1 });
  });

  it("is not served if its version is not found, or has another row (RN4)", async () => {
    const { judged } = standing({ versions: [["other", { at: 3 }]] });
    expect(await judged.rows([hitOf("a"), hitOf("other", businessUuid, 2)])).toEqual([]);
    expect(await judged.rows([hitOf("other")])).toHaveLength(1);
  });

  it("is judged without a read where nothing of its business can have fallen (RN1)", () => {
    const { judged, reads } = standing({});
    const hits = [hitOf("a", "another"), hitOf("b", "another")];
    expect(judged.rows(hits)).toBe(hits);
    expect(reads).toEqual({ register: 0, records: 0 });
  });
});
