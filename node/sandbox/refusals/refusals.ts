// Every refusal that can be tried in a sandbox, and those that cannot, with the reason. refusals.json names them all; what is tried is
// there as well where one of the recipes below makes it.

import { crc32, deflateSync } from "node:zlib";
import { askForGrant } from "../../../client/sandbox-grant.ts";
import { concatBytes, toBase64, utf8 } from "../../../protocol/bytes.ts";
import { formatTimestamp } from "../../../protocol/identifiers.ts";
import type { JsonObject } from "../../../protocol/json/canonical-json.ts";
import { imageBytesMax, imageSideMax } from "../../../protocol/limits.ts";
import { isObject } from "../../../std/json-pointer.ts";
import { createVerifier } from "../../../verifier/verifier.ts";
import { evidenceRefusals } from "./evidence.ts";
import { publishAs, publishingRefusals, recordText, recordWith, sealedWith } from "./publishing.ts";
import table from "./refusals.json" with { type: "json" };
import { requestRefusals, searchWith } from "./requests.ts";
import {
  type Answer,
  type Attempts,
  type Caller,
  type Publisher,
  type Refusal,
  type Refused,
  refusedBy,
  type SealChanges,
  type Trial,
  trialProduct,
} from "./trial.ts";

// Refusals of held pushes, which the owner of the business decides with the passkey in `sandbox.json`.

const listings = 20;

const priced = (index: number, amount: string): Uint8Array =>
  trialProduct(`tried-hold-${index}`, { prices: [{ country: "IE", currency: "EUR", amount }] });

/** Publishes twenty products, and then one of them at five times its price, which is held. */
async function holdPush(trial: Trial): Promise<{ readonly publisher: Publisher; readonly pushId: string }> {
  const { publisher } = await trial.everyday;
  const catalogue = Array.from({ length: listings }, (_, index) => priced(index, "19.00"));
  await trial.publish(publisher, catalogue);
  const { json } = await trial.publish(publisher, [priced(0, "95.00")]);
  return { publisher, pushId: String(json["batch_id"]) };
}

const holdRefusals: Attempts = {
  "record/hold_rejected": async (trial): Promise<Refused> => {
    const { publisher, pushId } = await holdPush(trial);
    const { status, json } = await trial.decideHold(publisher, pushId, "reject");
    const results = json["results"] as readonly { readonly errors: readonly Refused[] }[] | undefined;
    const [fault] = (results ?? []).flatMap(({ errors }) => errors);
    return { status, code: String(fault?.code ?? ""), detail: String(fault?.detail ?? "") };
  },
  push_not_held: async (trial) => {
    const { publisher, pushId } = await holdPush(trial);
    await trial.decideHold(publisher, pushId, "reject");
    return refusedBy(await trial.decideHold(publisher, pushId, "confirm"));
  },
};

// Refusals of images of ads.

const path = "/v1/ads/images";

const send =
  (body: Uint8Array) =>
  async (trial: Trial): Promise<Refused> => {
    const { publisher: caller } = await trial.everyday;
    const url = `${trial.sandbox.business_url}${path}`;
    const headers = { "content-type": "image/png" };
    return refusedBy(await trial.send({ url, method: "POST", caller, tag: "svc-push", body, headers }));
  };

/** A grey PNG of one line, wider than an image of an ad may be. */
function widePng(): Uint8Array {
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, imageSideMax + 1);
  view.setUint32(4, 1);
  head[8] = 8;
  const line = deflateSync(new Uint8Array(imageSideMax + 2));
  return concatBytes(
    new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", head),
    chunk("IDAT", line),
    chunk("IEND", new Uint8Array()),
  );
}

/** Length, type, data and checksum (PNG §5.3). */
function chunk(type: string, data: Uint8Array): Uint8Array {
  const named = concatBytes(utf8(type), data);
  const whole = new Uint8Array(named.length + 8);
  const view = new DataView(whole.buffer);
  view.setUint32(0, data.length);
  whole.set(named, 4);
  view.setUint32(named.length + 4, crc32(named));
  return whole;
}

const imageRefusals: Attempts = {
  "media_type_unsupported/image_type_unsupported": send(utf8('<svg xmlns="http://www.w3.org/2000/svg"/>')),
  "record_too_large/image_too_large": send(new Uint8Array(imageBytesMax + 1)),
  "request_invalid/image_dimensions": send(widePng()),
  "request_invalid/image_invalid": send(widePng().slice(0, 40)),
};

// Refusals of pools, renders and clicks of ads, with the ads of the sample businesses.

const state = async (trial: Trial, event: string, body: object): Promise<Answer> => {
  const { searcher: caller } = await trial.everyday;
  return trial.send({ url: `${trial.sandbox.base_url}/v1/ads/${event}`, caller, body: JSON.stringify(body) });
};

const openPool = (trial: Trial, keyword: string): Promise<Answer> =>
  state(trial, "pool", { country: "US", keywords: [keyword], sort_by: "random:asc" });

/** The render token of one of the samples' ads. */
async function renderToken(trial: Trial): Promise<string> {
  const { ads } = (await openPool(trial, "diamonds")).json;
  const item = Array.isArray(ads) ? ads[0] : undefined;
  if (item === undefined || !isObject(item)) throw new Error("No sample has an ad about diamonds.");
  return String(item["render_token"]);
}

const adRefusals: Attempts = {
  keyword_not_allowed: async (trial) => refusedBy(await openPool(trial, "ada@example.com")),
  ad_token_invalid: async (trial) => {
    const token = await renderToken(trial);
    const render_token = `${token.slice(0, -1)}${token.endsWith("A") ? "E" : "A"}`;
    return refusedBy(await state(trial, "render", { render_token, format: "card" }));
  },
  ad_not_rendered: async (trial) =>
    refusedBy(await state(trial, "click", { click_token: await renderToken(trial) })),
  ad_unavailable: async (trial) => {
    const { searcher: caller } = await trial.everyday;
    const filter = { all: [{ country: "US" }, { sponsored: false }] };
    const body = JSON.stringify({ sort_by: "published_at:desc", limit: 1, filter });
    const url = `${trial.sandbox.base_url}/v1/products/search`;
    const { retrieval_id, rows } = (await trial.send({ url, caller, body })).json;
    const row = Array.isArray(rows) ? rows[0] : undefined;
    if (row === undefined || !isObject(row)) throw new Error("No sample has a product in US.");
    const { record_id } = row;
    return refusedBy(await state(trial, "render", { retrieval_id, record_id, format: "card" }));
  },
  campaign_refused: async (trial): Promise<Refused> => {
    const { publisher } = await trial.everyday;
    const record = utf8('{"schema":"svc/ad_campaign/1"}');
    const { batch_seal: seal } = await trial.seal(publisher, [record]);
    const body = JSON.stringify({ record_base64: toBase64(record), seal });
    const url = `${trial.sandbox.business_url}/v1/ads/records`;
    return refusedBy(await trial.send({ url, caller: publisher, tag: "svc-push", body }));
  },
};

// Refusals of what an AI company agrees to, and of its entitlements.

interface Terms {
  readonly version: number;
  readonly sha256: string;
}

/** The terms that are in force, or those of a version, as the service answers them. */
async function termsOf(trial: Trial, caller: Caller, query = ""): Promise<Terms> {
  const { json } = await trial.send({ url: `${trial.sandbox.base_url}/v1/terms${query}`, caller });
  return { version: Number(json["version"]), sha256: String(json["sha256"]) };
}

async function agree(trial: Trial, caller: Caller, terms: Terms): Promise<Refused> {
  const url = `${trial.sandbox.base_url}/v1/terms/agreements`;
  return refusedBy(await trial.send({ url, caller, body: JSON.stringify(terms) }));
}

const entitlementOf = async (trial: Trial, caller: Caller) =>
  trial.send({ url: `${trial.sandbox.base_url}/v1/entitlement`, caller });

/** That of the everyday company, which agrees to the terms in force for it. */
async function everydayEntitlement(trial: Trial): Promise<JsonObject> {
  const { searcher } = await trial.everyday;
  await agree(trial, searcher, await termsOf(trial, searcher));
  return (await entitlementOf(trial, searcher)).json;
}

/** The key of a new AI company. */
async function newSearcher(trial: Trial): Promise<Caller> {
  const key = await trial.newKey();
  const baseUrl = trial.sandbox.base_url;
  const asker = { fetch: (url: string, init: object) => fetch(url, init), baseUrl, key } as const;
  const party = { legal_name: "A newcomer", country: "IE" };
  const { grant } = await askForGrant({ ...asker, role: "retrieval" }, party);
  return { key, grant };
}

const dayMs = 86_400_000;

const companyRefusals: Attempts = {
  terms_mismatch: async (trial) => {
    const { searcher } = await trial.everyday;
    const { version } = await termsOf(trial, searcher);
    return agree(trial, searcher, { version, sha256: `sha256:${"0".repeat(64)}` });
  },
  terms_superseded: async (trial) => {
    const { searcher } = await trial.everyday;
    return agree(trial, searcher, await termsOf(trial, searcher, "?version=1"));
  },
  terms_not_agreed: async (trial) => refusedBy(await entitlementOf(trial, await newSearcher(trial))),
  "business_not_verified/company": async (trial) =>
    refusedBy(
      await entitlementOf(trial, await trial.searcher("withdrew its certificate", "for everyday use")),
    ),
  "verify/entitlement_invalid": async (trial) => {
    const entitlement = { ...(await everydayEntitlement(trial)), legal_name: "Another Company" };
    const body = JSON.stringify({ entitlement });
    const { status, json } = await trial.send({ url: `${trial.sandbox.verify_url}/v1/verify`, body });
    const { reason = "", detail = "" } = Object(json["entitlement"]);
    return { status, code: String(reason), detail: String(detail) };
  },
  "verify/entitlement_expired": async (trial) => {
    const entitlement = await everydayEntitlement(trial);
    const { json: keySet } = await trial.send({ url: `${trial.sandbox.verify_url}/.well-known/keys` });
    const verifier = createVerifier({ anchors: trial.sandbox.anchors, keySet });
    if (!verifier.ok) return { status: null, code: verifier.code, detail: verifier.detail };
    const at = formatTimestamp(Date.now() + 2 * dayMs);
    const verdict = verifier.value.entitlement(entitlement, { at });
    return { status: null, code: verdict.ok ? "" : verdict.code, detail: verdict.ok ? "" : verdict.detail };
  },
};

// All refusals, from the table of their recipes.

interface Recipe {
  /** A batch by the integration key whose note has these words. */
  readonly publish_as?: string;
  /** A product that differs in these members. */
  readonly record?: Readonly<Record<string, unknown>>;
  readonly record_text?: string;
  /** A search that differs in these members. */
  readonly search?: Readonly<Record<string, unknown>>;
  /** A batch whose seal differs in these members. */
  readonly seal?: SealChanges;
}

const attempts: Attempts = {
  ...requestRefusals,
  ...publishingRefusals,
  ...holdRefusals,
  ...imageRefusals,
  ...adRefusals,
  ...companyRefusals,
  ...evidenceRefusals,
};

export const refusals: readonly Refusal[] = table.map(({ name, how, ...recipe }) => {
  const attempt = attempts[name] ?? attemptOf(recipe as Recipe);
  if (attempt === null) throw new Error(`Nothing says how ${name} is tried.`);
  return { name, how, attempt };
});

function attemptOf({ publish_as, record, record_text, search, seal }: Recipe): Refusal["attempt"] | null {
  if (publish_as !== undefined) return publishAs(publish_as);
  if (record !== undefined) return recordWith(record);
  if (record_text !== undefined) return recordText(record_text);
  if (search !== undefined) return searchWith(search);
  return seal === undefined ? null : sealedWith(seal);
}

/** Names in the form that {@link Refusal} uses. */
export const untried: Readonly<Record<string, string>> = {
  internal_error: "It is a fault of the service, which nobody can request.",
  ad_expired: "Ten minutes have to pass between a pool and its render.",
  right_missing: "It needs a token that an operator gave the right to read alone.",
  state_changed: "It needs the operators' token, and an actor that goes on meanwhile.",
  deletion_rejected:
    "An operator has to reject a deletion that was received after a revocation for compromise.",
  region_misdirected: "It needs several regions, and a setting that binds keys to theirs.",
  "record/cancelled":
    "A push has to be cancelled before anything of it is published: while it is held, or waits.",
  "record/processing_failed": "It is a fault of the service, which nobody can request.",
  "record/refused_before": "The content lists of the node have to change between a crash and the next start.",
  "record/superseded":
    "A withdrawal has to overtake a push that is still being processed, which nobody can arrange.",
  "record/hold_expired": "Nobody may decide for thirty days.",
  "record/key_revoked": "A push has to be held, and its key revoked before it is confirmed.",
  "record/mandate_revoked": "A push has to be held, and its mandate revoked before it is confirmed.",
  "record/certificate_not_in_force":
    "A push has to be held, and another certificate issued before it is confirmed.",
  "record/ai_policy_version_mismatch":
    "A push has to be held, and another AI policy accepted before it is confirmed.",
  "verify/checkpoint_invalid":
    "Save evidence with --proofs, which takes two minutes, and change a character of its checkpoint.",
  "verify/consistency_invalid": "The log would have to take something back.",
};

/** Whether it was refused as the name says: with its code and, if the name gives a reason, with that reason. */
export function isAsNamed(name: string, { code, reason }: Refused): boolean {
  const [kind, part] = name.split("/");
  if (kind === "verify" || kind === "record") return code === part;
  return code === kind && (reason === undefined || part === undefined || reason === part);
}
