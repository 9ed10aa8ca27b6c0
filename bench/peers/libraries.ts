// Peers that are libraries, each of which judges one thing in one process on one core: the signature of a request, and a signed
// document with what proves it offline. What is exported beside the peers runs in child processes, one for each side and round.

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { signRequest } from "../../client/sign-request.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { createSigner, generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { pae } from "../../protocol/dsse.ts";
import {
  checkSignatureTimes,
  coversExactly,
  parseSignatureHeaders,
  signatureBase,
} from "../../protocol/http-signature.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import { sealEntry, sealLeafOf } from "../../protocol/log/leaves.ts";
import type { Result } from "../../protocol/result.ts";
import { parseRecordSeal } from "../../protocol/seal.ts";
import { certificateEnvelopes } from "../../verifier/certificate.ts";
import { parseFetched } from "../../verifier/fetched-record.ts";
import type { InclusionEvidence } from "../../verifier/log.ts";
import { createVerifier } from "../../verifier/verifier.ts";
import { fetchPlan } from "../catalogue.ts";
import { takeRounds } from "../figures.ts";
import { merchantOf } from "../parties.ts";
import { ask } from "../requests.ts";
import { costOf, type Spent, spend } from "../work.ts";
import { type OpenNode, recordIds, type World } from "../world.ts";
import { figuresOf, loaderOf, type Peer, packagesOf, pinned } from "./peer.ts";

const program = "peers/libraries.ts";
const oneCore = "One process and one core on both sides. They write nothing.";

const requestLibraries = ["http-message-signatures", "http-message-sig"] as const;
type RequestLibrary = (typeof requestLibraries)[number];

export const httpSignatures: Peer = {
  does: "The signature (RFC 9421, Ed25519) of one signed fetch, from its headers on, again and again, by two libraries of npm.",
  differs:
    "Both libraries read any signature that the RFC allows. Ours accepts one form of it, besides checks that exactly the required components are covered, and refuses keys and signatures of small order.",
  configuration: `${requestLibraries.map(pinned).join(" and ")}, with the required parameters and components named; the crypto of the service verifies for all, with the key read once.`,
  durability: oneCore,
  measure: async (world) => {
    const packages = await packagesOf(world);
    const count = world.size(50_000, 5_000);
    const side = (by: RequestLibrary | "ours") => async () =>
      costOf(await world.callIn(program, "verifyRequests", { packages, by, count }), count);
    const figures = [];
    for (const by of requestLibraries) {
      const rounds = await takeRounds(world.size(5, 2), { ours: side("ours"), floor: side(by) });
      figures.push(...figuresOf(`requests verified, beside ${by}`, rounds));
    }
    return figures;
  },
};

/** What of http-message-sig is used. */
interface MessageSig {
  verifySignature(request: unknown, options: Readonly<Record<string, unknown>>): Promise<unknown>;
}

export async function verifyRequests(of: {
  readonly packages: string;
  readonly by: RequestLibrary | "ours";
  readonly count: number;
}): Promise<Spent> {
  const key = createSigner(generatePrivateJwk("Ed25519"));
  const url = new URL(`https://retrieval.example${fetchPlan("svc_nprqfviaaaagiaaaaaaaaaaaaa").path}`);
  const method = "GET";
  const { headers } = await signRequest({
    method,
    url,
    key,
    body: null,
    tag: "svc-retrieval",
    lifetimeSeconds: 300,
    created: Math.floor(Date.now() / 1_000),
    nonce: randomBytes(32).toString("base64url"),
  });
  const fields = ["@method", "@authority", "@path"];
  const params = ["created", "expires", "nonce", "keyid", "tag"];
  const check = (data: Uint8Array, signature: Uint8Array): boolean =>
    nativeCrypto.verify(key.publicJwk, data, signature);
  const load = loaderOf(of.packages);
  const ways: Readonly<Record<typeof of.by, () => () => unknown>> = {
    ours: () => () => {
      const received = parseSignatureHeaders({
        signatureInput: headers["signature-input"] ?? null,
        signature: headers["signature"] ?? null,
        acceptedTags: ["svc-retrieval"],
      });
      if (!received.ok) return false;
      const { host: authority, pathname: path } = url;
      const parts = { method, authority, path, query: null, contentDigest: null };
      const times = checkSignatureTimes(received.value.params, Math.floor(Date.now() / 1_000));
      if (!coversExactly(received.value, parts) || !times.ok) return false;
      const base = utf8(signatureBase(parts, received.value.paramsText));
      return check(base, received.value.signature);
    },
    "http-message-signatures": () => {
      const { httpbis }: typeof import("http-message-signatures") = load("http-message-signatures");
      const found = {
        id: key.keyId,
        algs: ["ed25519"],
        verify: async (...of: [Buffer, Buffer]) => check(...of),
      };
      const config = { keyLookup: async () => found, requiredFields: fields, requiredParams: params };
      const request = { method, url, headers: { ...headers } };
      return () => httpbis.verifyMessage(config, request);
    },
    "http-message-sig": () => {
      const { verifySignature }: MessageSig = load("http-message-sig");
      const sent = Object.entries(headers).map(([name, value]) => ({ name, value }));
      const request = { kind: "request", method, targetUri: url.href, fields: sent };
      const policy = { algorithms: ["ed25519"], requiredComponents: fields, requiredParameters: params };
      const verifier = { algorithm: "ed25519", verify: check };
      const options = { policy: { ...policy, maxAge: 300 }, resolveVerifier: () => verifier };
      return () => verifySignature(request, options);
    },
  };
  return await repeat(ways[of.by](), of.count);
}

/** Does it so many times after a warm-up; throws unless each says that what it judged is genuine. */
async function repeat(judge: () => unknown, count: number): Promise<Spent> {
  const times = async (wanted: number): Promise<void> => {
    for (let at = 0; at < wanted; at += 1) {
      const verdict = judge();
      // Waiting for what is there already would be the loop's cost, and not a library's.
      if (!(verdict instanceof Promise ? await verdict : verdict)) throw new Error("it was refused");
    }
  };
  await times(Math.ceil(count / 5));
  return await spend(() => times(count));
}

export const sigstore: Peer = {
  does: "A signed document with the certificate of its key and its inclusion in a log under a signed checkpoint, offline, from the text of its file; sigstore's is made by its own mock.",
  differs:
    "Sigstore's has five signatures, all ECDSA: certificate, its timestamp, the log's promise, document, checkpoint. Ours has six: two of the certificate (ECDSA and ML-DSA), and in Ed25519 those of the list of keys, the seal and the two lines of the checkpoint; and a path from the record to the seal of its batch. The path in the log is as long on both sides.",
  configuration: `${pinned("@sigstore/verify")} over a bundle of ${pinned("@sigstore/mock")}, with its trusted root read once and OpenSSL; ours with its key set read once and the crypto of the service.`,
  durability: oneCore,
  measure: async (world) => {
    const packages = await packagesOf(world);
    const evidence = await collect(world);
    const count = world.size(10_000, 1_000);
    const facts = { recordBytes: evidence.record.length, pathLength: evidence.inclusion.proof.length };
    const sides = {
      ours: async () => costOf(await world.callIn(program, "verifyEvidence", evidence, count), count),
      floor: async () =>
        costOf(await world.callIn(program, "verifyBundle", { packages, ...facts, count }), count),
    };
    return figuresOf("documents verified offline", await takeRounds(world.size(5, 2), sides));
  },
};

interface Evidence {
  readonly anchors: Anchors;
  readonly keySet: string;
  readonly uuid: string;
  readonly record: string;
  readonly inclusion: InclusionEvidence;
  /** Everything that is judged, as the text of one file. */
  readonly file: string;
}

const fewProducts = 1_000;

/** Fetches a record of the catalogue, and reads what proves it. */
async function collect(world: World): Promise<Evidence> {
  await using node = await world.openNode(await world.filledHome(fewProducts));
  const { sandbox, child, baseUrl, caller } = node;
  const { uuid } = merchantOf(sandbox);
  const [id = ""] = await recordIds(child, uuid, [0]);
  const fetched = ok(parseFetched(utf8(await ask(baseUrl, caller, fetchPlan(id)))));
  const read = (path: string) => readPublished(node, path);
  const sealed = ok(parseRecordSeal(fetched.seal));
  const leaf = sealLeafOf(sealed.envelope, nativeCrypto.sha256);
  const inclusion: InclusionEvidence = JSON.parse(await read(`/v1/log/inclusion?leaf=${leaf}`));
  const [certificates, keys] = [`/v1/certificates/${uuid}`, `/v1/certificates/${uuid}/keys`];
  const record = Buffer.from(fetched.bytes).toString();
  const judged = {
    record,
    seal: fetched.seal,
    inclusion,
    certificates: JSON.parse(await read(certificates)),
    keys: JSON.parse(await read(keys)),
  };
  const keySet = await read("/.well-known/keys");
  return { anchors: sandbox.anchors, keySet, uuid, record, inclusion, file: JSON.stringify(judged) };
}

/** The log contains a seal within seconds of its acceptance. */
const patienceMs = 60_000;

async function readPublished({ sandbox }: OpenNode, path: string): Promise<string> {
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    const answer = await fetch(sandbox.verify_url + path);
    const text = await answer.text();
    if (answer.ok) return text;
    if (performance.now() > untilMs) throw new Error(`${path}: ${answer.status} ${text}`);
    await delay(500);
  }
}

export async function verifyEvidence(of: Evidence, count: number): Promise<Spent> {
  const { verify: native, sha256 } = nativeCrypto;
  const keySet: JsonValue = JSON.parse(of.keySet);
  const verifier = ok(createVerifier({ anchors: of.anchors, keySet, verify: native, sha256 }));
  const judge = (): boolean => {
    const file: Readonly<Record<"seal" | "certificates" | "keys", JsonValue>> & {
      readonly record: string;
      readonly inclusion: InclusionEvidence;
    } = JSON.parse(of.file);
    const certificates = ok(verifier.certificates(of.uuid, ok(certificateEnvelopes(file.certificates))));
    const keys = ok(verifier.businessKeys(of.uuid, file.keys));
    ok(verifier.seal({ bytes: utf8(file.record), seal: file.seal, certificates, keys }));
    const { envelope } = ok(parseRecordSeal(file.seal));
    return verifier.logInclusion(sealEntry(of.uuid, sealLeafOf(envelope, sha256)), file.inclusion).ok;
  };
  return await repeat(judge, count);
}

function ok<T>(result: Result<T, string>): T {
  if (!result.ok) throw new Error(`${result.code}: ${result.detail}`);
  return result.value;
}

/** What of sigstore's packages is used. */
interface SigstoreMock {
  initializeCTLog(keys: KeyPair): Promise<{ readonly publicKey: Buffer; readonly logID: Buffer }>;
  initializeCA(
    keys: KeyPair,
    log: unknown,
  ): Promise<{
    readonly rootCertificate: Buffer;
    issueCertificate(of: { readonly publicKey: Buffer; readonly subjectAltName: string }): Promise<Buffer>;
  }>;
  initializeTLog(
    url: string,
    keys: KeyPair,
  ): Promise<{
    readonly publicKey: Buffer;
    log(entry: unknown): Promise<Readonly<Record<string, LoggedEntry>>>;
  }>;
}

type KeyPair = Readonly<Record<"publicKey" | "privateKey", KeyObject>>;

interface LoggedEntry {
  readonly body: string;
  readonly integratedTime: number;
  readonly logIndex: number;
  readonly logID: string;
  readonly verification: { readonly signedEntryTimestamp: string };
}

interface SigstoreVerify {
  toTrustMaterial(root: unknown): unknown;
  toSignedEntity(bundle: unknown): unknown;
  readonly Verifier: new (trust: unknown) => { verify(entity: unknown): unknown };
}

const logHost = "rekor.example";
const p256 = 5;

/** Makes a bundle by sigstore's own mock, whose tree is as deep as asked for, and verifies it. */
export async function verifyBundle(of: {
  readonly packages: string;
  readonly recordBytes: number;
  readonly pathLength: number;
  readonly count: number;
}): Promise<Spent> {
  const load = loaderOf(of.packages);
  const mock: SigstoreMock = load("@sigstore/mock");
  const { toTrustMaterial, toSignedEntity, Verifier }: SigstoreVerify = load("@sigstore/verify");
  const { bundleFromJSON }: { bundleFromJSON(value: unknown): unknown } = load("@sigstore/bundle");
  const newKeys = (): KeyPair => generateKeyPairSync("ec", { namedCurve: "P-256" });
  const [caKeys, logKeys, keys] = [newKeys(), newKeys(), newKeys()];
  const certificateLog = await mock.initializeCTLog(newKeys());
  const ca = await mock.initializeCA(caKeys, certificateLog);
  const log = await mock.initializeTLog(`https://${logHost}`, logKeys);
  const certificate = await ca.issueCertificate({
    publicKey: keys.publicKey.export({ format: "der", type: "spki" }),
    subjectAltName: "https://business.example",
  });
  const payloadType = "application/vnd.in-toto+json";
  const payload = randomBytes(Math.ceil(of.recordBytes / 2)).toString("hex");
  const signature = sign("sha256", pae(payloadType, utf8(payload)), keys.privateKey).toString("base64");
  const payloadHash = { algorithm: "sha256", value: createHash("sha256").update(payload).digest("hex") };
  const verifierPem = Buffer.from(pem(certificate)).toString("base64");
  const spec = { signatures: [{ signature, verifier: verifierPem }], payloadHash, envelopeHash: payloadHash };
  const [entry] = Object.values(await log.log({ kind: "dsse", apiVersion: "0.0.1", spec }));
  if (entry === undefined) throw new Error("the mock logged nothing");
  const logId = Buffer.from(entry.logID, "hex");
  const text = JSON.stringify({
    mediaType: "application/vnd.dev.sigstore.bundle.v0.3+json",
    verificationMaterial: {
      certificate: { rawBytes: certificate.toString("base64") },
      tlogEntries: [
        {
          logIndex: String(entry.logIndex),
          logId: { keyId: logId.toString("base64") },
          kindVersion: { kind: "dsse", version: "0.0.1" },
          integratedTime: String(entry.integratedTime),
          inclusionPromise: { signedEntryTimestamp: entry.verification.signedEntryTimestamp },
          inclusionProof: proofOf(Buffer.from(entry.body, "base64"), { of, keys: logKeys, logId }),
          canonicalizedBody: entry.body,
        },
      ],
    },
    dsseEnvelope: {
      payload: Buffer.from(payload).toString("base64"),
      payloadType,
      signatures: [{ keyid: "", sig: signature }],
    },
  });
  const authority = (baseUrl: string, rawBytes: Buffer, keyId: Buffer) => ({
    baseUrl,
    logId: { keyId },
    publicKey: { rawBytes, keyDetails: p256 },
  });
  const trust = toTrustMaterial({
    certificateAuthorities: [{ certChain: { certificates: [{ rawBytes: ca.rootCertificate }] } }],
    timestampAuthorities: [],
    tlogs: [authority(`https://${logHost}`, log.publicKey, logId)],
    ctlogs: [authority("https://ctlog.example", certificateLog.publicKey, certificateLog.logID)],
  });
  const verifier = new Verifier(trust);
  return await repeat(() => verifier.verify(toSignedEntity(bundleFromJSON(JSON.parse(text)))), of.count);
}

function pem(der: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`;
}

/** The path from the first leaf of a full tree to its root, with a checkpoint that the log's key signed: the mock's tree has one leaf. */
function proofOf(
  body: Buffer,
  {
    of,
    keys,
    logId,
  }: { readonly of: { readonly pathLength: number }; readonly keys: KeyPair; readonly logId: Buffer },
) {
  const hash = (...parts: readonly Uint8Array[]): Buffer =>
    createHash("sha256").update(Buffer.concat(parts)).digest();
  const hashes = Array.from({ length: of.pathLength }, () => randomBytes(32));
  const leaf = hash(Uint8Array.of(0), body);
  const root = hashes.reduce<Buffer>((left, right) => hash(Uint8Array.of(1), left, right), leaf);
  const treeSize = String(2 ** of.pathLength);
  const note = `${logHost} - 1\n${treeSize}\n${root.toString("base64")}\n`;
  const signed = Buffer.concat([logId.subarray(0, 4), sign("sha256", Buffer.from(note), keys.privateKey)]);
  return {
    logIndex: "0",
    treeSize,
    rootHash: root.toString("base64"),
    hashes: hashes.map((each) => each.toString("base64")),
    checkpoint: { envelope: `${note}\n— ${logHost} ${signed.toString("base64")}\n` },
  };
}
