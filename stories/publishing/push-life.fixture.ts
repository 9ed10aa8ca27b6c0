// The life of a catalogue, from its first file to the purge of what was deleted, over HTTP: the same story for a single node and for
// a cluster. For tests.

import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { sealLeaves } from "../../client/batch.ts";
import { type Business, createBusiness } from "../../client/business.ts";
import { recordBytes } from "../../client/record-set.ts";
import { type Patience, retryUntil } from "../../client/retry-until.ts";
import { createSvcClient, type RecordAnswer, type SvcClient } from "../../client/service-client.ts";
import { parseSigningKey, type SigningKey } from "../../client/signing-key.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { diamondProduct } from "../../node/sandbox/diamonds.ts";
import type { Sandbox, SandboxKey } from "../../node/sandbox/sandbox-file.ts";
import { sealOwnersDecision } from "../../node/sandbox/sealer.ts";
import { hashOf, toBase64 } from "../../protocol/bytes.ts";
import { leafHash } from "../../protocol/merkle.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { secretWord } from "../retrieval/files-with.fixture.ts";
import { fileOf } from "./bulk.fixture.ts";

export type Addresses = Pick<Sandbox, "base_url" | "business_url" | "verify_url" | "ops_url">;

export type Moment = "uploaded" | "imported" | "confirmed";

export interface Disturbed {
  readonly business: string;
  /** Whether nothing is done for the push any more; always where there is none. */
  readonly isOver: () => Promise<boolean>;
}

export interface StoryPlace {
  readonly sandbox: Sandbox;
  /** A node for each errand; on a cluster they differ. */
  readonly at: Readonly<Record<"upload" | "import" | "decide" | "remove", Addresses>>;
  /** A node of each region. */
  readonly regions: readonly Addresses[];
  /** Breaks something: after a file was uploaded, after its import was accepted, and after its hold was confirmed. */
  readonly disturb: (moment: Moment, subject: Disturbed) => Promise<void>;
  /** Brings everything that was acknowledged to the files. */
  readonly settleFiles: () => Promise<void>;
  /** Does after a purge what the documents ask of operators. */
  readonly tidyFiles: () => Promise<void>;
  /** The files of all stores that contain one of the words, each with its name and the words. */
  readonly filesWith: (words: readonly string[]) => Promise<readonly string[]>;
  /** What must be among the files that have the bytes before they are purged. */
  readonly expectedFiles: readonly RegExp[];
}

const stones = 2_000;
/** Every so many of them are read as they are served. */
const servedEvery = 7;
const shocked = 30;
const withdrawn = [3, 404, 1_805];
const deleted = [7, 808, 1_609];
const settleMaxMs = 180_000;
const publishMaxMs = 300_000;

/** A stone with words of its own, so that each text of it can be found, and no other. */
interface StoryStone {
  readonly id: string;
  readonly name: string;
  readonly days: readonly [first: string, second: string];
}

const newStone = (): StoryStone => ({
  id: secretWord(),
  name: secretWord(),
  days: [secretWord(), secretWord()],
});
const all: readonly StoryStone[] = Array.from({ length: stones }, newStone);
const wordsOf = ({ id, name, days }: StoryStone): readonly string[] => [id, name, ...days];

const plainStone = { carat: "0.71", cut: "Ideal", color: "E", clarity: "VS2", depth: "61.5", table: "55" };
const shop = { brand: "Lindqvist & Rowe", website: "https://lindqvist-rowe.example", idPrefix: "" };

/** The price of a stone on a day; the first ones of the second day are shocks, each larger than the one before. */
function priceOn(day: 0 | 1, index: number): string {
  if (day === 0 || index >= 300) return "1000.00";
  return index < shocked ? `${1600 + 10 * index}.00` : "1010.00";
}

function recordOf({ id, name, days }: StoryStone, index: number, day: 0 | 1): Uint8Array {
  const stone = { ...plainStone, price: "1000", size: ["5.7", "5.8", "3.5"] } as const;
  return recordBytes({
    ...diamondProduct(stone, 1, shop),
    business_product_id: id,
    product_name: `0.71 ct diamond ${name}`,
    product_url: `${shop.website}/stones/${index}`,
    short_description: `A loose round diamond of 0.71 carat, known as ${name} and ${days[day]}.`,
    countries: ["US"],
    prices: [{ country: "US", currency: "USD", amount: priceOn(day, index) }],
  });
}

const day = (which: 0 | 1): readonly Uint8Array[] => all.map((stone, index) => recordOf(stone, index, which));

class Story {
  readonly place: StoryPlace;
  readonly #key: SigningKey;
  readonly #grant: string;
  readonly #company: { readonly key: SigningKey; readonly grant: string };

  private constructor(
    place: StoryPlace,
    own: { readonly key: SigningKey; readonly grant: string },
    company: { readonly key: SigningKey; readonly grant: string },
  ) {
    this.place = place;
    this.#key = own.key;
    this.#grant = own.grant;
    this.#company = company;
  }

  static async open(place: StoryPlace): Promise<Story> {
    const { businesses, ai_companies } = place.sandbox;
    const own = await keyOf(businesses[0]?.integration_keys[0]);
    return new Story(place, own, await keyOf(ai_companies[0]?.keys[0]));
  }

  business({ business_url: businessUrl }: Addresses): Business {
    return createBusiness({ businessUrl, key: this.#key, grant: this.#grant, patienceMs: publishMaxMs });
  }

  reader({ base_url: baseUrl, verify_url: verifyUrl }: Addresses): SvcClient {
    return createSvcClient({ fetch, ...this.#company, baseUrl, businessUrl: null, verifyUrl });
  }

  get uuid(): string {
    return this.place.sandbox.businesses[0]?.business_uuid ?? "";
  }

  /** Uploads the records as one file and has it imported; returns the push. */
  async import(records: readonly Uint8Array[], seq: number): Promise<string> {
    const { at, disturb } = this.place;
    const { client } = this.business(at.upload);
    const runId = `${seq}-${secretWord()}`;
    const asked = { type: "products", idempotencyKey: `upload-${runId}` };
    const { body: upload } = await patiently(() => client.requestUpload(asked));
    await client.sendFile(upload, new Blob([new Uint8Array(fileOf(records))]));
    await disturb("uploaded", this.subjectOf(null));
    const importing = this.business(at.import).client;
    const { body: context } = await patiently(() => importing.sealContext());
    const leaves = records.map((each) => leafHash(each, nativeCrypto.sha256));
    const facts = {
      businessUuid: this.uuid,
      certId: context.cert_id,
      aiPolicyVersion: context.ai_policy_version,
      recordType: "products",
      seq,
      sealedAtMs: Date.now(),
    };
    const { batch_seal: batchSeal, push_id } = await sealLeaves(leaves, facts, this.#key);
    const request = { uploadId: upload.upload_id, batchSeal, idempotencyKey: `import-${runId}` };
    const { body } = await patiently(() => importing.importFile(request));
    expect(body).toMatchObject({ push_id, source: "bulk", records: records.length });
    await disturb("imported", this.subjectOf(push_id));
    return push_id;
  }

  subjectOf(pushId: string | null): Disturbed {
    const asked = this.business(this.place.at.import);
    const isOver = async (): Promise<boolean> =>
      pushId === null || isSettled((await asked.status(pushId)).state);
    return { business: this.uuid, isOver };
  }

  /** The state of a push once it is over or held. */
  async over(pushId: string) {
    const { at } = this.place;
    const business = this.business(at.decide);
    await expect
      .poll(async () => isSettled((await business.status(pushId)).state), {
        timeout: publishMaxMs,
        interval: 500,
      })
      .toBe(true);
    return await business.status(pushId);
  }

  async decision(push_id: string) {
    const order = { business_uuid: this.uuid, push_id, decision: "confirm", atMs: Date.now() } as const;
    const sealed = await sealOwnersDecision(this.place.sandbox, order);
    if (sealed === null) throw new Error("The sandbox has no passkey of the owner.");
    return sealed;
  }

  /** The rows that a search for a word finds in a region. */
  async found(region: Addresses, word: string) {
    const asked = {
      collection: "products",
      q: word,
      query_by: ["product_name"],
      filter: { all: [{ country: "US" }] },
      sort_by: "published_at:desc",
    } as const;
    return (await patiently(() => this.reader(region).search(asked))).body.rows;
  }

  /** Resolves once the proof of each record's purge names every region. */
  async untilPurged(recordIds: readonly string[]): Promise<void> {
    const { regions } = this.place;
    const proven = async (): Promise<readonly string[]> => {
      const answer = await fetch(`${this.place.at.remove.ops_url}/ops/purges/${this.uuid}`);
      const { purges } = (await answer.json()) as {
        readonly purges: readonly {
          readonly record_id: string;
          readonly proof: { readonly regions: readonly string[] } | null;
        }[];
      };
      const everywhere = purges.filter(({ proof }) => proof?.regions.length === regions.length);
      return everywhere.map(({ record_id }) => record_id);
    };
    await expect
      .poll(proven, { timeout: publishMaxMs, interval: 500 })
      .toEqual(expect.arrayContaining([...recordIds]));
  }

  /** How long it takes until no region finds any of the stones, in milliseconds. */
  async untilGone(gone: readonly StoryStone[]): Promise<number> {
    const fromMs = performance.now();
    await Promise.all(
      this.place.regions.flatMap((region) =>
        gone.map(async ({ name }) => {
          while ((await this.found(region, name)).length > 0) {
            if (performance.now() - fromMs > settleMaxMs) throw new Error(`${name} is still found`);
            await wait(50);
          }
        }),
      ),
    );
    return performance.now() - fromMs;
  }
}

const isSettled = (state: string): boolean => state !== "queued" && state !== "processing";

const patience: Patience = {
  now: Date.now,
  wait: (delayMs) => wait(delayMs),
  patienceMs: publishMaxMs,
  onWaiting: () => {},
};

/** Asks until the service is there: nodes and engines are away for some time. */
const patiently = <T>(request: () => Promise<T>): Promise<T> => retryUntil(patience, request);

async function keyOf(sample: SandboxKey | undefined): Promise<{ key: SigningKey; grant: string }> {
  const parsed = await parseSigningKey(sample?.private_jwk);
  if (sample === undefined || !parsed.ok) throw new Error("The sandbox lacks a key.");
  return { key: parsed.value, grant: sample.grant };
}

/** Declares the tests of the story, each of which goes on from the one before it. */
export function tellPushLife(open: () => StoryPlace): void {
  let story: Story;
  const ids = new Map<StoryStone, string>();
  const stone = (index: number): StoryStone => all[index] as StoryStone;

  /** Each record was published exactly once; some of each chunk are served as they were sent, and some are found in every region. */
  const expectPublished = async (pushId: string, which: 0 | 1): Promise<void> => {
    const business = story.business(story.place.at.decide);
    const outcomes = await Array.fromAsync(business.results(pushId));
    expect(outcomes.map(({ leaf_index }) => leaf_index)).toEqual(all.map((_, index) => index));
    const as = which === 0 ? "accepted" : "updated";
    expect(outcomes.filter(({ outcome, version }) => outcome !== as || version !== which + 1)).toEqual([]);
    for (const { leaf_index, record_id } of outcomes) ids.set(stone(leaf_index), record_id ?? "");
    const lanes = new Semaphore(8);
    const wrong: string[] = [];
    const sent = day(which);
    await lanes.all(
      all.map(({ id }, index) => async () => {
        if (index % servedEvery !== 0) return;
        const { recordText } = await patiently(() => business.client.catalogueRecord(id));
        if (recordText !== new TextDecoder().decode(sent[index])) wrong.push(id);
      }),
    );
    expect(wrong).toEqual([]);
    for (const region of story.place.regions)
      for (const index of [...withdrawn, ...deleted, 0, stones - 1]) {
        const origins = async () =>
          (await story.found(region, stone(index).name)).map((row) => row.adl_origin);
        await expect.poll(origins, { timeout: settleMaxMs }).toEqual([hashOf(sent[index] as Uint8Array)]);
      }
  };

  it(`imports ${stones} stones of the first day, each once`, { timeout: 2 * publishMaxMs }, async () => {
    story = await Story.open(open());
    const pushId = await story.import(day(0), Date.now());
    expect(await story.over(pushId)).toMatchObject({ state: "complete", counts: { accepted: stones } });
    await expectPublished(pushId, 0);
  });

  it("holds the second day's file, largest shocks first, until the owner confirms it", {
    timeout: 3 * publishMaxMs,
  }, async () => {
    const pushId = await story.import(day(1), Date.now());
    const status = await story.over(pushId);
    expect(status).toMatchObject({ state: "held", held: true });
    const jump = status.held_reasons.find(({ code }) => code === "price_jump");
    expect(jump?.count).toBe(shocked);
    const expected = Array.from({ length: 10 }, (_, place) => stone(shocked - 1 - place).id);
    expect(jump?.largest?.map(({ business_product_id }) => business_product_id)).toEqual(expected);
    // Nothing of it is served meanwhile.
    for (const region of story.place.regions)
      expect((await story.found(region, stone(0).name)).map((row) => row.adl_origin)).toEqual([
        hashOf(recordOf(stone(0), 0, 0)),
      ]);
    const decided = await story
      .business(story.place.at.decide)
      .decideHold(pushId, await story.decision(pushId));
    expect(decided.state).not.toBe("held");
    await story.place.disturb("confirmed", story.subjectOf(pushId));
    expect(await story.over(pushId)).toMatchObject({ state: "complete", counts: { updated: stones } });
    await expectPublished(pushId, 1);
  });

  it("withdraws stones from every region's search, and keeps their bytes", {
    timeout: 2 * settleMaxMs,
  }, async () => {
    const business = story.business(story.place.at.remove);
    for (const index of withdrawn) {
      const answer = await business.withdraw(ids.get(stone(index)) ?? "");
      expect(answer.action).toBe("withdraw");
    }
    const tookMs = await story.untilGone(withdrawn.map(stone));
    console.log(
      `withdrawn stones had vanished from every region ${Math.round(tookMs)} ms after the last answer`,
    );
    await story.place.settleFiles();
    const [kept] = withdrawn.map(stone);
    expect((await story.place.filesWith([kept?.days[1] ?? ""])).length).toBeGreaterThan(0);
  });

  it("purges every byte of deleted stones from every file, while what somebody kept is still verified", {
    timeout: 3 * publishMaxMs,
  }, async () => {
    const { place } = story;
    const secrets = deleted.map(stone);
    const words = secrets.flatMap(wordsOf);
    const [first = place.at.remove] = place.regions;
    const held: RecordAnswer[] = [];
    for (const each of secrets)
      held.push(await patiently(() => story.reader(first).fetchRecord(ids.get(each) ?? "")));
    await place.settleFiles();
    const before = await place.filesWith(words);
    for (const expected of place.expectedFiles)
      expect(before).toContainEqual(expect.stringMatching(expected));
    for (const word of words) expect(before).toContainEqual(expect.stringContaining(word));

    const business = story.business(place.at.remove);
    for (const each of secrets) {
      const answer = await business.delete(ids.get(each) ?? "");
      expect(answer.action).toBe("delete");
    }
    const tookMs = await story.untilGone(secrets);
    console.log(
      `deleted stones had vanished from every region ${Math.round(tookMs)} ms after the last answer`,
    );
    await story.untilPurged(secrets.map((each) => ids.get(each) ?? ""));
    await place.tidyFiles();
    expect(await place.filesWith(words)).toEqual([]);
    await expectPurgedPages(held);
    // What lies beside them is still there, and is served.
    expect((await place.filesWith([stone(8).days[1]])).length).toBeGreaterThan(0);
    for (const region of place.regions) expect(await story.found(region, stone(8).name)).toHaveLength(1);
    await expectPurgedPages(held);
  });

  /** In every region the verify page says that the version was published and is deleted, and its seal verifies. */
  const expectPurgedPages = async (held: readonly RecordAnswer[]): Promise<void> => {
    for (const region of story.place.regions)
      for (const { body, recordBytes: bytes } of held) {
        const reader = story.reader(region);
        const origin = encodeURIComponent(hashOf(bytes));
        const page = async () =>
          (await reader.verificationRead(`/v1/verify/${body.record_id}?format=json&origin=${origin}`)).body;
        await expect
          .poll(page, { timeout: settleMaxMs, interval: 500 })
          .toMatchObject({ status: "purged", valid: true, version: { generation: 2 } });
        const { seal, sidecar } = body;
        const verified = await reader.verify({ record_base64: toBase64(bytes), seal, sidecar });
        expect(verified.body).toMatchObject({ seal: { valid: true } });
        await expect(reader.fetchRecord(body.record_id)).rejects.toMatchObject({ problem: { status: 404 } });
      }
  };
}
