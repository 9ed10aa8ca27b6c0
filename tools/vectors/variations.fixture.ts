// Variations of the test vectors, drawn from a seed: signatures, envelopes, assertions and notes that nobody wrote down. Whatever the
// right verdict on one is, every verifier has to reach the same.

import { parseBase64, sha256, utf8 } from "../../protocol/bytes.ts";
import { cctvCases } from "../../protocol/cctv.fixture.ts";
import { makeEnvelope, pae } from "../../protocol/dsse.ts";
import { canonicalize, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { formatNote, logMessage, logSignature, noteKeyOf } from "../../protocol/log/note.ts";
import { cosign, noteKey } from "../../protocol/log/signed-log.fixture.ts";
import { asJson, soleKey } from "../../verifier/service.fixture.ts";
import {
  type AssertionParts,
  assertion,
  signBytes,
  type TestKey,
  testOrigin,
} from "../../verifier/signing.fixture.ts";
import { seededRandom } from "../seeded-random.ts";
import type { CheckName, VectorCase } from "./case.ts";
import { base64, type World } from "./world.fixture.ts";

/** A case without a verdict. */
type Variation = Omit<VectorCase, "expected">;

/** Draws from a seed. */
class Draw {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  /** True once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  of<T>(values: readonly T[]): T {
    if (values.length === 0) throw new Error("There is nothing to draw from.");
    return values[this.below(values.length)] as T;
  }
}

interface Amounts {
  readonly signatures: number;
  readonly envelopes: number;
  readonly assertions: number;
  readonly notes: number;
  readonly answers: number;
}

export function variations(
  {
    world,
    cases,
    seed,
  }: { readonly world: World; readonly cases: readonly VectorCase[]; readonly seed: number },
  amounts: Amounts,
): readonly Variation[] {
  const draw = new Draw(seed);
  const made = <T>(count: number, make: (at: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, at) => make(at));
  return [
    ...cctvCases().map(({ number, jwk, message, signature }) =>
      named("signature", `CCTV ${number}`, {
        key: jwk,
        message_base64: base64(message),
        signature_base64: base64(signature),
      }),
    ),
    ...made(amounts.signatures, (at) => signatureVariation(draw, cases, at)),
    ...made(amounts.envelopes, (at) => envelopeVariation(draw, { world, cases }, at)),
    ...made(amounts.assertions, (at) => assertionVariation(draw, { world, cases }, at)),
    ...made(amounts.notes, (at) => noteVariation(draw, world, at)),
    ...made(amounts.answers, (at) => answerVariation(draw, cases, at)),
  ];
}

function named(check: CheckName, name: string, input: object, trust: string | null = null): Variation {
  const says = "A variation.";
  return { name: `${check}: ${name}`, says, check, trust, input: asJson(input) as JsonObject };
}

/** A text that is drawn from another one: what decoders and patterns are lenient about. */
function otherText(draw: Draw, text: string): string {
  const at = draw.below(text.length + 1);
  const put = (piece: string) => text.slice(0, at) + piece + text.slice(at);
  return draw.of([
    () => put(draw.of(["\n", "\r\n", " ", "\t", "=", "\u0000", "\u0085", "\u00a0", "é", "-", "_", "A", "0"])),
    () => text.slice(0, at) + text.slice(at + 1),
    () => text.slice(0, -1) + draw.of([..."ABCDwxyz0189-_+/="]),
    () => text.toUpperCase(),
    () => text.replaceAll("+", "-").replaceAll("/", "_"),
    () => text.replace(/=+$/, ""),
    () => `${text}\n`,
    () => `${text}=`,
    () => "",
  ])();
}

function otherBytes(draw: Draw, bytes: Uint8Array): Uint8Array {
  const other = bytes.slice();
  const at = draw.below(bytes.length);
  other[at] = (other[at] ?? 0) ^ (1 << draw.below(8));
  return draw.once(6) ? bytes.slice(0, at) : other;
}

function signatureVariation(draw: Draw, cases: readonly VectorCase[], at: number): Variation {
  const { input } = draw.of(cases.filter(({ check }) => check === "signature"));
  const member = draw.of(["key", "message_base64", "signature_base64"]);
  const key = input["key"] as JsonObject;
  if (member === "key") {
    const part = draw.of(Object.keys(key));
    const other = {
      ...key,
      [part]: draw.once(4) ? otherValue(draw, key[part]) : otherText(draw, String(key[part])),
    };
    return named("signature", `${at}: key`, { ...input, key: other });
  }
  const bytes = parseBase64(String(input[member])) ?? new Uint8Array();
  return named("signature", `${at}: ${member}`, { ...input, [member]: base64(otherBytes(draw, bytes)) });
}

/** Values about the bounds of every kind of member. */
function otherValue(draw: Draw, value: JsonValue | undefined): JsonValue {
  if (typeof value === "string" && draw.below(3) > 0) return otherText(draw, value);
  if (Array.isArray(value) && draw.below(3) > 0)
    return draw.of([
      [],
      [...value, ...value],
      value.slice(1),
      [...value, null],
      Array(101).fill(value[0] ?? "x"),
    ]);
  return draw.of<JsonValue>([
    null,
    true,
    false,
    0,
    1,
    2,
    3,
    -1,
    1.5,
    1e300,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 53 - 1,
    2 ** 53,
    100_000,
    100_001,
    "",
    "x",
    "x".repeat(129),
    "é".repeat(256),
    "😀".repeat(129),
    "products",
    "product",
    "ai_policy",
    "ads",
    "2026-02-29T00:00:00.000Z",
    "2026-03-01T24:00:00.000Z",
    "2026-03-01T23:59:60.000Z",
    "0000-01-01T00:00:00.000Z",
    "2026-03-01T12:00:00Z",
    "9999-12-31T23:59:59.999Z",
    `${"A".repeat(42)}B`,
    `sha256:${"0".repeat(64)}`,
    [],
    {},
    [[]],
  ]);
}

/** Another value of the same shape, with one member at any depth replaced, missing or added. */
function otherMember(draw: Draw, value: JsonObject): JsonObject {
  const name = draw.of(Object.keys(value));
  const inner = value[name];
  if (isMembers(inner) && Object.keys(inner).length > 0 && draw.below(3) > 0)
    return { ...value, [name]: otherMember(draw, inner) };
  if (Array.isArray(inner) && isMembers(inner[0]) && Object.keys(inner[0]).length > 0 && draw.below(3) > 0)
    return { ...value, [name]: [otherMember(draw, inner[0]), ...inner.slice(1)] };
  if (draw.once(10)) return { ...value, [draw.of(["extra", "v", "sandbox"])]: otherValue(draw, undefined) };
  if (draw.once(10)) return Object.fromEntries(Object.entries(value).filter(([each]) => each !== name));
  return { ...value, [name]: otherValue(draw, inner) };
}

function isMembers(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Checks whose documents both verifiers judge to the last member. */
const wholeChecks: readonly CheckName[] = [
  ...(["seal", "sidecar", "receipt", "certificate", "business_keys", "key_custody", "mandate"] as const),
  ...(["hold_decision", "custody_request", "key_possession"] as const),
];

interface Given {
  readonly world: World;
  readonly cases: readonly VectorCase[];
}

/** One envelope of a case that is good, changed in its payload and signed again, or changed after it was signed. */
function envelopeVariation(draw: Draw, { world, cases }: Given, at: number): Variation {
  const check = draw.of(wholeChecks);
  const drawn = draw.of(cases.filter((each) => each.check === check && each.expected.valid));
  const places = envelopesIn(drawn.input, []);
  const place = draw.of(places);
  const envelope = valueAt(drawn.input, place) as JsonObject;
  const other = draw.once(3) ? otherMember(draw, envelope) : signedAgain(draw, world, envelope);
  const input = withValue(drawn.input, place, other) as JsonObject;
  return named(check, `${at}: ${drawn.name} ${place.join("/")}`, input, drawn.trust);
}

type Place = readonly (string | number)[];

function envelopesIn(value: JsonValue, at: Place): readonly Place[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => envelopesIn(each, [...at, index]));
  if (!isMembers(value)) return [];
  if (value["payloadType"] !== undefined) return [at];
  return Object.entries(value).flatMap(([name, each]) => envelopesIn(each, [...at, name]));
}

function valueAt(value: JsonValue, at: Place): JsonValue {
  return at.reduce<JsonValue>((found, name) => Object(found)[name], value);
}

function withValue(value: JsonValue, [name, ...rest]: Place, other: JsonValue): JsonValue {
  if (name === undefined) return other;
  const inner = withValue(Object(value)[name], rest, other);
  return Array.isArray(value) ? value.with(Number(name), inner) : { ...(value as JsonObject), [name]: inner };
}

function signedAgain(draw: Draw, world: World, envelope: JsonObject): JsonValue {
  const {
    payloadType: type,
    payload,
    signatures,
  } = envelope as unknown as {
    readonly payloadType: string;
    readonly payload: string;
    readonly signatures: readonly { readonly keyid: string; readonly clientDataJSON?: string }[];
  };
  const text = Buffer.from(payload, "base64").toString("utf8");
  const other = canonicalize(otherMember(draw, JSON.parse(text) as JsonObject));
  const bytes = utf8(draw.once(12) ? otherText(draw, other) : other);
  const made = signatures.map(({ keyid, clientDataJSON }) => {
    const key = keysOf(world).get(keyid);
    if (key === undefined) throw new Error(`${keyid} is not a key of the world.`);
    const message = pae(type, bytes);
    return clientDataJSON === undefined ? { keyid, sig: signBytes(key, message) } : assertion(message, key);
  });
  return asJson(makeEnvelope(type, bytes, made));
}

/** By key id, of the services and businesses. */
function keysOf({ production, sandbox, strangers }: World): ReadonlyMap<string, TestKey> {
  const keys = [production, sandbox].flatMap(({ service, business }) => [
    ...service.links.flatMap(({ certified }) => certified.halves),
    business.passkey,
    business.hosted,
    business.system,
  ]);
  return new Map([...keys, ...Object.values(strangers)].map((key) => [key.keyId, key]));
}

/** An assertion of any flags, lengths and members, by the business's passkey. */
function assertionVariation(draw: Draw, { world, cases }: Given, at: number): Variation {
  const { input, trust } = cases.find(({ name }) => name === "seal: by a passkey") as VectorCase;
  const { payloadType: type, payload } = input["seal"] as {
    readonly payloadType: string;
    readonly payload: string;
  };
  const bytes = parseBase64(payload) ?? new Uint8Array();
  const parts: AssertionParts = {
    flags: draw.once(3) ? draw.below(256) : draw.of([0x05, 0x0d, 0x1d, 0x45, 0x85, 0xc5]),
    extraBytes: draw.of([0, 0, 0, 1, 9, 60]),
    ...(draw.once(3) ? { crossOrigin: draw.of([undefined, null, true, "false", 0, {}]) } : {}),
    ...(draw.once(6) ? { topOrigin: testOrigin } : {}),
    ...(draw.once(6)
      ? { origin: draw.of([`${testOrigin}/`, `${testOrigin}:443`, testOrigin.toUpperCase()]) }
      : {}),
    ...(draw.once(9) ? { type: draw.of(["webauthn.create", "", "webauthn.get "]) } : {}),
  };
  const made = makeEnvelope(type, bytes, [
    assertion(pae(type, bytes), world.production.business.passkey, parts),
  ]);
  const seal = draw.once(4) ? otherMember(draw, asJson(made) as JsonObject) : made;
  return named("seal", `${at}: assertion ${JSON.stringify(parts)}`, { ...input, seal }, trust);
}

/** A note over a checkpoint's text with any lines, signed by the log, strangers and witnesses, or changed after that. */
function noteVariation(draw: Draw, world: World, at: number): Variation {
  const { service } = world.production;
  const { origin } = service.anchors.log;
  const root = base64(sha256(utf8(`${at}`)));
  const size = draw.of(["0", "5", "5", "5", "05", "-1", "1e3", "9007199254740991", "9007199254740992", "5 "]);
  const further = draw.once(3) ? [draw.of(["", "x", "a\tb", "a\u007fb", "\u0085", "— a.test aGVsbG8="])] : [];
  const lines = [
    draw.once(9) ? `${origin}2` : origin,
    size,
    draw.once(6) ? otherText(draw, root) : root,
    ...further,
  ];
  const text = `${lines.join("\n")}\n`;
  const signer = soleKey(service.log);
  const by = (name: string, of = text) => {
    const key = noteKeyOf(name, signer.jwk);
    if (key === null) throw new Error("It is an Ed25519 key.");
    return logSignature(key, signBytes(signer, logMessage(of)), sha256);
  };
  const witness = noteKey("witness.test/w1", "cosignature", 1);
  const possible = [
    by("svc-log"),
    by(origin),
    by("svc-log2"),
    by(origin, `${text}x\n`),
    by("svc-log", `${text}x\n`),
    cosign(witness, text, draw.of([0, 1, 2 ** 53 - 1, 1_800_000_000])),
    cosign(witness, text, 1),
  ];
  const signatures = [...(draw.once(6) ? [] : [by("svc-log")]), ...possible.filter(() => draw.once(4))];
  const whole = formatNote({ text, signatures });
  const note = draw.once(3) ? otherText(draw, whole) : whole;
  return named("checkpoint", `${at}: ${JSON.stringify(lines)} ${signatures.length}`, { note }, "production");
}

/** A good answer or evidence file, of which one member at any depth is another one, missing or added. */
function answerVariation(draw: Draw, cases: readonly VectorCase[], at: number): Variation {
  const { check, name, input, trust } = draw.of(cases.filter(isPrintable));
  const member = check === "evidence" ? "file_base64" : "body_base64";
  const bytes = parseBase64(String(input[member])) ?? new Uint8Array();
  const other = otherMember(draw, JSON.parse(new TextDecoder().decode(bytes)) as JsonObject);
  return named(check, `${at}: ${name}`, { ...input, [member]: base64(utf8(JSON.stringify(other))) }, trust);
}

/** Whether an answer is as good when it is printed again: the bytes of a fetched record are not in a body alone. */
function isPrintable({ check, name, expected }: VectorCase): boolean {
  return (check === "search_answer" || check === "evidence") && expected.valid && !name.includes("proofs");
}
