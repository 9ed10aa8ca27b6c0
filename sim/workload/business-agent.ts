// A business's system: pushes batches under one key, retries what was not answered, corrects records, and occasionally
// acts confused: the same batch again, another under a used seq, the same request under a new key.

import type { OwnReads } from "../checkers/own-reads.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import type { Random } from "../kernel/random.ts";
import type { SimBusiness } from "../world/setup.ts";
import type { World } from "../world/world.ts";
import { importBatch, isDone, noteAnswer, type SentBatch, sealBatch } from "./batch.ts";
import {
  type BatchChoice,
  type BusinessPlan,
  drawLeafCount,
  drawProductId,
  drawProducts,
} from "./business-plan.ts";
import { Client, type Heard, isCapped, passing } from "./client.ts";
import type { Journal } from "./journal.ts";
import { KeyUse, momentOf } from "./key-changes.ts";
import {
  checkAttempts,
  checkCatalogue,
  type ReadPage,
  readAttempts,
  readCatalogue,
  removeRecord,
} from "./own-reads.ts";
import { cancel, type LifeParts, validateOnly } from "./push-life.ts";
import { type RequestParts, type SimRequest, signRequest } from "./signed-request.ts";

const eveningBatches = 3;
/** How often a successor looks whether it is registered. */
const registeredMs = 500;
/** Time limit for an answer once nothing else fails. */
const answeredWithinMs = 8_000;

const paths = {
  publish: "/v1/publish/products",
  validate: "/v1/publish/products",
  push: "/v1/pushes/*",
  cancel: "/v1/pushes/*/cancel",
} as const;

const read = { tag: "svc-business-read", body: null, idempotencyKey: null } as const;

export class BusinessAgent {
  readonly #world: World;
  readonly #journal: Journal;
  readonly #business: SimBusiness;
  readonly #key: SimSigner;
  readonly #use: KeyUse;
  readonly #plan: BusinessPlan;
  readonly #name: string;
  readonly #draws: Random;
  /** Randomness of the current step. */
  #random: Random;
  readonly #client: Client;
  #isStopped = false;
  #seq = 0;
  #names = 0;

  constructor(
    world: World,
    journal: Journal,
    given: {
      readonly name: string;
      readonly business: SimBusiness;
      readonly key: SimSigner;
      readonly plan: BusinessPlan;
      readonly random: Random;
    },
  ) {
    this.#world = world;
    this.#journal = journal;
    this.#business = given.business;
    this.#key = given.key;
    this.#use = new KeyUse(world, journal, given.business, given.key);
    this.#plan = given.plan;
    this.#name = given.name;
    this.#draws = given.random;
    this.#random = given.random;
    this.#client = new Client(
      world,
      `business ${given.business.uuid.slice(0, 4)}`,
      given.random.fork("client"),
    );
    this.#journal.onRevoked(given.key.keyId, () => this.#goOn());
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Sends what is still to be sent at the end of a day, in parallel with anything in flight. */
  async evening(): Promise<void> {
    const begun: Promise<void>[] = [];
    for (let batch = 1; batch <= eveningBatches; batch += 1) {
      if (this.#use.isRevoked || !this.#use.isRegistered) break;
      if (this.#world.takes(`${this.#name}#evening-${batch}`)) begun.push(this.#push(this.#newBatch()));
      await this.#client.pause(this.#random.between(1, 20));
    }
    await Promise.all(begun);
  }

  async run(): Promise<void> {
    // A successor begins once it is registered.
    while (!this.#isStopped && !this.#use.isRegistered) await this.#client.pause(registeredMs);
    for (let step = 0; step < this.#plan.steps && !this.#isStopped; step += 1) {
      this.#step(`step ${step}`);
      await this.#client.pause(this.#random.skewed(1, this.#plan.pauseMaxMs));
      if (!this.#world.takes(`${this.#name}#${step + 1}`)) continue;
      const known = this.#journal.batchesOf(this.#key.keyId);
      const what = this.#random.weighted({
        push: 10,
        again: known.length > 0 ? 3 : 0,
        usedSeq: known.length > 0 ? 1 : 0,
        status: known.length > 0 ? 2 : 0,
        remove: 3,
        catalogue: 1,
        attempts: 1,
        race: known.length > 0 ? 1 : 0,
        validate: 1,
        cancel: known.length > 0 ? 1 : 0,
        overtake: 1,
        import: 2,
        late: this.#use.endsSoon ? 6 : 0,
        resume: this.#use.inherited().length > 0 ? 3 : 0,
      });
      if (what === "push") await this.#push(this.#newBatch());
      else if (what === "again") await this.#push(this.#random.pick(known));
      else if (what === "usedSeq")
        await this.#push(this.#newBatch({ usedSeq: this.#random.pick(known).seq }));
      else if (what === "status") await this.#status(this.#random.pick(known));
      else if (what === "catalogue") checkCatalogue(this.#world, await readCatalogue(this.#readPage));
      else if (what === "attempts") await this.#readAttempts();
      else if (what === "race") await this.#race(this.#newBatch());
      else if (what === "validate") await validateOnly(this.#lifeParts(), this.#newBatch());
      else if (what === "cancel") await cancel(this.#lifeParts(), this.#random.pick(known));
      else if (what === "overtake") await this.#overtake(this.#newBatch());
      else if (what === "import") await this.#import(this.#newBatch());
      else if (what === "late") await this.#sendLate(this.#newBatch());
      else if (what === "resume") await this.#push(this.#random.pick(this.#use.inherited()));
      else await this.#remove();
    }
  }

  /**
   * For the liveness phase: sends every batch that was neither acknowledged nor refused until it is. Starts within
   * `latestMs`.
   */
  async finish(latestMs: number): Promise<void> {
    // A key that is out of force is refused permanently; what was acknowledged under it continues on its own.
    if (!this.#use.mayPublish) return;
    this.#step("finish");
    if (latestMs > 0) await this.#client.pause(this.#random.below(latestMs));
    for (const batch of this.#journal.batchesOf(this.#key.keyId)) {
      for (let attempt = 0; attempt < 40 && !isDone(batch); attempt += 1) {
        const heard = await this.#publish(batch, this.#nextName("final"));
        // Caps cover an hour and a day: what they refuse stays refused within this run.
        if (heard?.code === "rate_limited" && isCapped(heard)) batch.refused ??= heard.code;
        if (!isDone(batch)) await this.#client.pause(300);
      }
      if (!isDone(batch)) this.#world.observed.violate("liveness", `${batch.pushId} is never taken`);
    }
  }

  /** For the liveness phase: a small batch is answered in time although an index does not answer. */
  async publishWithoutIndex(): Promise<void> {
    if (!this.#use.mayPublish) return;
    this.#step("index away");
    if (!this.#world.takes(`${this.#name}#index-away`)) return;
    const { kernel } = this.#world.parts;
    const untilMs = kernel.now() + answeredWithinMs;
    const batch = this.#newBatch({ leaves: this.#random.between(1, 6), mayPoison: false });
    this.#journal.addBatch(batch);
    for (;;) {
      const heard = await this.#publish(batch, this.#nextName("away"));
      if (heard?.code === "rate_limited" && isCapped(heard)) return;
      if (kernel.now() > untilMs)
        this.#world.observed.violate(
          "liveness",
          `${batch.pushId} is not answered in ${answeredWithinMs} ms while an index answers nobody`,
        );
      if (isDone(batch) || kernel.now() > untilMs) break;
      await this.#client.pause(300);
    }
    if (batch.settled) this.#world.observed.mark("publish.ok_without_index");
  }

  /** For the liveness phase, in some worlds: a batch under a used seq is refused, and this is kept. */
  async beRefused(): Promise<void> {
    const [used] = this.#journal.batchesOf(this.#key.keyId).filter((batch) => batch.acknowledgedAt !== null);
    if (used === undefined || !this.#use.mayPublish) return;
    this.#step("be refused");
    const batch = this.#newBatch({ usedSeq: used.seq, leaves: 1 });
    this.#journal.addBatch(batch);
    const heard = await this.#publish(batch, this.#nextName("refused"));
    if (heard?.code !== "seq_not_increasing") return;
    this.#journal.noteRefused(this.#business.uuid, batch.pushId);
  }

  /** What it reads of its own data at rest; null if its key is revoked, or somebody does not answer. */
  async readOwn(): Promise<OwnReads | null> {
    if (!this.#use.mayRead) return null;
    this.#step("own reads");
    const catalogue = await readCatalogue(this.#readPage);
    const attempts = await readAttempts(this.#readPage);
    return catalogue === null || attempts === null
      ? null
      : { business: this.#business.uuid, catalogue, attempts };
  }

  async #readAttempts(): Promise<void> {
    const known = this.#journal.batchesOf(this.#key.keyId).filter((batch) => batch.acknowledgedAt !== null);
    const attempts = await readAttempts(this.#readPage);
    if (attempts !== null) checkAttempts(this.#world, attempts, known);
  }

  readonly #readPage: ReadPage = (route, subject) => {
    const path = route === "catalogue" ? "/v1/catalogue" : "/v1/push-attempts";
    return this.#client.send(this.#signAny({ ...read, route, path, subject }), this.#plan.region);
  };

  /** Starts a step with its own randomness. */
  #step(purpose: string): void {
    this.#random = this.#draws.fork(purpose);
    this.#client.draw(this.#random.fork("client"));
  }

  /** Continues in every region, as if the holder did not know that the key or a mandate of it was just revoked. */
  async #goOn(): Promise<void> {
    if (this.#isStopped) return;
    for (const region of this.#world.parts.regions) await this.#push(this.#newBatch(), region);
  }

  /** Sends a batch only when something has ended that was in force when it was sealed. */
  async #sendLate(batch: SentBatch): Promise<void> {
    await this.#client.pause(this.#use.endedInMs);
    batch.firstSent = momentOf(this.#world);
    await this.#push(batch);
  }

  /** Sends a batch until there is a definite answer, at most a few times. */
  async #push(batch: SentBatch, region = this.#plan.region): Promise<void> {
    this.#journal.addBatch(batch);
    const attempts = this.#random.between(1, 4);
    let name = batch.idempotencyKey;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const heard = await this.#publish(batch, name, region);
      if (heard !== null && !passing.has(heard.code)) return;
      if (this.#random.chance(0.3)) name = this.#nextName("again");
      await this.#client.pause(this.#random.between(1, 800));
    }
  }

  /** Sends the same batch in two concurrent requests, or two batches under one Idempotency-Key. */
  async #race(batch: SentBatch): Promise<void> {
    this.#journal.addBatch(batch);
    if (this.#random.chance(0.3)) return this.#confuse(batch);
    const other = this.#random.chance(0.5) ? batch.idempotencyKey : this.#nextName("race");
    await Promise.all([this.#publish(batch, batch.idempotencyKey), this.#publish(batch, other)]);
  }

  async #overtake(batch: SentBatch): Promise<void> {
    this.#journal.addBatch(batch);
    await Promise.all([this.#publish(batch, batch.idempotencyKey), cancel(this.#lifeParts(), batch)]);
  }

  #lifeParts(): LifeParts {
    return {
      world: this.#world,
      journal: this.#journal,
      random: this.#random,
      send: (route, batch) =>
        this.#client.send(this.#sign(route, batch, this.#nextName(route)), this.#plan.region),
      pause: (ms) => this.#client.pause(ms),
    };
  }

  async #confuse(batch: SentBatch): Promise<void> {
    const other = this.#newBatch();
    this.#journal.addBatch(other);
    const name = batch.idempotencyKey;
    const heard = await Promise.all([this.#publish(batch, name), this.#publish(other, name)]);
    if (heard.every((each) => each?.code === "ok"))
      this.#world.observed.violate(
        "answered-once",
        `${batch.pushId} and ${other.pushId} were both taken under the Idempotency-Key ${name}`,
      );
  }

  async #publish(
    batch: SentBatch,
    idempotencyKey: string,
    region = this.#plan.region,
  ): Promise<Heard | null> {
    const request = this.#sign("publish", batch, idempotencyKey);
    const sent = momentOf(this.#world);
    const heard = await this.#client.send(request, region);
    if (heard !== null)
      noteAnswer({ world: this.#world, journal: this.#journal, key: this.#key }, batch, heard, {
        name: idempotencyKey,
        sent,
      });
    return heard;
  }

  /** Publishes a batch as a file. */
  async #import(batch: SentBatch): Promise<void> {
    this.#journal.addBatch(batch);
    this.#journal.imported.add(batch.pushId);
    const sent = momentOf(this.#world);
    const name = this.#nextName("import");
    const path = {
      upload: "/v1/bulk-uploads",
      import: "/v1/bulk-imports",
      "validate-import": "/v1/bulk-imports?validate_only=true",
    } as const;
    const heard = await importBatch(
      {
        world: this.#world,
        client: this.#client,
        random: this.#random,
        region: this.#plan.region,
        sign: (route, body) =>
          this.#signAny({
            route,
            tag: "svc-push",
            path: path[route],
            body,
            idempotencyKey: this.#nextName(route),
            subject: batch.pushId,
          }),
      },
      batch,
    );
    if (heard === null) return;
    this.#world.observed.mark(`import.${heard.code}`);
    noteAnswer({ world: this.#world, journal: this.#journal, key: this.#key }, batch, heard, {
      name,
      sent,
    });
  }

  async #status(batch: SentBatch): Promise<void> {
    const heard = await this.#client.send(this.#sign("push", batch, null), this.#plan.region);
    if (heard?.code === "not_found" && batch.acknowledgedAt !== null && !this.#world.mayReadOld)
      this.#world.observed.violate(
        "acknowledged-is-kept",
        `${batch.pushId} was acknowledged and is not found`,
      );
  }

  /** Withdraws or deletes. */
  async #remove(): Promise<void> {
    const { parts } = this.#world;
    const ownId = drawProductId(this.#random, this.#plan);
    const recordId = parts.recordIdOf(this.#business.uuid, "products", ownId);
    const action = this.#random.chance(0.6) ? "withdraw" : "delete";
    const given = { business: this.#business, key: this.#key, recordId, action } as const;
    await removeRecord({ world: this.#world, journal: this.#journal }, given, async (body) => {
      const request = this.#signAny({
        route: action,
        tag: "svc-push",
        body,
        idempotencyKey: this.#nextName("removal"),
        path: `/v1/publish/products/${action}`,
        subject: recordId,
      });
      const heard = await this.#client.send(request, this.#plan.region);
      if (heard !== null && !passing.has(heard.code)) return heard;
      await this.#client.pause(this.#random.between(50, 800));
      return null;
    });
  }

  #sign(route: keyof typeof paths, batch: SentBatch, idempotencyKey: string | null): SimRequest {
    return this.#signAny({
      route,
      idempotencyKey,
      subject: batch.pushId,
      tag: route === "push" ? read.tag : "svc-push",
      path: paths[route].replace("*", batch.pushId),
      body: route === "publish" || route === "validate" ? batch.body : null,
    });
  }

  #signAny(
    given: Pick<RequestParts, "route" | "path" | "tag" | "body" | "idempotencyKey" | "subject">,
  ): SimRequest {
    const { kernel, crypto } = this.#world.parts;
    return signRequest(crypto, {
      ...given,
      signer: this.#key,
      role: "integration",
      nonce: this.#random.hex(24),
      created: Math.floor(kernel.now() / 1_000),
      lifetimeSeconds: 120,
    });
  }

  #newBatch(given: BatchChoice = {}): SentBatch {
    const { usedSeq, leaves = drawLeafCount(this.#random, this.#plan) } = given;
    this.#seq += 1;
    return sealBatch(this.#world.parts, {
      business: this.#business,
      key: this.#key,
      seq: usedSeq ?? this.#seq,
      products: drawProducts(this.#random, this.#plan, { ...given, leaves }),
      policyVersion: this.#journal.policyVersion(this.#business),
      idempotencyKey: this.#nextName("push"),
    });
  }

  #nextName(prefix: string): string {
    this.#names += 1;
    return `${prefix}-${this.#key.keyId.slice(0, 6)}-${this.#names}`;
  }
}
