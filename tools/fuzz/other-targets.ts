// Frames between nodes, files of a business, searches, and two implementations of each signature.

import { generateKeyPairSync, sign } from "node:crypto";
import { CsvError, parse } from "csv-parse/sync";
import { type CsvOutcome, parseCsv } from "../../client/feeds/csv.ts";
import { parseSearchRequest } from "../../collections/search-request.ts";
import { ed25519Library, openssl } from "../../crypto/ed25519.ts";
import { nativeCryptoWith } from "../../crypto/native.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import { verifySignature } from "../../protocol/keys/signatures.ts";
import { frameKey, openFrame, parseAnswer, parseCall, sealFrame } from "../../transport/ws/messages.ts";
import { type FuzzTarget, must, mustEqual, outcomeOf } from "./target.ts";

// A business's CSV files: our reader against itself, and against csv-parse where both have the same semantics.

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

const csv: FuzzTarget = {
  name: "csv",
  seeds: ['a,b,c\n1,"x, ""y""",3\r\n\n4,5,6', '"multi\nline",b\n', "price_US;price_currency_US\n1,5;USD"].map(
    utf8,
  ),
  words: ['"', '""', ",", "\n", "\r\n", "\r", ";", "\t", '","', "\ufeff"],
  check: (input) => {
    const text = new TextDecoder().decode(input);
    for (const separator of [",", ";", "\t"] as const) judgeByLibrary(text, separator);
    const read = parseCsv(text);
    if (!read.ok) return read.detail;
    const written = read.rows
      .map((each) => each.fields.map((field) => `"${field.replaceAll('"', '""')}"`).join(","))
      .join("\n");
    const again = parseCsv(written);
    must(again.ok, "rows that were read cannot be read again");
    if (again.ok) mustEqual(fieldsOf(again), fieldsOf(read), "the fields");
    return `ok ${Math.min(read.rows.length, 4)}`;
  },
};

/** csv-parse's first fault is ours too, with this text; a quote in an unquoted field is no fault here, but text. */
const details: Readonly<Record<string, string | undefined>> = {
  CSV_QUOTE_NOT_CLOSED: "A quoted field is not closed.",
  CSV_INVALID_CLOSING_QUOTE: "Text follows a quoted field.",
};

function judgeByLibrary(text: string, delimiter: "," | ";" | "\t"): void {
  // csv-parse takes a zero byte for the end of its input where a quoted field has just ended, and continues.
  if (text.includes("\0")) return;
  const read = parseCsv(text, delimiter);
  try {
    const rows = parse(text, {
      delimiter,
      record_delimiter: ["\r\n", "\n", "\r"],
      relax_column_count: true,
    });
    must(read.ok, "a file that csv-parse reads is refused");
    if (read.ok)
      mustEqual(
        fieldsOf(read),
        rows.filter((fields) => fields.length > 1 || fields[0] !== ""),
        "the fields of csv-parse",
      );
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const detail = details[error.code];
    if (detail !== undefined)
      mustEqual(read.ok ? "read" : read.detail, detail, "a file that csv-parse refuses");
  }
}

function fieldsOf(read: CsvOutcome & { readonly ok: true }): readonly (readonly string[])[] {
  return read.rows.map(({ fields }) => fields);
}

const key = frameKey(new Uint8Array(32).fill(7));
const calls = JSON.stringify([
  { k: "ask", id: 1, to: { kind: "push", id: "bat_1" }, command: { type: "push.status" }, timeout_ms: 1000 },
  {
    k: "deliver",
    id: 2,
    to: { kind: "region", id: "eu-west1" },
    from: "push/1",
    messages: [{ seq: 1, message: { type: "x" } }],
  },
  { k: "answer", id: 1, value: null },
  { k: "failure", id: 1, reason: "overloaded", effect: "not_applied", retry_after_seconds: 1, detail: "x" },
]);
const sealed = sealFrame(key, 1, calls);

const frames: FuzzTarget = {
  name: "frames",
  seeds: [sealed, utf8("")],
  words: ["[", "]", "{}", "\u0000"],
  check: (input) => {
    const messages = openFrame(key, 1, Buffer.from(input));
    if (messages === null) return "refused";
    mustEqual([...input], [...sealed], "a frame that nobody sealed");
    return "ok";
  },
};

const messages: FuzzTarget = {
  name: "node-messages",
  seeds: [utf8(calls)],
  words: `"k":"ask" "id":-1 "id":1e99 "timeout_ms":1e12 "kind":"business" "id":"../" null [] "command":{}
    "__proto__"`.split(/\s+/),
  check: (input) => {
    let list: unknown;
    try {
      list = JSON.parse(text(input));
    } catch {
      return "no JSON";
    }
    if (!Array.isArray(list)) return "no list";
    return list
      .map((each) => `${parseCall(each)?.kind ?? "-"}${parseAnswer(each) === null ? "" : "a"}`)
      .join(" ")
      .slice(0, 100);
  },
};

const search = {
  collection: "products",
  q: "trail shoes",
  query_by: ["product_name", "tags"],
  filter: {
    all: [
      { country: "US" },
      { brand: { in: ["Harrier"] } },
      { price_amount: { gte: "10.50", lt: 100 } },
      { published_at: { gte: "2026-01-01T00:00:00Z" } },
    ],
  },
  sort_by: "_text_match:desc,price_amount:asc",
  limit: 10,
  session_ref: "s",
};
const place = {
  collection: "events",
  filter: { all: [{ country: "GB" }, { geo: { near: { lat: 51.5, lng: -0.1, radius_km: 10 } } }] },
  sort_by: "start_at:asc",
};

const searches: FuzzTarget = {
  name: "search-requests",
  seeds: [search, place].map((each) => utf8(JSON.stringify(each))),
  words: `"country":"US" {"country":"DE"} :desc , _text_match "in":[] "near" "lat":91 1e999 "ne" null
    "limit":0 "filter":{"all":[]} price_amount __proto__`.split(/\s+/),
  check: (input) => {
    let body: unknown;
    try {
      body = JSON.parse(text(input));
    } catch {
      return "no JSON";
    }
    const parsed = parseSearchRequest(body);
    for (const name of collectionNames) parseSearchRequest(body, name);
    if (!parsed.ok) return outcomeOf(parsed);
    const { sort, limit } = parsed.value;
    must(sort.length >= 1 && sort.length <= 3, "sort keys");
    must(Number.isInteger(limit) && limit >= 1 && limit <= 50, "limit");
    return `ok ${parsed.value.collection} ${sort.length}`;
  },
};

const pairs = [
  { jwk: generateKeyPairSync("ed25519"), digest: null, size: 64, alg: "Ed25519" },
  { jwk: generateKeyPairSync("ec", { namedCurve: "P-256" }), digest: "sha256", size: 64, alg: "ES256" },
] as const;
const message = utf8("what was signed");

function signedBy({ jwk, digest }: (typeof pairs)[number]): Uint8Array {
  const dsaEncoding = "ieee-p1363";
  return new Uint8Array(
    sign(digest, message, digest === null ? jwk.privateKey : { key: jwk.privateKey, dsaEncoding }),
  );
}

/** The native port over both libraries for Ed25519. */
const ports = [openssl, ed25519Library()].map((library) => nativeCryptoWith(() => library));

/** The key selector (one byte), its public half (64 bytes, for Ed25519 the first 32), the signature (64), the message. */
const signatures: FuzzTarget = {
  name: "signatures",
  seeds: pairs.map((pair, at) => {
    const { x = "", y = "" } = pair.jwk.publicKey.export({ format: "jwk" }) as { x?: string; y?: string };
    const half = Buffer.concat([Buffer.from(x, "base64url"), Buffer.from(y, "base64url")], 64);
    return Buffer.concat([Buffer.of(at), half, signedBy(pair), message]);
  }),
  words: ["\u0000".repeat(32), "\u0001", "\u007f".repeat(31)],
  check: (input) => {
    const half = Buffer.from(input.subarray(1, 65));
    const [signature, rest] = [input.slice(65, 129), input.slice(129)];
    const jwk = (
      input[0] === 0
        ? { kty: "OKP", crv: "Ed25519", x: half.subarray(0, 32).toString("base64url") }
        : {
            kty: "EC",
            crv: "P-256",
            x: half.subarray(0, 32).toString("base64url"),
            y: half.subarray(32).toString("base64url"),
          }
    ) as PublicJwk;
    const portable = verifySignature(jwk, rest, signature);
    for (const { verify } of ports)
      mustEqual(portable, verify(jwk, rest, signature), "portable and native verification");
    return `${jwk.kty} ${portable}`;
  },
};

export const otherTargets: readonly FuzzTarget[] = [frames, messages, csv, searches, signatures];
