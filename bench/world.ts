// What the sections share: where files go, all sizes, and homes of nodes that are created once and copied.

import { existsSync } from "node:fs";
import { cp, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Sandbox } from "../node/sandbox/sandbox-file.ts";
import { bulkRecordsMax } from "../protocol/limits.ts";
import { Child } from "./child.ts";
import { sendOne } from "./load.ts";
import { type PreparedPush, type ProductRange, type Publisher, preparePushOf } from "./prepared-push.ts";
import { type Caller, callerOf, targetOf } from "./requests.ts";

/** Limit of one push. */
export const batchRecords = 10_000;

export interface WorldOptions {
  readonly folder: string;
  /** Where prepared homes are kept between runs; null to create them each time. */
  readonly prepared: string | null;
  readonly quick: boolean;
  /** Number of records of a bulk file; null for the usual number. */
  readonly records: number | null;
  readonly profileTo: string | null;
}

export interface OpenNode extends AsyncDisposable {
  readonly child: Child;
  readonly sandbox: Sandbox;
}

export class World {
  readonly options: WorldOptions;
  #seeded: Promise<string> | null = null;
  readonly #filled = new Map<number, Promise<string>>();
  #files = 0;

  constructor(options: WorldOptions) {
    this.options = options;
  }

  /** Reports progress. */
  say(what: string): void {
    console.error(`[bench] ${what}`);
  }

  /** A size: the second one for a quick run. */
  size(full: number, quick: number): number {
    return this.options.quick ? quick : full;
  }

  /** Records of a bulk file: as many as one may have. */
  get bulkRecords(): number {
    return this.options.records ?? this.size(bulkRecordsMax, 2_000);
  }

  /** A path that is not in use yet. */
  path(name: string): string {
    this.#files += 1;
    return join(this.options.folder, `${this.#files}-${name}`);
  }

  /** A folder that `make` fills; it is shared, so what is in it must not be changed. */
  prepared(name: string, make: (folder: string) => Promise<void>): Promise<string> {
    return this.#prepare(name, make);
  }

  /** Starts a measured process: a path below bench/. */
  start(path: string, nodeOptions: readonly string[] = []): Child {
    return Child.start(path, { profileTo: this.options.profileTo, nodeOptions });
  }

  /** A new home that holds the sandbox and its samples. */
  async seededHome(): Promise<string> {
    this.#seeded ??= this.#seed();
    return this.#copy(await this.#seeded);
  }

  /** The home that holds a number of products. It is shared, so its products must not be changed. */
  filledHome(products = this.products): Promise<string> {
    const known = this.#filled.get(products);
    if (known !== undefined) return known;
    const filled = this.#fill(products);
    this.#filled.set(products, filled);
    return filled;
  }

  /** Products in the filled home, besides the samples. */
  get products(): number {
    return this.size(100_000, 20_000);
  }

  async openNode(home: string): Promise<OpenNode> {
    const child = this.start("serve.ts");
    try {
      const sandbox = await child.call<Sandbox>("open", { home });
      return { child, sandbox, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
    } catch (error) {
      await child[Symbol.asyncDispose]();
      throw error;
    }
  }

  #seed(): Promise<string> {
    return this.#prepare("seeded", async (home) => {
      this.say("preparing a sandbox");
      await mkdir(home, { recursive: true });
      await using _node = await this.openNode(home);
    });
  }

  async #fill(products: number): Promise<string> {
    const kept = await this.#prepare(`filled-${products}`, async (home) => {
      await cp(await this.seededHome(), home, { recursive: true });
      await this.#pushProducts(home, products);
    });
    return this.options.prepared === null ? kept : this.#copy(kept);
  }

  /** A kept home is created under another name and renamed when it is complete. */
  async #prepare(name: string, make: (home: string) => Promise<void>): Promise<string> {
    const { prepared } = this.options;
    if (prepared === null) {
      const home = this.path(name);
      await make(home);
      return home;
    }
    const kept = join(prepared, name);
    if (existsSync(kept)) return kept;
    await mkdir(prepared, { recursive: true });
    const draft = join(prepared, `${name}.${process.pid}.draft`);
    await make(draft);
    await rename(draft, kept);
    return kept;
  }

  async #pushProducts(home: string, products: number): Promise<void> {
    this.say(`preparing a catalogue of ${products} products`);
    await using node = await this.openNode(home);
    for (let first = 0; first < products; first += batchRecords) {
      const count = Math.min(batchRecords, products - first);
      await push(node, await preparePush(node.sandbox, { first, count }));
    }
  }

  async #copy(home: string): Promise<string> {
    const copy = this.path("home");
    await cp(home, copy, { recursive: true });
    return copy;
  }
}

/** The business whose catalogue is pushed, and the key with which it pushes. */
export function merchantOf(sandbox: Sandbox): {
  readonly uuid: string;
  readonly certId: string;
  readonly caller: Caller;
} {
  const [business] = sandbox.businesses;
  const key = business?.integration_keys.find(({ alg }) => alg === "Ed25519");
  if (business === undefined || key === undefined)
    throw new Error("the sandbox has no business with an Ed25519 key");
  return { uuid: business.business_uuid, certId: business.cert_id, caller: callerOf(key) };
}

/** The AI company that sends the requests, with its Ed25519 key. No sample business blocks it. */
export function companyOf(sandbox: Sandbox): Caller {
  const key = sandbox.ai_companies[0]?.keys.find(({ alg }) => alg === "Ed25519");
  if (key === undefined) throw new Error("the sandbox has no AI company with an Ed25519 key");
  return callerOf(key);
}

/** The AI policy version that is in force for the samples' merchant. */
const merchantPolicy = 1;

/** The sandbox's merchant, as it publishes. */
export function publisherOf(sandbox: Sandbox): Publisher {
  return { ...merchantOf(sandbox), aiPolicyVersion: merchantPolicy };
}

/** Prepares a batch of the sandbox's merchant. */
export function preparePush(sandbox: Sandbox, range: ProductRange): Promise<PreparedPush> {
  return preparePushOf(sandbox.business_url, publisherOf(sandbox), range);
}

/** Sends a batch and waits until it is complete. Throws when one of its records is not published. */
export function push(node: OpenNode, { request, batch, records }: PreparedPush): Promise<void> {
  const { uuid } = merchantOf(node.sandbox);
  return publish(node, request, { businessUuid: uuid, pushId: batch.push_id, records: records.length });
}

/** Sends what begins a push and waits until it is complete. Throws when one of its records is not published as new. */
export async function publish(
  { child, sandbox }: OpenNode,
  request: Uint8Array,
  { records, ...push }: { readonly businessUuid: string; readonly pushId: string; readonly records: number },
): Promise<void> {
  const answer = await sendOne(targetOf(sandbox.business_url), request);
  if (answer.status !== 202 && answer.status !== 200)
    throw new Error(`push: ${answer.status} ${answer.body.slice(0, 500)}`);
  const ended = await child.call<{ state: string; counts: Readonly<Record<string, number>> }>(
    "awaitPush",
    push,
  );
  if (ended.state !== "complete" || ended.counts["accepted"] !== records) {
    throw new Error(`push: ${JSON.stringify(ended)}`);
  }
}
