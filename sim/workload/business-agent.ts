// A business's system: pushes batches under one key, retries what was not answered, corrects records, and occasionally
// acts confused: the same batch again, another under a used seq, the same request under a new key.

import type { SimSigner } from "../crypto/sim-crypto.ts";
import type { Random } from "../kernel/random.ts";
import type { SimBusiness } from "../world/setup.ts";
import type { World } from "../world/world.ts";
import { type HeardResult, type SentBatch, sealBatch } from "./batch.ts";
import { importBatch } from "./bulk-import.ts";
import { Client, type Heard, isCapped, passing } from "./client.ts";
import type { Journal, Removal } from "./journal.ts";
import { drawCountries, type ProductChoice, productFaults } from "./product.ts";
import { sealRemoval } from "./removal-request.ts";
import { type RequestParts, type SimRequest, signRequest } from "./signed-request.ts";

const eveningBatches = 3;
/** How often a removal is sent that is not answered. */
const removalsMax = 4;
/** Time limit for an answer once nothing else fails. */
const answeredWithinMs = 8_000;

export interface BusinessPlan {
  readonly steps: number;
  readonly products: number;
  readonly batchMax: number;
  /** Whether it mostly pushes its whole catalogue with changed prices, which is held. */
  readonly reprices: boolean;
  /** Whether it mostly publishes the same bytes again, in between other steps. */
  readonly repeats: boolean;
  /** Leaves of a batch that is processed in the background; 0 for none. */
  readonly queuedLeaves: number;
  readonly pauseMaxMs: number;
  /** Region to which its requests go. */
  readonly region: string;
}

export class BusinessAgent {
  readonly #world: World;
  readonly #journal: Journal;
  readonly #business: SimBusiness;
  readonly #key: SimSigner;
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

  /** Starts nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Sends what is still to be sent at the end of a day, in parallel with anything in flight. */
  async evening(): Promise<void> {
    const begun: Promise<void>[] = [];
    for (let batch = 1; batch <= eveningBatches; batch += 1) {
      if (this.#journal.revocations.has(this.#key.keyId)) break;
      if (this.#world.takes(`${this.#name}#evening-${batch}`)) begun.push(this.#push(this.#newBatch()));
      await this.#client.pause(this.#random.between(1, 20));
    }
    await Promise.all(begun);
  }

  async run(): Promise<void> {
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
        race: known.length > 0 ? 1 : 0,
        import: 2,
      });
      if (what === "push") await this.#push(this.#newBatch());
      else if (what === "again") await this.#push(this.#random.pick(known));
      else if (what === "usedSeq")
        await this.#push(this.#newBatch({ usedSeq: this.#random.pick(known).seq }));
      else if (what === "status") await this.#status(this.#random.pick(known));
      else if (what === "race") await this.#race(this.#newBatch());
      else if (what === "import") await this.#import(this.#newBatch());
      else await this.#remove();
    }
  }

  /**
   * For the liveness phase: sends every batch that was neither acknowledged nor refused until it is. Starts within
   * `latestMs`.
   */
  async finish(latestMs: number): Promise<void> {
    // A revoked key is refused permanently; what was acknowledged under it continues on its own.
    if (this.#journal.revocations.has(this.#key.keyId)) return;
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
    if (this.#journal.revocations.has(this.#key.keyId)) return;
    this.#step("index away");
    if (!this.#world.takes(`${this.#name}#index-away`)) return;
    const { kernel } = this.#world.parts;
    const untilMs = kernel.now() + answeredWithinMs;
    const batch = this.#newBatch({ leaves: this.#random.between(1, 6) });
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

  /** Starts a step with its own randomness. */
  #step(purpose: string): void {
    this.#random = this.#draws.fork(purpose);
    this.#client.draw(this.#random.fork("client"));
  }

  /** Continues as a holder of the key that does not know, or does not care, that it was just revoked. */
  async #goOn(): Promise<void> {
    if (this.#isStopped) return;
    await this.#push(this.#newBatch());
  }

  /** Sends a batch until there is a definite answer, at most a few times. */
  async #push(batch: SentBatch): Promise<void> {
    this.#journal.addBatch(batch);
    const attempts = this.#random.between(1, 4);
    let name = batch.idempotencyKey;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const heard = await this.#publish(batch, name);
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

  async #publish(batch: SentBatch, idempotencyKey: string): Promise<Heard | null> {
    const request = this.#sign("publish", batch, idempotencyKey);
    const sentAt = this.#world.parts.kernel.events;
    const heard = await this.#client.send(request, this.#plan.region);
    if (heard !== null) this.#note(batch, heard, { name: idempotencyKey, sentAt });
    return heard;
  }

  /** Publishes a batch as a file. */
  async #import(batch: SentBatch): Promise<void> {
    const { kernel } = this.#world.parts;
    this.#journal.addBatch(batch);
    const sentAt = kernel.events;
    const name = this.#nextName("import");
    const path = { upload: "/v1/bulk-uploads", import: "/v1/bulk-imports" } as const;
    const heard = await importBatch(
      {
        ...{ world: this.#world, client: this.#client, random: this.#random, region: this.#plan.region },
        sign: (route, body) =>
          this.#signed({
            route,
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
    this.#note(batch, heard, { name, sentAt });
  }

  async #status(batch: SentBatch): Promise<void> {
    const heard = await this.#client.send(this.#sign("push", batch, null), this.#plan.region);
    if (heard?.code === "not_found" && batch.acknowledgedAt !== null && !this.#world.mayReadOld)
      this.#world.observed.violate(
        "acknowledged-is-kept",
        `${batch.pushId} was acknowledged and is not found`,
      );
  }

  /** Withdraws or deletes by a sealed document, which is sent again until it is answered, at most a few times. */
  async #remove(): Promise<void> {
    const { parts, observed } = this.#world;
    const recordId = parts.recordIdOf(this.#business.uuid, "products", this.#productId());
    const action = this.#random.chance(0.6) ? "withdraw" : "delete";
    const given = { business: this.#business, key: this.#key, recordId, action } as const;
    const policyVersion = this.#journal.policyVersion(this.#business);
    const sealed = sealRemoval(parts, { ...given, policyVersion });
    const { document } = sealed;
    const sentAt = parts.kernel.events;
    const removal: Removal = { ...given, document, sentAt, acknowledgedAt: null, isRemoved: false };
    this.#journal.removals.push(removal);
    for (let attempt = 0; attempt < removalsMax; attempt += 1) {
      const request = this.#signRemoval(removal, sealed.body);
      const heard = await this.#client.send(request, this.#plan.region);
      if (heard !== null && !passing.has(heard.code)) {
        observed.mark(`remove.${heard.code}`);
        removal.acknowledgedAt = parts.kernel.events;
        removal.isRemoved = heard.status === 200;
        return;
      }
      await this.#client.pause(this.#random.between(50, 800));
    }
  }

  #signRemoval({ action, recordId: subject }: Removal, body: Uint8Array): SimRequest {
    const { kernel, crypto } = this.#world.parts;
    return signRequest(crypto, {
      ...{ route: action, signer: this.#key, role: "integration", tag: "svc-push", body, subject },
      path: `/v1/publish/products/${action}`,
      nonce: this.#random.hex(24),
      created: Math.floor(kernel.now() / 1_000),
      lifetimeSeconds: 120,
      idempotencyKey: this.#nextName("removal"),
    });
  }

  #note(batch: SentBatch, heard: Heard, request: { readonly name: string; readonly sentAt: number }): void {
    const { observed, parts } = this.#world;
    const { name, sentAt } = request;
    observed.mark(`publish.${heard.code}`);
    if (heard.status === 200 || heard.status === 202) {
      const revokedAt = this.#journal.revocations.get(this.#key.keyId)?.doneAt ?? Number.POSITIVE_INFINITY;
      // An earlier acceptance may be reported again; a new batch may not be accepted.
      if (batch.sentAt > revokedAt && sentAt > revokedAt)
        observed.violate(
          "revocation-holds",
          `${batch.pushId} was accepted although its key had been revoked`,
        );
      batch.acknowledgedAt ??= parts.kernel.events;
      if (heard.status === 202) return;
      const { results, batch_id, held } = heard.body as {
        results: HeardResult[];
        batch_id: string;
        held: boolean;
      };
      if (batch_id !== batch.pushId)
        observed.violate("answers-fit", `${batch.pushId} was answered as ${batch_id}`);
      if (held) observed.mark("publish.held");
      if (held) return;
      this.#journal.compareResults(observed, batch, results, name);
      batch.results ??= results;
      batch.settled = true;
    } else if (!passing.has(heard.code)) {
      // A request in flight in parallel with the accepted one may have been judged before it.
      const wasAcknowledged = batch.acknowledgedAt !== null && sentAt > batch.acknowledgedAt;
      const isLost = wasAcknowledged && heard.code !== "idempotency_key_reused";
      if (isLost && !this.#world.mayReadOld)
        observed.violate(
          "acknowledged-is-kept",
          `${batch.pushId} was acknowledged, then refused: ${heard.code}`,
        );
      batch.refused ??= heard.code;
    }
  }

  #sign(route: "publish" | "push", batch: SentBatch, idempotencyKey: string | null): SimRequest {
    return this.#signed({
      route,
      path: route === "publish" ? "/v1/publish/products" : `/v1/pushes/${batch.pushId}`,
      body: route === "publish" ? batch.body : null,
      idempotencyKey,
      subject: batch.pushId,
    });
  }

  #signed(given: Pick<RequestParts, "route" | "path" | "body" | "idempotencyKey" | "subject">): SimRequest {
    const { kernel, crypto } = this.#world.parts;
    return signRequest(crypto, {
      ...given,
      signer: this.#key,
      role: "integration",
      tag: given.route === "push" ? "svc-business-read" : "svc-push",
      nonce: this.#random.hex(24),
      created: Math.floor(kernel.now() / 1_000),
      lifetimeSeconds: 120,
    });
  }

  #newBatch({ usedSeq, leaves = this.#leafCount() }: { usedSeq?: number; leaves?: number } = {}): SentBatch {
    this.#seq += 1;
    return sealBatch(this.#world.parts, {
      business: this.#business,
      key: this.#key,
      seq: usedSeq ?? this.#seq,
      products: Array.from({ length: leaves }, (_, index) => this.#product(leaves > 20 ? index : null)),
      policyVersion: this.#journal.policyVersion(this.#business),
      idempotencyKey: this.#nextName("push"),
    });
  }

  #leafCount(): number {
    const { queuedLeaves, batchMax, reprices, products } = this.#plan;
    if (reprices && this.#random.chance(0.6)) return products;
    if (queuedLeaves > 0 && this.#random.chance(0.15)) return queuedLeaves;
    return this.#random.skewed(1, batchMax);
  }

  #product(index: number | null): ProductChoice {
    const id = index === null ? this.#productId() : `p${index}`;
    if (this.#plan.repeats && this.#random.chance(0.7))
      return { id, cents: 1_000, countries: ["US"], edition: 1, fault: null };
    return {
      id,
      cents: this.#random.pick([1_000, 1_010, 1_100, 9_900]),
      countries: drawCountries(this.#random),
      edition: this.#random.chance(0.1) ? 1 : this.#random.below(1_000_000),
      fault: this.#random.chance(0.08) ? this.#random.pick(productFaults) : null,
    };
  }

  #productId(): string {
    return `p${this.#random.below(this.#plan.products)}`;
  }

  #nextName(prefix: string): string {
    this.#names += 1;
    return `${prefix}-${this.#key.keyId.slice(0, 6)}-${this.#names}`;
  }
}

function isDone(batch: SentBatch): boolean {
  return batch.acknowledgedAt !== null || batch.refused !== null;
}
