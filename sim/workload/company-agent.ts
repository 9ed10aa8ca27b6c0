// An AI company: searches, fetches what it found, and sends a request again as a replay, to the same region or another.

import { utf8 } from "../../protocol/bytes.ts";
import type { ServedChecker } from "../checkers/served.ts";
import type { Random } from "../kernel/random.ts";
import type { SimCompany } from "../world/setup.ts";
import type { World } from "../world/world.ts";
import { Client, type Heard } from "./client.ts";
import type { Journal } from "./journal.ts";
import { type SimRequest, signRequest } from "./signed-request.ts";

// What AI companies say of a search beside its question: subjects, some of them personal, a session and their own reference.

/** The subjects that may be kept, as they are folded. */
export const subjectsAsked: readonly string[] = ["kettle", "tea cosy"];
const keywords = ["Kettle", "kettle", "Tea Cosy", "anna@example.com", "Anna Berg", "+44 20 7946 0958"];

export interface AskedMembers {
  readonly topic_keywords?: readonly string[];
  readonly session_ref?: string;
  readonly client_query_id?: string;
}

function drawAsked(random: Random): AskedMembers {
  const named = keywords.filter(() => random.chance(0.3));
  return {
    ...(named.length === 0 ? {} : { topic_keywords: named }),
    ...(random.chance(0.3) ? { session_ref: `session-of-${random.pick(["a", "b", "c"])}` } : {}),
    ...(random.chance(0.6) ? { client_query_id: `q-${random.hex(8)}` } : {}),
  };
}

/** The subjects that count for a search with these members: each once. */
function subjectsIn({ topic_keywords: named = [] }: AskedMembers): readonly string[] {
  return subjectsAsked.filter((subject) => named.some((each) => each.toLowerCase() === subject));
}

export interface CompanyPlan {
  readonly steps: number;
  readonly pauseMaxMs: number;
  readonly regions: readonly string[];
}

const sentMax = 20;
/** Pauses while minutes pass: mostly so short that nodes keep their slices. */
const lingerMaxMs = 9_000;
/** For how long a node may go by an earlier answer of a ledger: an answer under way, and that there was nothing. */
const knownMs = 7_000;
/** Every region learns of a change of the register within five seconds, by clocks that differ slightly. */
const blockKnownMs = 8_000;

interface ServedRecord {
  readonly business_uuid: string;
  readonly record_id: string;
}

export class CompanyAgent {
  readonly #world: World;
  readonly #company: SimCompany;
  readonly #plan: CompanyPlan;
  readonly #draws: Random;
  /** Randomness of the current step. */
  #random: Random;
  readonly #name: string;
  readonly #client: Client;
  #isStopped = false;
  readonly #journal: Journal;
  readonly #checker: ServedChecker;
  readonly #sent: SimRequest[] = [];

  constructor(
    world: World,
    given: {
      readonly name: string;
      readonly company: SimCompany;
      readonly plan: CompanyPlan;
      readonly random: Random;
      readonly journal: Journal;
      readonly checker: ServedChecker;
    },
  ) {
    this.#world = world;
    this.#company = given.company;
    this.#plan = given.plan;
    this.#name = given.name;
    this.#draws = given.random;
    this.#random = given.random;
    this.#journal = given.journal;
    this.#checker = given.checker;
    this.#client = new Client(
      world,
      `company ${given.company.uuid.slice(0, 4)}`,
      given.random.fork("client"),
    );
  }

  get uuid(): string {
    return this.#company.uuid;
  }

  /** Starts nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    for (let step = 0; step < this.#plan.steps && !this.#isStopped; step += 1) {
      this.#random = this.#draws.fork(`step ${step}`);
      this.#client.draw(this.#random.fork("client"));
      await this.#client.pause(this.#random.skewed(1, this.#plan.pauseMaxMs));
      if (!this.#world.takes(`${this.#name}#${step + 1}`)) continue;
      const what = this.#random.weighted({ search: 4, fetch: 4, replay: this.#sent.length > 0 ? 2 : 0 });
      if (what === "search") await this.#send(this.#search());
      else if (what === "fetch") await this.#send(this.#fetch());
      else await this.#replay();
    }
  }

  /** Goes on asking, one request at a time. */
  async linger(untilMs: number): Promise<void> {
    const { kernel } = this.#world.parts;
    for (let step = 1; kernel.now() < untilMs; step += 1) {
      this.#random = this.#draws.fork(`linger ${step}`);
      this.#client.draw(this.#random.fork("client"));
      await this.#client.pause(this.#random.between(1, lingerMaxMs));
      if (!this.#world.takes(`${this.#name}~${step}`)) continue;
      const request = this.#random.chance(0.6) ? this.#search() : this.#fetch();
      const [region] = this.#plan.regions;
      const everywhere = this.#random.chance(0.3)
        ? this.#plan.regions
        : [this.#random.pick(this.#plan.regions)];
      await Promise.all(everywhere.map((each) => this.#send(request, each)));
      // A replay where it was answered already.
      if (this.#random.chance(0.1)) await this.#send(request, region);
    }
  }

  async #send(request: SimRequest, region = this.#random.pick(this.#plan.regions)): Promise<void> {
    if (this.#sent.length < sentMax) this.#sent.push(request);
    const sentAtMs = this.#world.parts.kernel.now();
    const heard = await this.#client.send(request, region);
    if (heard === null) return;
    this.#world.observed.mark(`${request.route}.${heard.code}`);
    this.#checkMoney(request, heard, sentAtMs);
    if (heard.status !== 200) return;
    this.#checker.check(request, heard, region);
    this.#checkBlocks(heard, sentAtMs);
    this.#checkTakedowns(heard, sentAtMs);
  }

  /** What operators took down is absent once every region had time to learn of it. */
  #checkTakedowns(heard: Heard, sentAtMs: number): void {
    const body = heard.body as Partial<ServedRecord> & { readonly rows?: readonly ServedRecord[] };
    for (const { business_uuid = "", record_id = "" } of body.rows ?? [body]) {
      const sinceMs = this.#journal.takenDownSinceMs(business_uuid, record_id);
      if (sinceMs !== null && sentAtMs - sinceMs > blockKnownMs)
        this.#world.observed.violate("taken-down-is-absent", `${record_id} was served after its takedown`);
    }
  }

  /** A business that blocked this company's group is absent once every region had time to learn of it. */
  #checkBlocks(heard: Heard, sentAtMs: number): void {
    const body = heard.body as { business_uuid?: string; rows?: readonly { business_uuid: string }[] };
    const served = body.rows?.map((row) => row.business_uuid) ?? [body.business_uuid ?? ""];
    for (const business of new Set(served)) {
      const sinceMs = this.#journal.blockedSinceMs(business, this.#company.uuid);
      if (sinceMs !== null && sentAtMs - sinceMs > blockKnownMs)
        this.#world.observed.violate("blocked-is-absent", `${business} was served to a group it had blocked`);
    }
  }

  /** What is served was paid in, and what was paid in is served, as far as it is nowhere else. */
  #checkMoney({ route, keyId, nonce }: SimRequest, { status, body, outcome }: Heard, sentAtMs: number): void {
    const { parts, observed, mayReadOld } = this.#world;
    const { uuid: company } = this.#company;
    if (parts.money === null || (route !== "search" && route !== "fetch")) return;
    const price = parts.money.price[route];
    const { rows } = (body ?? {}) as { readonly rows?: readonly unknown[] };
    if (status === 200 && rows?.length !== 0) observed.accounts.received({ company, keyId, nonce, price });
    if (outcome.kind === "problem" && outcome.problem.reason === "allowance")
      observed.mark("allowance.unavailable");
    if (status !== 402 || mayReadOld) return;
    const least = observed.accounts.leastAvailable(company, sentAtMs - knownMs);
    if (least >= price)
      observed.violate("money-is-spendable", `${company} was refused for ${price} with ${least} available`);
  }

  /** Sends the same signed request once more, or twice at once. */
  async #replay(): Promise<void> {
    const request = this.#random.pick(this.#sent);
    if (this.#random.chance(0.3)) await Promise.all([this.#send(request), this.#send(request)]);
    else await this.#send(request);
  }

  #search(): SimRequest {
    const country = this.#random.pick(["US", "US", "CA", "GB"]);
    const asked = drawAsked(this.#random.fork("asked"));
    for (const subject of subjectsIn(asked)) {
      const key = `${this.#company.uuid} ${subject}`;
      this.#world.asked.set(key, (this.#world.asked.get(key) ?? 0) + 1);
    }
    const body = {
      ...(this.#random.chance(0.3) ? { q: "thing", query_by: ["product_name"] } : {}),
      filter: { all: [{ country }] },
      sort_by: this.#random.pick([
        "published_at:desc",
        "price_amount:asc",
        "price_amount:desc,published_at:asc",
      ]),
      ...asked,
    };
    const request = this.#sign("search", "/v1/products/search", utf8(JSON.stringify(body)), "");
    return { ...request, clientQueryId: asked.client_query_id ?? null };
  }

  #fetch(): SimRequest {
    const batches = [...this.#journal.batches.values()];
    const recordId =
      batches.length === 0 || this.#random.chance(0.1)
        ? this.#world.parts.recordIdOf(this.#company.uuid, "products", "unknown")
        : this.#random.pick(this.#random.pick(batches).leaves).recordId;
    return this.#sign("fetch", `/v1/records/${recordId}`, null, recordId);
  }

  #sign(route: "search" | "fetch", path: string, body: Uint8Array | null, subject: string): SimRequest {
    const { crypto, kernel } = this.#world.parts;
    return signRequest(crypto, {
      route,
      path,
      body,
      subject,
      idempotencyKey: null,
      signer: this.#company.key,
      role: "retrieval",
      tag: "svc-retrieval",
      nonce: this.#random.hex(24),
      created: Math.floor(kernel.now() / 1_000),
      lifetimeSeconds: 60,
    });
  }
}
