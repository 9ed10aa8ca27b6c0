// The keys that a sandbox generates for itself on its first start, with a key set that lists them.
//   K1. A key set is written once and then read: it is never silently reissued, and nodes that start concurrently all use
//       the same one.

import { keepFirst, readFileIfThere } from "../../crypto/durable-file.ts";
import type { FileKeyStore } from "../../crypto/key-store.ts";
import type { Signer } from "../../crypto/port.ts";
import { createSigner } from "../../crypto/private-jwk.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import type { KeyAlgorithm } from "../../protocol/keys/jwk.ts";
import type { KeyUse } from "../../protocol/keys/key-set.ts";
import { certifiedKeyOf, certify, type KeyRequest, type Pair, rootAnchors } from "./key-certificates.ts";
import { issueKeySet } from "./next-key-set.ts";
import { keyNameOf } from "./working-keys.ts";

/** Keys of a sandbox live ten years: nobody rotates them. */
const lifeMs = 10 * 365 * 86_400_000;

export interface SandboxKeys {
  readonly anchors: Anchors;
  readonly issuance: Pair;
  /** Signs sandbox grants. */
  readonly grant: Signer;
}

interface SandboxPlace {
  readonly store: FileKeyStore;
  /** The file of the key set. */
  readonly path: string;
  /** All regions: there is one receipt key for each. */
  readonly regions: readonly string[];
  readonly passkeys: Anchors["passkeys"];
  readonly nowMs: number;
}

/** Generates what is missing. */
export async function ensureSandboxKeys(place: SandboxPlace): Promise<SandboxKeys> {
  const { store } = place;
  const signer = async (name: string, algorithm: KeyAlgorithm): Promise<Signer> =>
    createSigner(await store.loadOrCreate(name, algorithm));
  const pair = async (name: string): Promise<Pair> => [
    await signer(`${name}-p256`, "ES256"),
    await signer(`${name}-mldsa65`, "ML-DSA-65"),
  ];
  const root = await pair("root");
  const issuance = await pair("issuance");
  const anchors: Anchors = {
    v: 1,
    environment: "sandbox",
    roots: rootAnchors(certifiedKeyOf(root[0]), certifiedKeyOf(root[1])),
    passkeys: place.passkeys,
    log: { origin: "sandbox.svc/log", key_name: "svc-log" },
  };
  if ((await readFileIfThere(place.path)) === null) {
    const working = (use: KeyUse, region = ""): Promise<Signer> => signer(keyNameOf(use, region), "Ed25519");
    const requests = [
      ...(["projection", "sidecar", "statement", "log"] as const).map((use) => ({ use, region: null })),
      ...place.regions.map((region) => ({ use: "receipt" as const, region })),
    ].map(async ({ use, region }) => requestOf(place, use, [await working(use, region ?? "")], region));
    await issueFirst(place, { anchors, root, issuance, requests: await Promise.all(requests) });
  }
  return { anchors, issuance, grant: await signer("grant", "Ed25519") };
}

async function issueFirst(
  place: SandboxPlace,
  made: {
    readonly anchors: Anchors;
    readonly root: Pair;
    readonly issuance: Pair;
    readonly requests: readonly KeyRequest[];
  },
): Promise<void> {
  const { anchors, root, issuance, requests } = made;
  const at = { environment: anchors.environment, issuedAt: formatTimestamp(place.nowMs) };
  const certificates = await Promise.all(
    (
      [
        ["root", root],
        ["issuance", issuance],
      ] as const
    ).map(async ([use, pair]) => {
      const certificate = await certify(requestOf(place, use, pair), root, at);
      if (!certificate.ok) throw new Error(certificate.detail);
      return certificate.value;
    }),
  );
  const { nowMs } = place;
  const issued = await issueKeySet({
    anchors,
    issuance,
    certificates,
    requests,
    nowMs,
    previous: null,
    ends: new Map(),
    compromised: new Map(),
  });
  if (!issued.ok) throw new Error(issued.detail);
  await keepFirst(place.path, issued.value.text);
}

function requestOf(
  { nowMs }: SandboxPlace,
  use: KeyUse,
  keys: readonly Signer[],
  region: string | null = null,
): KeyRequest {
  return {
    use,
    region,
    keys: keys.map(certifiedKeyOf),
    valid_from: formatTimestamp(nowMs),
    valid_until: formatTimestamp(nowMs + lifeMs),
  };
}
