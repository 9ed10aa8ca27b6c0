// The keys of one node: loaded from its key store, and in the sandbox made on first start.
//   K1. A key set is written once and then read: what was issued is never quietly issued again.
//   K2. In production a node makes no keys of trust: root and issuance keys are made elsewhere and brought in.

import { join } from "node:path";
import { createBatchSigner } from "../crypto/batch-signer.ts";
import { keepFirst, readFileIfThere } from "../crypto/durable-file.ts";
import { createSigner } from "../crypto/file-signer.ts";
import type { FileKeyStore } from "../crypto/key-store.ts";
import type { Signer } from "../crypto/port.ts";
import type { PrivateJwk } from "../crypto/private-jwk.ts";
import { createTurnSigner } from "../crypto/turn-signer.ts";
import type { Anchors } from "../protocol/anchors.ts";
import { parseBase64Url } from "../protocol/bytes.ts";
import { type Envelope, payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { algorithmOf, type KeyAlgorithm } from "../protocol/jwk.ts";
import {
  type KeyCertificate,
  type KeyEntry,
  type KeyUse,
  keyCertificatePayload,
  keySetPayload,
} from "../protocol/key-set.ts";
import type { ServiceKeys } from "../service/service-keys.ts";
import { signEnvelope } from "../service/sign-envelope.ts";
import type { NodeConfig } from "./config.ts";
import { ConfigError } from "./config-error.ts";

export interface NodeKeys {
  readonly keys: ServiceKeys;
  readonly anchors: Anchors;
  /** 32 secret bytes: the key of record ids; never rotates. */
  readonly recordIdKey: Uint8Array;
}

/** Working keys live ten years here; a real deployment rotates them by issuing a new key set. */
const lifeMs = 10 * 365 * 86_400_000;
/** The samples of a sandbox are in force since before its first start; so are the keys that say so. */
const sandboxLeadMs = 86_400_000;

type Pair = readonly [classical: Signer, postQuantum: Signer];

export async function loadNodeKeys(
  config: NodeConfig,
  store: FileKeyStore,
  passkeys: Anchors["passkeys"],
  nowMs: number,
): Promise<NodeKeys> {
  // Nodes that share their keys share the set in which these were issued.
  const path = join(config.cluster === null ? config.home : config.keys, "key-set.json");
  const existing = await readFileIfThere(path);
  if (existing === null && config.environment === "production") {
    throw new ConfigError(
      path,
      "is missing; a production node needs the key set and keys that were issued for it",
    );
  }
  const signer = async (name: string, algorithm: KeyAlgorithm): Promise<Signer> =>
    createSigner(await store.loadOrCreate(name, algorithm));
  const pair = async (name: string): Promise<Pair> => [
    await signer(`${name}-p256`, "ES256"),
    await signer(`${name}-mldsa65`, "ML-DSA-65"),
  ];
  const root = await pair("root");
  const issuance = await pair("issuance");
  const working = await workingKeys(config, store);
  const keySet = existing ?? (await issueOnce(path, { config, store, root, issuance, working, nowMs }));
  const recordId = await store.loadOrCreate("record-id", "Ed25519");
  const recordIdKey = "d" in recordId ? parseBase64Url(recordId.d) : null;
  if (!recordIdKey)
    throw new ConfigError(
      "record-id.jwk",
      "holds no secret; restore it from the backup, for record ids depend on it",
    );
  return {
    keys: {
      environment: config.environment,
      region: config.region,
      projection: working.projection,
      receipt: working.receipt,
      sidecar: working.sidecar,
      statement: working.statement,
      grant: config.environment === "sandbox" ? await signer("grant", "Ed25519") : null,
      issuance,
      keySet,
    },
    anchors: {
      v: 1,
      environment: config.environment,
      roots: [anchorOf(root[0], root[1]), anchorOf(root[1], root[0])],
      passkeys,
      log: { origin: `${config.environment}.svc/log`, key_name: "svc-log" },
    },
    recordIdKey,
  };
}

/** The set that was issued first, whichever node made it. */
async function issueOnce(
  path: string,
  make: Pick<Issue, "root" | "issuance" | "working" | "nowMs"> & {
    readonly config: NodeConfig;
    readonly store: FileKeyStore;
  },
): Promise<string> {
  const { config, store } = make;
  const receipts: Issue["receipts"] = await Promise.all(
    (config.cluster?.regions ?? [config.region]).map(async (region) => ({
      region,
      key: region === config.region ? make.working.receipt : createSigner(await receiptKey(store, region)),
    })),
  );
  return keepFirst(
    path,
    await issueKeySet({ ...make, receipts, isSandbox: config.environment === "sandbox" }),
  );
}

function receiptKey(store: FileKeyStore, region: string): Promise<PrivateJwk> {
  return store.loadOrCreate(`receipt-${region}`, "Ed25519");
}

async function workingKeys(config: NodeConfig, store: FileKeyStore): Promise<Issue["working"]> {
  const load = (name: string) => store.loadOrCreate(name, "Ed25519");
  return {
    // Rows and sidecars are signed by the hundred.
    projection: createBatchSigner(await load("projection")),
    receipt: createTurnSigner(await receiptKey(store, config.region)),
    sidecar: createBatchSigner(await load("sidecar")),
    statement: createSigner(await load("statement")),
    log: createSigner(await load("log")),
  };
}

function anchorOf(half: Signer, other: Signer): Anchors["roots"][number] {
  return {
    key_id: half.keyId,
    alg: algorithmOf(half.publicJwk),
    public_key: half.publicJwk,
    pair: other.keyId,
  };
}

interface Issue {
  readonly root: Pair;
  readonly issuance: Pair;
  readonly working: Readonly<Record<"projection" | "receipt" | "sidecar" | "statement" | "log", Signer>>;
  /** One of each region. */
  readonly receipts: readonly { readonly region: string; readonly key: Signer }[];
  readonly nowMs: number;
  readonly isSandbox: boolean;
}

/** Roots certify themselves and the issuance keys; issuance keys certify the working keys and sign the set. */
async function issueKeySet(issue: Issue): Promise<string> {
  const entries: KeyEntry[] = [];
  const certificates: Envelope[] = [];
  const certify = async (
    use: KeyUse,
    keys: readonly Signer[],
    issuer: Pair,
    region: string | null = null,
  ): Promise<void> => {
    const certificate = keyCertificate(issue, { use, keys, issuer, region });
    certificates.push(
      await signEnvelope(payloadTypes["key-certificate.v1"], keyCertificatePayload(certificate), issuer),
    );
    entries.push(...keyEntries(certificate));
  };
  await certify("root", issue.root, issue.root);
  await certify("issuance", issue.issuance, issue.root);
  for (const [use, key] of Object.entries(issue.working)) {
    if (use !== "receipt") await certify(use as KeyUse, [key], issue.issuance);
  }
  for (const { region, key } of issue.receipts) await certify("receipt", [key], issue.issuance, region);
  const payload = keySetPayload({
    v: 1,
    issued_at: formatTimestamp(issue.nowMs),
    keys: entries,
    certificates,
  });
  const signed = await signEnvelope(payloadTypes["key-set.v1"], payload, issue.issuance);
  return JSON.stringify({ keys: entries, signed });
}

function keyCertificate(
  issue: Issue,
  {
    use,
    keys,
    issuer,
    region,
  }: {
    readonly use: KeyUse;
    readonly keys: readonly Signer[];
    readonly issuer: Pair;
    readonly region: string | null;
  },
): KeyCertificate {
  return {
    v: 1,
    use,
    region,
    keys: keys.map((key) => ({
      key_id: key.keyId,
      alg: algorithmOf(key.publicJwk),
      public_key: key.publicJwk,
    })),
    valid_from: formatTimestamp(issue.nowMs - (issue.isSandbox ? sandboxLeadMs : 0)),
    valid_until: formatTimestamp(issue.nowMs + lifeMs),
    issuer: issuer.map((half) => half.keyId),
    issued_at: formatTimestamp(issue.nowMs),
    compromised_from: null,
    ...(issue.isSandbox ? { sandbox: true as const } : {}),
  };
}

function keyEntries(certificate: KeyCertificate): readonly KeyEntry[] {
  const { use, region, valid_from, valid_until, compromised_from } = certificate;
  return certificate.keys.map((key, index) => ({
    ...key,
    use,
    region,
    pair: certificate.keys.length === 2 ? (certificate.keys[1 - index]?.key_id ?? null) : null,
    valid_from,
    valid_until,
    compromised_from,
  }));
}
