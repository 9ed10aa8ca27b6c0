// Key ceremonies: what an operator does with keys of the service, each step on the machine that has the private halves.
//   Y1. Private halves are written once, for their owner alone, and never printed; none is written over.
//   Y2. A window is said when a key is made, and certified as said; the owner of the root reads it first.
//   Y3. A key set is judged by everybody's verifier before it is written, and so is the one that it follows.

import { createSigner } from "../../crypto/file-signer.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import type { Anchors } from "../../protocol/anchors.ts";
import { parseAnchors } from "../../protocol/anchors.ts";
import type { JsonValue } from "../../protocol/canonical-json.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { KeyUse } from "../../protocol/key-set.ts";
import type { Trust } from "../../verifier/trust.ts";
import { ConfigError } from "../config-error.ts";
import {
  certificatesText,
  loadCertificates,
  loadRequests,
  type OutputFile,
  requestsText,
  writeOutput,
} from "./exchange-files.ts";
import { certifiedKeyOf, certify, type KeyRequest, type Pair, rootAnchors } from "./key-certificates.ts";
import { issueKeySet } from "./next-key-set.ts";
import { loadAnchors, loadKeySet } from "./trusted-files.ts";
import { keyNameOf, nodeUses } from "./working-keys.ts";

export interface Window {
  readonly valid_from: string;
  readonly valid_until: string;
}

/** What a node of this role signs with. */
export const roleUses = { serving: nodeUses, log: ["log"] } as const;
export type NodeRole = keyof typeof roleUses;

/** Makes a root or an issuance pair in the folder `keys`. */
export async function createPair(made: {
  readonly use: "root" | "issuance";
  readonly keys: string;
  readonly public: OutputFile;
  readonly window: Window;
}): Promise<KeyRequest> {
  const store = await FileKeyStore.open(made.keys);
  const pair: Pair = [
    createSigner(await store.createNew(`${made.use}-p256`, "ES256")),
    createSigner(await store.createNew(`${made.use}-mldsa65`, "ML-DSA-65")),
  ];
  const request = { use: made.use, region: null, keys: pair.map(certifiedKeyOf), ...made.window };
  await writeOutput(made.public, requestsText([request]));
  return request;
}

/** Makes the working keys of a role in the folder `keys`, beside those that are there. */
export async function createWorking(made: {
  readonly role: NodeRole;
  readonly region: string;
  /** Uses of the role to make keys for; all of them unless told otherwise. */
  readonly uses?: readonly string[];
  readonly keys: string;
  readonly public: OutputFile;
  readonly window: Window;
  readonly nowMs: number;
}): Promise<readonly KeyRequest[]> {
  const store = await FileKeyStore.open(made.keys);
  const requests: KeyRequest[] = [];
  // Tells them from the keys before; in lower case, as names in the store are.
  const tag = formatTimestamp(made.nowMs)
    .replaceAll(/[^0-9T]/g, "")
    .toLowerCase();
  for (const use of roleUses[made.role].filter((each) => made.uses?.includes(each) ?? true)) {
    const name = `${keyNameOf(use, made.region)}.${tag}`;
    const signer = createSigner(await store.createNew(name, "Ed25519"));
    const region = use === "receipt" ? made.region : null;
    requests.push({ use, region, keys: [certifiedKeyOf(signer)], ...made.window });
  }
  await writeOutput(made.public, requestsText(requests));
  return requests;
}

/** Makes the secret that record ids are made with: once for the whole service, for ever. */
export async function createRecordId(keys: string): Promise<void> {
  await (await FileKeyStore.open(keys)).createNew("record-id", "Ed25519");
}

/** A root certifies what a file asks for: itself, an issuance pair, or another root. */
export async function certifyRequests(asked: {
  /** Folder of the root that certifies. */
  readonly root: string;
  readonly requests: string;
  readonly environment: Anchors["environment"];
  /** Ends the keys at this instant, whatever their file says; null to leave it. */
  readonly until: string | null;
  readonly out: OutputFile;
  readonly nowMs: number;
}): Promise<readonly KeyRequest[]> {
  const root = await loadPair(asked.root, "root");
  const requests = (await loadRequests(asked.requests)).map((each) =>
    asked.until === null ? each : { ...each, valid_until: asked.until },
  );
  const at = { environment: asked.environment, issuedAt: formatTimestamp(asked.nowMs) };
  const certificates = [];
  for (const request of requests) {
    if (request.use !== "root" && request.use !== "issuance")
      throw new ConfigError(
        asked.requests,
        `asks for a ${request.use} key; a root certifies roots and issuance keys`,
      );
    const certificate = await certify(request, root, at);
    if (!certificate.ok) throw new ConfigError(asked.requests, `cannot be certified: ${certificate.detail}`);
    certificates.push(certificate.value);
  }
  await writeOutput(asked.out, certificatesText(certificates));
  return requests;
}

/** Writes the anchors that pin the roots of the files. */
export async function writeAnchors(given: {
  readonly roots: readonly string[];
  readonly environment: Anchors["environment"];
  readonly passkeys: Anchors["passkeys"];
  readonly logOrigin: string;
  readonly out: OutputFile;
}): Promise<Anchors> {
  const roots: Anchors["roots"][number][] = [];
  for (const file of given.roots) {
    for (const { use, keys } of await loadRequests(file)) {
      const [classical, postQuantum] = keys;
      if (use !== "root" || classical === undefined || postQuantum === undefined)
        throw new ConfigError(file, `holds a ${use} key; anchors pin roots`);
      roots.push(...rootAnchors(classical, postQuantum));
    }
  }
  const anchors: Anchors = {
    v: 1,
    environment: given.environment,
    roots,
    passkeys: given.passkeys,
    log: { origin: given.logOrigin, key_name: "svc-log" },
  };
  const read = parseAnchors(anchors as unknown as JsonValue);
  if (!read.ok)
    throw new ConfigError(
      given.out.path,
      `would not be valid anchors: ${read.detail} (${read.pointer ?? ""})`,
    );
  await writeOutput(given.out, `${JSON.stringify(anchors, null, 2)}\n`);
  return anchors;
}

export interface IssueRequest {
  /** Folder of the issuance pair that signs. */
  readonly issuance: string;
  readonly anchors: string;
  readonly environment: Anchors["environment"];
  /** File of the set before; null for the first. */
  readonly previous: string | null;
  readonly requests: readonly string[];
  readonly certificates: readonly string[];
  readonly ends: ReadonlyMap<string, string>;
  readonly compromised: ReadonlyMap<string, string>;
  readonly out: OutputFile;
  readonly nowMs: number;
}

/** Issues the next key set (Y3). */
export async function writeKeySet(asked: IssueRequest): Promise<Trust> {
  const anchors = await loadAnchors(asked.anchors, asked.environment);
  const previous = asked.previous === null ? null : await loadKeySet(asked.previous, anchors);
  const issued = await issueKeySet({
    anchors,
    previous: previous?.trust.keySet ?? null,
    issuance: await loadPair(asked.issuance, "issuance"),
    certificates: (await Promise.all(asked.certificates.map(loadCertificates))).flat(),
    requests: (await Promise.all(asked.requests.map(loadRequests))).flat(),
    ends: asked.ends,
    compromised: asked.compromised,
    nowMs: asked.nowMs,
  });
  if (!issued.ok) throw new ConfigError(asked.out.path, `is not written: ${issued.detail}`);
  await writeOutput(asked.out, `${issued.value.text}\n`);
  return issued.value.trust;
}

/** Both halves of a pair from its folder. Throws {@link ConfigError} for one that is not there. */
export async function loadPair(folder: string, use: KeyUse): Promise<Pair> {
  const store = await FileKeyStore.open(folder);
  const half = async (name: string, algorithm: "ES256" | "ML-DSA-65") => {
    const jwk = await store.loadOfAlgorithm(name, algorithm);
    if (jwk === null)
      throw new ConfigError(`${folder}/${name}.jwk`, `is missing; name the folder of the ${use} pair`);
    return createSigner(jwk);
  };
  return [await half(`${use}-p256`, "ES256"), await half(`${use}-mldsa65`, "ML-DSA-65")];
}
