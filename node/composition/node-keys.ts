// The keys of one node. A sandbox generates all of them on its first start; a production node generates none.
//   K1. In production a node reads public anchors, the issued key set, and its own working keys. It never reads a private
//       root or issuance key, nor what hosted keys are made from, and does not start if there is one among its keys.
//   K2. A node starts only with a key set that verifies under its anchors and lists, for each use, a working key that the
//       node holds and that may sign now.
//   K3. Every refused start names the file and the remedy, in one sentence.

import { join } from "node:path";
import type { FileKeyStore } from "../../crypto/key-store.ts";
import {
  type Clock,
  type HostedKeys,
  hostedGenerationsMax,
  type Issuance,
  type Signer,
  signingUnavailable,
} from "../../crypto/port.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import { createIssuance } from "../../service/register/issuance.ts";
import type { Register } from "../../service/register/register.ts";
import type { ServiceKeys } from "../../service/register/service-keys.ts";
import type { Trust } from "../../verifier/trust.ts";
import type { NodeConfig } from "../configuration/config.ts";
import { ConfigError } from "../configuration/config-error.ts";
import { assertPublished } from "../configuration/key-config.ts";
import { CurrentKeys } from "../keys/current-keys.ts";
import { createHostedKeys, type HostedSecret, hostedSigner, secretIn } from "../keys/hosted-keys.ts";
import { createRemoteHostedKeys, createRemoteIssuance } from "../keys/issuance-client.ts";
import { ensureSandboxKeys } from "../keys/sandbox-keys.ts";
import { loadSecret } from "../keys/secret-file.ts";
import { anchorsFile, keySetFile, loadAnchors, loadKeySet } from "../keys/trusted-files.ts";
import { type HeldKey, heldKeyFault, keyNameOf, loadHeldKeys, nodeUses } from "../keys/working-keys.ts";

export interface NodeKeys {
  readonly keys: ServiceKeys;
  readonly anchors: Anchors;
  /** Trust in the keys of the key set that is in force. */
  readonly trust: () => Trust;
  readonly currentKeys: CurrentKeys;
  readonly hostedKeys: HostedKeys;
  /** 32 secret bytes: the key for record ids; never rotated. */
  readonly recordIdKey: Uint8Array;
}

/** Where the node's keys come from, and the signers that only this environment has. */
interface KeySource {
  readonly anchors: Anchors;
  readonly path: string;
  /** What the node itself issues with; absent if another process does. */
  readonly issuance?: Issuance;
  readonly grant: Signer | null;
}

/** Throws {@link ConfigError} (K3), or the key store's error for a file that must not be used. */
export async function loadNodeKeys(config: NodeConfig, store: FileKeyStore, clock: Clock): Promise<NodeKeys> {
  const { environment, region } = config;
  const isSandbox = environment === "sandbox";
  const source = isSandbox
    ? await sandboxSource(config, store, clock)
    : await productionSource(config, store);
  const { anchors, path, grant } = source;
  const keySet = await loadKeySet(path, anchors);
  const held = await loadHeldKeys(store, region);
  assertUsable(held, keySet.trust, { config, at: formatTimestamp(clock.now()) });
  const current = new CurrentKeys({ path, anchors, folder: config.keys, store, region }, keySet, held);
  const trust = (): Trust => current.keySet.trust;
  const remote = await remoteOf(config);
  const recordIdKey = await loadRecordIdKey(config, store);
  return {
    keys: {
      environment,
      region,
      grant,
      issuance:
        source.issuance ??
        (remote === null ? noIssuance : createRemoteIssuance({ ...remote, trust, environment, clock })),
      projection: current.signerAt("projection"),
      receipt: current.signerAt("receipt"),
      sidecar: current.signerAt("sidecar"),
      statement: current.signerAt("statement"),
      log: current.signerAt("log"),
      keySet: () => current.keySet.text,
    },
    anchors,
    trust,
    currentKeys: current,
    hostedKeys: isSandbox
      ? createHostedKeys({ secret: recordIdKey, environment, clock })
      : remote === null
        ? noHostedKeys
        : createRemoteHostedKeys(remote),
    recordIdKey,
  };
}

async function sandboxSource(config: NodeConfig, store: FileKeyStore, clock: Clock): Promise<KeySource> {
  // Nodes that share their keys also share the set in which these were issued.
  const path = join(config.cluster === null ? config.home : config.keys, keySetFile);
  const { passkeys } = config;
  if (passkeys === null) throw new Error("A sandbox has a portal.");
  const { anchors, issuance, grant } = await ensureSandboxKeys({
    store,
    path,
    passkeys,
    regions: config.cluster?.regions ?? [config.region],
    nowMs: clock.now(),
  });
  await store.loadOrCreate("record-id", "Ed25519");
  return { anchors, path, grant, issuance: createIssuance(issuance, { environment: "sandbox", clock }) };
}

async function productionSource(config: NodeConfig, store: FileKeyStore): Promise<KeySource> {
  const foreign = (await store.names()).find((name) => /^(root-|issuance-|hosted\b)/.test(name));
  if (foreign !== undefined)
    throw new ConfigError(
      join(config.keys, `${foreign}.jwk`),
      "is a private key of another machine; it must not be among the keys of a node: remove it from this machine",
    );
  const anchors = await loadAnchors(join(config.keys, anchorsFile), "production");
  assertPublished(config.passkeys, anchors.passkeys);
  return { anchors, path: join(config.keys, keySetFile), grant: null };
}

/** Where the process is that issues, and how the node proves itself to it; null for none. */
async function remoteOf({ issuance }: NodeConfig) {
  if (issuance === null) return null;
  const { address, secretFile } = issuance;
  return { address, secret: await loadSecret(secretFile) };
}

/** The node serves everything else without issuance. */
const noIssuance: Issuance = {
  issue: async () => {
    throw signingUnavailable(
      "issuance",
      "This node can issue nothing: it has no issuance process (SVC_ISSUANCE).",
    );
  },
};

const noHostedKeys: HostedKeys = { publicKey: noHostedKey, seal: noHostedKey };

async function noHostedKey(): Promise<never> {
  throw signingUnavailable("hosted_key", "No key is held for a business: the node has no issuance process.");
}

/** Throws unless the node has a usable key for each use (K2). */
function assertUsable(
  held: readonly HeldKey[],
  trust: Trust,
  { config, at }: { readonly config: NodeConfig; readonly at: string },
): void {
  const { region } = config;
  for (const use of nodeUses) {
    const own = held.filter((each) => each.use === use);
    const faults = own.map((each) => heldKeyFault(each, trust, { region, at }));
    if (faults.includes(null)) continue;
    const [first] = own;
    if (first === undefined)
      throw new ConfigError(
        join(config.keys, `${keyNameOf(use, region)}.jwk`),
        `is missing; bring the ${use} key that was made for this node`,
      );
    throw new ConfigError(
      join(config.keys, `${first.name}.jwk`),
      `cannot sign ${use === "statement" ? "statements" : `${use}s`}: ${faults[0]}; bring a key and a key set that match`,
    );
  }
}

async function loadRecordIdKey(config: NodeConfig, store: FileKeyStore): Promise<Uint8Array> {
  const path = join(config.keys, "record-id.jwk");
  const jwk = await store.loadOfAlgorithm("record-id", "Ed25519");
  if (jwk === null)
    throw new ConfigError(path, "is missing; bring the secret with which all nodes make record ids");
  const secret = secretIn(jwk);
  if (secret !== null) return secret;
  throw new ConfigError(
    path,
    "contains no secret; restore it from the backup, because record ids depend on it",
  );
}

// The key that the sandbox's own samples and grants seal with.
//   B3. A business whose key the register knows never gets a second one: where it is not one that follows from this node's secret, the
//       node says so.
//   B4. In production nothing is sealed so: what a hosted key seals there, a person confirmed (service/portal/hosted-publishing.ts).

/** The signer for a business's hosted key in a sandbox. Throws {@link SigningUnavailable} if there is none here (B3, B4). */
export function createHostedSigner(
  deps: HostedSecret & { readonly register: Register },
): (businessUuid: string) => Promise<Signer> {
  return async (business_uuid) => {
    if (deps.environment === "production")
      throw signingUnavailable("hosted_key", "In production nodes hold no key for a business.");
    const live = (await deps.register.keys(business_uuid)).filter(
      ({ role, revoked_at }) => role === "hosted" && revoked_at === null,
    );
    for (let generation = 0; generation <= hostedGenerationsMax; generation += 1) {
      const own = hostedSigner(deps, { business_uuid, generation });
      if (live.length === 0 || live.some(({ key_id }) => key_id === own.keyId)) return own;
    }
    throw signingUnavailable(
      "hosted_key",
      `The key that is held for business ${business_uuid} does not follow from the secret of this node.`,
    );
  };
}
