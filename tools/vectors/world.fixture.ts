// The world of the public test vectors: services and a business whose keys follow from a seed, and the trusts that cases name.

import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import type { ReasonCode } from "../../protocol/reason-codes.ts";
import { makeScene, type Scene } from "../../verifier/scene.fixture.ts";
import {
  asJson,
  type KeySetParts,
  keySetAnswer,
  makeService,
  makeServiceKey,
  type ServiceKey,
  type TestService,
} from "../../verifier/service.fixture.ts";
import { makeKey, type TestKey, withSeed } from "../../verifier/signing.fixture.ts";
import type { CheckName, Expected, TrustVector, VectorCase } from "./case.ts";

/** A business that is not the one of the world. */
export const otherUuid = "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5e";

export interface World {
  readonly production: Scene;
  readonly sandbox: Scene;
  /** A service with other roots. */
  readonly other: TestService;
  /** Keys that nobody registered. */
  readonly strangers: { readonly ed25519: TestKey; readonly p256: TestKey };
  readonly trust: Readonly<Record<string, TrustVector>>;
}

export function makeWorld(): World {
  return withSeed("svc public test vectors", () => {
    const production = makeScene();
    const sandbox = makeScene("sandbox");
    return {
      production,
      sandbox,
      other: makeService(),
      strangers: { ed25519: makeKey("Ed25519"), p256: makeKey("ES256") },
      trust: trustOf(production.service, sandbox.service),
    };
  });
}

/** The signed half of a key set answer. */
export function signedKeySet(service: TestService, parts: KeySetParts = {}): JsonValue {
  const { signed } = keySetAnswer(service, parts) as { signed: JsonValue };
  return { signed };
}

/** A key set of the root, the issuance key and the given keys. */
export function keySetOf(service: TestService, ...keys: readonly ServiceKey[]): JsonValue {
  const kept = [service.root, service.issuance, ...keys];
  return signedKeySet(service, { links: service.links.filter(({ certified }) => kept.includes(certified)) });
}

/** A key set of the root, the issuance key and the given key, which may have ended. */
function smallKeySet(service: TestService, key: ServiceKey, facts: Ended = {}): JsonValue {
  const kept = [service.root, service.issuance, key];
  const { compromised_from: compromisedFrom, ...window } = facts;
  const links = service.links
    .filter(({ certified }) => kept.includes(certified))
    .map((link) => (link.certified === key ? { ...link, facts: window } : link));
  return signedKeySet(service, {
    links,
    entries: (each) =>
      each === key ? { ...window, ...(compromisedFrom ? { compromised_from: compromisedFrom } : {}) } : {},
  });
}

/** The log's next key, which the key set has beside the first while the log changes its key. */
export function nextLogKey(): ServiceKey {
  return withSeed("svc public test vectors: the next log key", () => makeServiceKey("log"));
}

interface Ended {
  readonly valid_from?: string;
  readonly valid_until?: string;
  readonly compromised_from?: string;
}

function trustOf(service: TestService, sandbox: TestService): Readonly<Record<string, TrustVector>> {
  const anchors = asJson(service.anchors);
  const nextLog = nextLogKey();
  const links = [...service.links, { certified: nextLog, issuer: service.issuance }];
  const withNext = { ...service, links };
  const ended = (key: ServiceKey, facts: Ended): TrustVector => ({
    anchors,
    key_set: smallKeySet(service, key, facts),
  });
  return {
    production: { anchors, key_set: signedKeySet(service) },
    sandbox: { anchors: asJson(sandbox.anchors), key_set: signedKeySet(sandbox) },
    "receipt-key-ended": ended(service.receipt, { valid_until: "2026-03-05T10:00:00.000Z" }),
    "receipt-key-compromised": ended(service.receipt, { compromised_from: "2026-03-05T10:00:00.000Z" }),
    "projection-key-ended": ended(service.projection, { valid_until: "2026-03-01T12:00:02.000Z" }),
    "projection-key-later": ended(service.projection, { valid_from: "2026-04-01T00:00:00.000Z" }),
    "projection-key-compromised": ended(service.projection, { compromised_from: "2026-03-05T00:00:00.000Z" }),
    "statement-key-compromised": ended(service.statement, { compromised_from: "2026-07-01T08:00:00.000Z" }),
    "two-log-keys": { anchors, key_set: keySetOf(withNext, service.log, nextLog) },
    "log-key-compromised": ended(service.log, { compromised_from: "2026-01-01T00:00:00.000Z" }),
  };
}

/** Writes down cases of one check. */
export function casesOf(check: CheckName, trust: string | null = "production") {
  const one = (name: string, says: string, input: object, expected: Expected): VectorCase => ({
    name: `${check}: ${name}`,
    says,
    check,
    trust,
    input: asJson(input) as JsonObject,
    expected,
  });
  return {
    good: (name: string, says: string, input: object, found: Partial<Expected> = {}) =>
      one(name, says, input, { valid: true, ...found }),
    bad: (reason: ReasonCode, name: string, says: string, input: object) =>
      one(name, says, input, { valid: false, reason }),
    under: (other: string) => casesOf(check, other),
  };
}

/** The envelope with another payload, and the signatures that it had. */
export function withPayloadOf(envelope: JsonValue, other: JsonValue): JsonValue {
  return { ...(envelope as JsonObject), payload: (other as JsonObject)["payload"] ?? null };
}

/** The envelope with its payload's text changed, and the signatures that it had. */
export function withText(envelope: JsonValue, change: (text: string) => string): JsonValue {
  const { payload } = envelope as { readonly payload: string };
  const text = Buffer.from(payload, "base64").toString("utf8");
  return { ...(envelope as JsonObject), payload: Buffer.from(change(text), "utf8").toString("base64") };
}

/** The envelope with its signatures changed. */
export function withSignatures(
  envelope: JsonValue,
  change: (signatures: readonly JsonObject[]) => readonly JsonValue[],
): JsonValue {
  const { signatures } = envelope as unknown as { readonly signatures: readonly JsonObject[] };
  return { ...(envelope as JsonObject), signatures: change(signatures) };
}

/** A bit of the first signature is flipped. */
export function withFlippedSignature(envelope: JsonValue, at = 0): JsonValue {
  return withSignatures(envelope, (signatures) =>
    signatures.map((each, index) => {
      if (index !== at) return each;
      const sig = Buffer.from(String(each["sig"]), "base64");
      sig[sig.length - 3] = (sig[sig.length - 3] ?? 0) ^ 1;
      return { ...each, sig: sig.toString("base64") };
    }),
  );
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}
