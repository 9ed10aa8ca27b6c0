// Cases about the items of ads, each of which verifies alone: every named check of the report.

import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { adRenderMs } from "../../protocol/limits.ts";
import type { IndexRow } from "../../protocol/row.ts";
import { unsignedMembers } from "../../protocol/unsigned-members.ts";
import { type AdParts, adRecord, makeAdItem, pictures } from "../../verifier/ad.fixture.ts";
import { publishedKeys } from "../../verifier/business.fixture.ts";
import { evidenceText } from "../../verifier/evidence.ts";
import { callerKeyId, receiptFacts, servedAt } from "../../verifier/retrieval.fixture.ts";
import { document, issueCertificate, keySetAnswer, soleKey } from "../../verifier/service.fixture.ts";
import { isValid, type Outcome, type VectorCase } from "./case.ts";
import { base64, casesOf, type World, withFlippedSignature } from "./world.fixture.ts";

type Checks = Readonly<Record<string, Outcome>>;

const unsigned = Object.fromEntries(
  unsignedMembers.flatMap(({ answer, member }) =>
    answer === "ad_item" ? [[`unsigned${member}`, "unsigned"] as const] : [],
  ),
);
const whole: Checks = {
  row: "ok",
  origin_hash: "ok",
  seal: "ok",
  projection: "ok",
  creative: "ok",
  images: "ok",
  ai_policy_bits: "ok",
  ...unsigned,
};
const images = Object.fromEntries(pictures.map((bytes) => [hashOf(bytes), base64(bytes)]));
const unknownHash = `sha256:${"0".repeat(64)}`;

function adCase(name: string, says: string, input: object, checks: Checks): VectorCase {
  return casesOf("ad_item").good(name, says, { images, ...input }, { valid: isValid(checks), checks });
}

const formFault = (name: string, says: string, item: JsonValue): VectorCase =>
  adCase(name, says, { item }, { item: "payload_malformed" });

/** The value with the member at `path` replaced. */
function changed(of: JsonObject, path: readonly (string | number)[], by: JsonValue): JsonObject {
  const copy = structuredClone(of) as Record<string | number, JsonValue>;
  let at = copy;
  for (const name of path.slice(0, -1)) at = at[name] as unknown as typeof at;
  at[path.at(-1) as string] = by;
  return copy;
}

export async function adCases(world: World): Promise<readonly VectorCase[]> {
  const { service, business } = world.production;
  const make = (parts: AdParts = {}) => makeAdItem(service, business, parts);
  const item = await make();
  return [
    ...servedCases(item),
    ...shownCases(item),
    ...signedCases(item),
    ...formCases(item),
    ...(await sealedCases(item, make)),
    ...(await historyCases(world, make)),
  ];
}

function servedCases(item: JsonObject): readonly VectorCase[] {
  const [first, second] = pictures;
  const urls = ["https://images.test/0?token=t", "https://images.test/1?token=t"] as const;
  const stale: Checks = { ...whole, seal: "not_checked", ai_policy_bits: "not_checked" };
  return [
    adCase("whole", "An ad with its pictures.", { item }, whole),
    adCase(
      "without pictures",
      "Nobody fetched the pictures.",
      { item, images: {} },
      { ...whole, images: "not_checked" },
    ),
    adCase(
      "pictures by address",
      "The pictures as they came from the addresses in the item.",
      { item, images: { [urls[0]]: base64(first), [urls[1]]: base64(second) } },
      whole,
    ),
    adCase(
      "pictures exchanged",
      "Each picture came from the address of the other.",
      { item, images: { [urls[0]]: base64(second), [urls[1]]: base64(first) } },
      { ...whole, images: "hash_mismatch" },
    ),
    adCase(
      "in time",
      "A day after the keys were published.",
      { item, served_at: "2026-06-02T00:00:00.000Z" },
      whole,
    ),
    adCase(
      "with old keys",
      "More than a day after the keys were published.",
      { item, served_at: "2026-06-02T00:00:00.001Z" },
      stale,
    ),
  ];
}

function shownCases(item: JsonObject): readonly VectorCase[] {
  const shown = (
    name: string,
    says: string,
    path: readonly (string | number)[],
    by: JsonValue,
    more: Checks = {},
  ) =>
    adCase(
      name,
      says,
      { item: changed(item, ["creative", ...path], by) },
      { ...whole, creative: "hash_mismatch", ...more },
    );
  return [
    adCase(
      "advertiser",
      "Another name stands beside the ad than on the advertiser's certificate.",
      { item: changed(item, ["label", "advertiser"], "Tiffany & Co.") },
      { ...whole, creative: "hash_mismatch" },
    ),
    shown("headline", "Another headline than was sealed is shown.", ["headline"], "Cheaper"),
    shown("body", "Another text is shown.", ["body"], ""),
    shown("call to action", "The call to action is not shown.", ["call_to_action"], null),
    shown("domain", "Another domain is shown.", ["display_domain"], "other.example"),
    shown("link", "It leads elsewhere.", ["destination_url"], "https://harrier.example/"),
    shown("text of a picture", "Another text of a picture.", ["images", 1, "alt"], "Else."),
    shown("picture's hash", "Another picture is shown.", ["images", 0, "sha256"], unknownHash, {
      images: "hash_mismatch",
    }),
    shown("no pictures", "The pictures are not shown.", ["images"], [], { images: "hash_mismatch" }),
    adCase(
      "price",
      "Another price, which is the service's own and not judged.",
      { item: changed(item, ["net_price", "amount"], "9.99") },
      whole,
    ),
  ];
}

function signedCases(item: JsonObject): readonly VectorCase[] {
  const other = base64(utf8(JSON.stringify({ ...adRecord, headline: "Cheaper" })));
  const swapped = changed(changed(item, ["record_base64"], other), ["creative", "headline"], "Cheaper");
  const row = (name: string, by: JsonValue) => changed(item, ["row", name], by);
  const unsigned: Checks = { ...whole, row: "row_signature_invalid", projection: "hash_mismatch" };
  return [
    adCase(
      "other bytes",
      "Other bytes than the row's, which are shown.",
      { item: swapped },
      {
        ...whole,
        origin_hash: "hash_mismatch",
        seal: "hash_mismatch",
        projection: "hash_mismatch",
        creative: "not_checked",
      },
    ),
    adCase(
      "of another ad",
      "The item names another ad than its row.",
      { item: changed(item, ["ad_id"], `ad_${"d".repeat(26)}`) },
      { ...whole, row: "hash_mismatch" },
    ),
    adCase(
      "row's headline",
      "The row has another headline than was signed.",
      { item: row("headline", "Cheaper") },
      unsigned,
    ),
    adCase(
      "row's hash of a picture",
      "The row lists another picture than was signed.",
      {
        item: row("adl_creative", [unknownHash, hashOf(pictures[1])]),
      },
      { ...unsigned, images: "hash_mismatch" },
    ),
    adCase(
      "unknown projection",
      "A projection that is not known.",
      { item: row("adl_proj", "ads/2") },
      {
        row: "projection_unknown",
      },
    ),
    adCase(
      "bits",
      "The bits block less than was sealed.",
      { item: changed(item, ["row", "ai_policy_bits", "blocked"], 0) },
      { ...whole, ai_policy_bits: "ai_policy_bits_mismatch" },
    ),
    adCase(
      "policy version",
      "The item names another AI policy version.",
      { item: changed(item, ["ai_policy", "version"], 2) },
      { ...whole, ai_policy_bits: "ai_policy_version_mismatch" },
    ),
  ];
}

function formCases(item: JsonObject): readonly VectorCase[] {
  const row = (name: string, by: JsonValue) => changed(item, ["row", name], by);
  return [
    formFault("further member", "A member that items do not have.", { ...item, price: "1.00" }),
    formFault("label", "Another label.", changed(item, ["label", "text"], "Recommended")),
    formFault("currency", "A currency in small letters.", changed(item, ["net_price", "currency"], "eur")),
    formFault("amount", "A price below nothing.", changed(item, ["net_price", "amount"], "-0.25")),
    formFault(
      "link without TLS",
      "A link that is not https.",
      changed(item, ["creative", "destination_url"], "http://harrier.example/"),
    ),
    formFault(
      "width",
      "A picture wider than pictures may be.",
      changed(item, ["creative", "images", 0, "width"], 4_097),
    ),
    formFault("sponsored row", "A member that rows of ads do not have.", row("sponsored", true)),
    formFault("projection of products", "The projection of another type.", row("adl_proj", "products/1")),
    formFault(
      "policy without a seal",
      "An AI policy without its seal.",
      changed(item, ["ai_policy", "seal"], null),
    ),
    formFault("nothing", "It is no item.", {}),
  ];
}

type Make = (parts?: AdParts) => Promise<JsonObject>;

async function sealedCases(item: JsonObject, make: Make): Promise<readonly VectorCase[]> {
  const { call_to_action: _, subdivisions: __, allow_repeats: ___, ...rest } = adRecord;
  const record = { ...rest, images: [], body: "" };
  const plain = await make({ record, sealer: "hosted", hasPolicy: false });
  const sealed = async (
    name: string,
    says: string,
    facts: NonNullable<AdParts["facts"]>,
    seal: Outcome,
    more: Checks = {},
  ) => adCase(name, says, { item: await make({ facts }) }, { ...whole, seal, ...more });
  const sidecar = changed(item, ["sidecar"], withFlippedSignature(item["sidecar"] as JsonValue));
  return [
    adCase(
      "by a hosted key",
      "Sealed by a hosted key, without a policy, a picture or any optional member.",
      { item: plain },
      whole,
    ),
    adCase(
      "another spelling",
      "Sealed with white space.",
      {
        item: await make({ bytes: utf8(JSON.stringify(adRecord, null, 2)) }),
      },
      whole,
    ),
    await sealed(
      "seal over other bytes",
      "The seal is over other bytes, and so is the row.",
      { hash: unknownHash },
      "hash_mismatch",
      { origin_hash: "hash_mismatch", projection: "hash_mismatch", creative: "not_checked" },
    ),
    await sealed(
      "seal under another certificate",
      "The seal names a certificate that the business never had.",
      { cert_id: unknownHash },
      "certificate_unknown",
    ),
    await sealed(
      "seal under a later policy",
      "The seal names an AI policy version later than the item's.",
      { ai_policy_version: 2 },
      "ai_policy_version_mismatch",
    ),
    adCase(
      "sidecar",
      "A bit of the sidecar's signature is flipped.",
      { item: sidecar },
      { ...whole, seal: "signature_invalid" },
    ),
  ];
}

async function historyCases(
  { production: { service, business } }: World,
  make: Make,
): Promise<readonly VectorCase[]> {
  const facts = { issued_at: "2026-04-01T00:00:00.000Z", previous: business.issued.certId };
  const renewed = issueCertificate(service, { ...business.certificate, ...facts });
  const listed = publishedKeys(service, { ...business, issued: renewed }) as JsonObject;
  const keys = listed["signed"] as JsonValue;
  const first = business.issued.envelope;
  const refused: Checks = { ...whole, seal: "certificate_unknown", ai_policy_bits: "not_checked" };
  const unjudged: Checks = { ...refused, ai_policy_bits: "certificate_unknown" };
  const of = async (parts: AdParts) => ({ item: await make({ keys, ...parts }) });
  return [
    adCase(
      "renewed certificate",
      "The certificate was issued again, and the item has both issuances.",
      await of({ certificate: renewed.envelope, history: [first] }),
      whole,
    ),
    adCase(
      "history missing",
      "The issuance that the seal names is missing.",
      await of({ certificate: renewed.envelope }),
      unjudged,
    ),
    adCase(
      "history exchanged",
      "The earlier issuance is shown as the one in force.",
      await of({ certificate: first, history: [renewed.envelope] }),
      refused,
    ),
    adCase("renewal withheld", "The keys name a later issuance than the item has.", await of({}), unjudged),
    adCase(
      "history forged",
      "A bit of the earlier issuance's signature is flipped.",
      await of({ certificate: renewed.envelope, history: [withFlippedSignature(first)] }),
      { ...refused, seal: "signature_invalid" },
    ),
  ];
}

/** A pool of one ad, whose pictures nobody fetched, and what its checks find. */
async function samplePool({ production: { service, business } }: World) {
  const item = await makeAdItem(service, business);
  const rows = [item["row"] as unknown as IndexRow];
  const facts = { ...receiptFacts(rows), kind: "ad_pool", collection: null };
  const pool: JsonObject = {
    retrieval_id: facts.retrieval_id,
    country: "DE",
    subdivision: null,
    ads: [item],
    render_until: formatTimestamp(Date.parse(servedAt) + adRenderMs),
    receipt: document("receipt.v3", facts, soleKey(service.receipt)),
  };
  const inItem = Object.entries({ ...whole, images: "not_checked" } as Checks).map(
    ([name, outcome]) => [`ads/0/${name}`, outcome] as const,
  );
  const fine: Checks = { receipt: "ok", ...Object.fromEntries(inItem), "unsigned/subdivision": "unsigned" };
  return { item, pool, inItem, fine };
}

/** Evidence files about a pool. */
export async function poolEvidenceCases(world: World): Promise<readonly VectorCase[]> {
  const { pool, fine } = await samplePool(world);
  const keySet = JSON.stringify(keySetAnswer(world.production.service));
  const fileOf = (answer: object): JsonObject =>
    JSON.parse(
      evidenceText({
        environment: "production",
        keySet,
        callerKeyId,
        answer: { kind: "pool", text: JSON.stringify(answer) },
      }),
    ) as JsonObject;
  const one = (name: string, says: string, file: object, checks: Checks) =>
    casesOf("evidence").good(
      name,
      says,
      { file_base64: base64(utf8(JSON.stringify(file))) },
      { valid: isValid(checks), checks },
    );
  const refused: Checks = { file: "payload_malformed" };
  const whole: Checks = { key_set: "ok", ...fine };
  return [
    one("pool", "A pool of ads.", fileOf(pool), whole),
    one(
      "pool of another country",
      "The pool names another country than its receipt.",
      fileOf({ ...pool, country: "FR" }),
      {
        ...whole,
        receipt: "receipt_row_mismatch",
      },
    ),
    one(
      "further member in the pool",
      "The pool has a member that no pool has.",
      fileOf({ ...pool, more: 1 }),
      refused,
    ),
    one("pool and search", "It has a pool and a search answer.", { ...fileOf(pool), search: {} }, refused),
    one(
      "pool with a mandate",
      "A pool is not judged by a mandate.",
      { ...fileOf(pool), mandate: {} },
      refused,
    ),
  ];
}

/** Answers of a request for a pool. */
export async function poolCases(world: World): Promise<readonly VectorCase[]> {
  const { item, pool, inItem, fine } = await samplePool(world);
  const one = (name: string, says: string, changes: object, checks: Checks = {}) =>
    casesOf("pool_answer").good(
      name,
      says,
      { body_base64: base64(utf8(JSON.stringify({ ...pool, ...changes }))), caller_key_id: callerKeyId },
      { valid: isValid({ ...fine, ...checks }), checks: { ...fine, ...checks } },
    );
  const other = (path: readonly string[], by: JsonValue) => ({ ads: [changed(item, path, by)] });
  const malformed = (name: string, says: string, body: JsonValue) =>
    casesOf("pool_answer").good(
      name,
      says,
      { body_base64: base64(utf8(JSON.stringify(body))) },
      { valid: false, checks: { answer: "payload_malformed" } },
    );
  const { render_until: _, ...without } = pool;
  return [
    one("whole", "A pool with one ad.", {}),
    one("of a part of the country", "The pool was asked for a part of the country.", {
      subdivision: "DE-BE",
    }),
    one(
      "of a part of another country",
      "The part is not of the country.",
      { subdivision: "FR-75" },
      {
        answer: "payload_malformed",
      },
    ),
    one(
      "another country",
      "It names another country than its receipt.",
      { country: "FR" },
      {
        receipt: "receipt_row_mismatch",
      },
    ),
    one(
      "ad repeated",
      "It has an ad twice.",
      { ads: [item, item] },
      {
        receipt: "receipt_row_mismatch",
        ...Object.fromEntries(inItem.map(([name, outcome]) => [name.replace("0", "1"), outcome])),
      },
    ),
    one(
      "longer to render",
      "Its ads may be rendered later than ten minutes after they were served.",
      { render_until: "2026-03-05T11:00:00.000Z" },
      { answer: "hash_mismatch" },
    ),
    one("another headline", "An ad shows another headline.", other(["creative", "headline"], "Cheaper"), {
      "ads/0/creative": "hash_mismatch",
    }),
    one("another price", "The price is an offer of the service.", other(["net_price", "amount"], "9.99")),
    one("further member", "A member that no pool has.", { more: 1 }, { "unknown/more": "not_checked" }),
    malformed("member missing", "It does not say until when its ads may be rendered.", without),
    malformed("no answer", "An object without the members of an answer.", {}),
  ];
}
