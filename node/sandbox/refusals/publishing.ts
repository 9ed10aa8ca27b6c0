// Refusals of a batch: because of the key and mandate, the seal, what was sent before, or single records.

import { publishBody } from "../../../client/batch.ts";
import { askForGrant } from "../../../client/sandbox-grant.ts";
import { concatBytes, utf8 } from "../../../protocol/bytes.ts";
import { openUploadsMax } from "../../../protocol/limits.ts";
import {
  type Attempts,
  freshText,
  type Publisher,
  type Refused,
  refusedBy,
  type SealChanges,
  type Trial,
  trialProduct,
} from "./trial.ts";

const lamp = (): readonly Uint8Array[] => [trialProduct("tried-lamp")];

export const publishAs =
  (words: string) =>
  async (trial: Trial): Promise<Refused> =>
    refusedBy(await trial.publish(await trial.publisher(words), lamp()));

/** Publishes until it is refused, a few times at most: caps are counted per clock hour. */
async function publishUntilRefused(trial: Trial, publisher: Publisher): Promise<Refused> {
  for (let left = 6; ; left -= 1) {
    const refused = refusedBy(await trial.publish(publisher, lamp()));
    if (refused.code !== "" || left === 0) return refused;
  }
}

/** By a business of its own: its uploads stay open for two hours. */
async function askForUploads(trial: Trial): Promise<Refused> {
  const caller = await newPublisher(trial);
  for (let left = openUploadsMax; ; left -= 1) {
    const refused = refusedBy(
      await trial.send({
        url: `${trial.sandbox.business_url}/v1/bulk-uploads`,
        method: "POST",
        caller,
        tag: "svc-push",
        body: JSON.stringify({ record_type: "products" }),
        headers: { "idempotency-key": freshText() },
      }),
    );
    if (refused.code !== "" || left === 0) return refused;
  }
}

/** By a business of its own: its pushes stay held. */
async function holdUntilRefused(trial: Trial): Promise<Refused> {
  const publisher = await newPublisher(trial);
  const priced = (item: number, amount: string): Uint8Array =>
    trialProduct(`tried-${item}`, { prices: [{ country: "IE", currency: "EUR", amount }] });
  const seal = { aiPolicyVersion: 0 };
  const catalogue = Array.from({ length: 20 }, (_, item) => priced(item, "10.00"));
  await trial.publish(publisher, catalogue, { seal });
  for (let held = 0; ; held += 1) {
    const refused = refusedBy(await trial.publish(publisher, [priced(0, `${100 + held}.00`)], { seal }));
    if (refused.code !== "" || held === 40) return refused;
  }
}

const authority: Attempts = {
  rate_limited: async (trial) => publishUntilRefused(trial, await trial.publisher("two records an hour")),
  "rate_limited/uploads_open": askForUploads,
  "rate_limited/holds_waiting": holdUntilRefused,
  type_not_publishable: async (trial) =>
    refusedBy(await trial.publish((await trial.everyday).publisher, lamp(), { type: "events" })),
};

const repetition: Attempts = {
  seq_not_increasing: async (trial) => {
    const { publisher } = await trial.everyday;
    const { seq } = await trial.seal(publisher, lamp());
    await trial.publish(publisher, lamp(), { seal: { seq } });
    return refusedBy(await trial.publish(publisher, [trialProduct("tried-chair")], { seal: { seq } }));
  },
  push_not_cancellable: async (trial) => {
    const { publisher } = await trial.everyday;
    const { json } = await trial.publish(publisher, lamp());
    const url = `${trial.sandbox.business_url}/v1/pushes/${json["batch_id"]}/cancel`;
    return refusedBy(await trial.send({ url, method: "POST", caller: publisher, tag: "svc-push" }));
  },
  upload_conflict: async (trial) => {
    const { publisher } = await trial.everyday;
    const base = { method: "POST", caller: publisher, tag: "svc-push" } as const;
    const post = (path: string, body: object) =>
      trial.send({
        ...base,
        url: `${trial.sandbox.business_url}${path}`,
        body: JSON.stringify(body),
        headers: { "idempotency-key": freshText() },
      });
    const { upload_id } = (await post("/v1/bulk-uploads", { record_type: "products" })).json;
    const { batch_seal } = await trial.seal(publisher, lamp());
    return refusedBy(await post("/v1/bulk-imports", { upload_id, batch_seal }));
  },
  idempotency_key_reused: async (trial) => {
    const { publisher } = await trial.everyday;
    const request = { headers: { "idempotency-key": freshText() } };
    await trial.publish(publisher, lamp(), { request });
    return refusedBy(await trial.publish(publisher, [trialProduct("tried-chair")], { request }));
  },
  idempotency_in_progress: allAtOnce,
};

/** How many requests start before the first is answered is a matter of luck, so this is tried several times. */
async function allAtOnce(trial: Trial): Promise<Refused> {
  const { publisher } = await trial.everyday;
  const records = Array.from({ length: 50 }, (_, index) => trialProduct(`tried-${index}`));
  for (let left = 20; ; left -= 1) {
    const { batch_seal } = await trial.seal(publisher, records);
    const request = {
      url: `${trial.sandbox.business_url}/v1/publish/products`,
      caller: publisher,
      tag: "svc-push" as const,
      body: publishBody(batch_seal, records),
      headers: { "idempotency-key": freshText() },
    };
    const answers = await Promise.all([1, 2, 3].map(() => trial.send(request)));
    const refused = answers.map(refusedBy).find(({ code }) => code !== "");
    if (refused !== undefined || left === 0) return refused ?? { status: 200, code: "", detail: "" };
  }
}

export const sealedWith =
  (changes: SealChanges) =>
  async (trial: Trial): Promise<Refused> =>
    refusedBy(await trial.publish((await trial.everyday).publisher, lamp(), { seal: changes }));

const seals: Attempts = {
  seal_invalid: async (trial) => {
    const { publisher } = await trial.everyday;
    const { batch_seal } = await trial.seal(publisher, [trialProduct("tried-chair")]);
    return refusedBy(
      await trial.publish(publisher, lamp(), { request: { body: publishBody(batch_seal, lamp()) } }),
    );
  },
  "seal_invalid/sealed_at_skew": (trial) => sealedWith({ sealedAtMs: Date.now() - 360_000 })(trial),
  "seal_invalid/key_not_valid": async (trial) => {
    const newcomer = await newPublisher(trial);
    const seal = { sealedAtMs: Date.now() - 240_000, aiPolicyVersion: 0 };
    return refusedBy(await trial.publish(newcomer, lamp(), { seal }));
  },
};

/** A new business, whose key has just been registered. */
export async function newPublisher(trial: Trial): Promise<Publisher> {
  const baseUrl = trial.sandbox.business_url;
  const key = await trial.newKey();
  const asker = {
    fetch: (url: string, init: object) => fetch(url, init),
    baseUrl,
    role: "integration",
    key,
  } as const;
  const { grant, party } = await askForGrant(asker, { legal_name: "A newcomer", country: "IE" });
  const url = `${baseUrl}/v1/seal-context`;
  const { json } = await trial.send({ url, caller: { key, grant }, tag: "svc-business-read" });
  return { key, grant, businessUuid: party.uuid, certId: String(json["cert_id"]) };
}

/** A batch of records from the everyday key, or from the named key; resolves with the fault for which it is refused. */
const recordsOf =
  (records: () => readonly Uint8Array[], words?: string) =>
  async (trial: Trial): Promise<Refused> => {
    const publisher = words === undefined ? (await trial.everyday).publisher : await trial.publisher(words);
    const answer = await trial.publish(publisher, records());
    const results = answer.json["results"] as readonly {
      readonly errors: readonly { readonly code: string; readonly detail: string }[];
    }[];
    const [fault] = (results ?? []).flatMap(({ errors }) => errors);
    return fault === undefined
      ? refusedBy(answer)
      : { status: answer.status, code: fault.code, detail: fault.detail };
  };

export const recordWith = (changes: Readonly<Record<string, unknown>>) =>
  recordsOf(() => [trialProduct("tried-record", changes)]);
export const recordText = (text: string) => recordsOf(() => [utf8(text)]);
const price = (amount: unknown) => ({ prices: [{ country: "IE", currency: "EUR", amount }] });

const records: Attempts = {
  "record/utf8_invalid": recordsOf(() => [Uint8Array.of(0xff)]),
  "record/depth_exceeded": recordsOf(() => [concatBytes(utf8("[".repeat(1_000)), utf8("]".repeat(1_000)))]),
  "record/member_missing": recordWith({ brand: undefined }),
  "record/money_not_string": recordWith(price(19)),
  "record/out_of_scope": recordsOf(
    () => [
      trialProduct("tried-abroad", {
        countries: ["US"],
        prices: [{ country: "US", currency: "USD", amount: "19.00" }],
      }),
    ],
    "For IE and NZ only",
  ),
  "record/duplicate_in_batch": recordsOf(() => [trialProduct("tried-twice"), trialProduct("tried-twice")]),
};

export const publishingRefusals: Attempts = {
  ...authority,
  ...repetition,
  ...seals,
  ...records,
};
