// What the sections share: where files go, all sizes, and homes of nodes that are created once and copied.

import { existsSync } from "node:fs";
import { cp, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Sandbox } from "../node/sandbox/sandbox-file.ts";
import { bulkRecordsMax } from "../protocol/limits.ts";
import { productId } from "./catalogue.ts";
import { type CallArgs, type CallResult, Child, type FunctionOf, type ModulePath } from "./child.ts";
import { companyOf, merchantOf } from "./parties.ts";
import { type PushNode, pushProducts } from "./publishing.ts";
import { type Caller, captureAnswers, type RequestPlan, type Server, targetOf } from "./requests.ts";

export interface WorldOptions {
  readonly folder: string;
  /** Where prepared homes are kept between runs; null to create them each time. */
  readonly prepared: string | null;
  readonly quick: boolean;
  /** Number of records of a bulk file; null for the usual number. */
  readonly records: number | null;
  readonly profileTo: string | null;
  /** The checkout whose nodes and programs are measured; null for this one. Floors are always of this one. */
  readonly tree: string | null;
}

/** A running node, which is asked by the sandbox's company and published to by its merchant. */
export interface OpenNode extends Server, PushNode, AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly baseUrl: string;
  readonly caller: Caller;
}

export class World {
  readonly options: WorldOptions;
  readonly #prepared = new Map<string, Promise<string>>();
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

  /** Products in the filled home, besides the samples. */
  get products(): number {
    return this.size(100_000, 20_000);
  }

  /** A path that is not in use yet. */
  path(name: string): string {
    this.#files += 1;
    return join(this.options.folder, `${this.#files}-${name}`);
  }

  /** Starts a process for modules of the measured checkout. */
  start(nodeOptions: readonly string[] = []): Child {
    const { profileTo, tree } = this.options;
    return new Child({ profileTo, nodeOptions, tree });
  }

  /** Calls one function in a process of its own. */
  async callIn<Path extends ModulePath, Name extends FunctionOf<Path>>(
    path: Path,
    name: Name,
    ...args: CallArgs<Path, Name>
  ): Promise<CallResult<Path, Name>> {
    await using child = this.start();
    return await child.call(path, name, ...args);
  }

  /** Starts a process for a floor. */
  startFloor(): Child {
    return new Child({ profileTo: this.options.profileTo });
  }

  /** Starts a floor that is a server, whose port `listen` returns. */
  async openFloor(listen: (child: Child) => Promise<number>): Promise<Server & AsyncDisposable> {
    const child = this.startFloor();
    return await orDispose(child, async () => {
      const target = { host: "127.0.0.1", port: await listen(child) };
      return { child, target, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
    });
  }

  /** The floor of fetch and search, which answers these requests with the bytes of the node. */
  async openBareServer({ baseUrl, caller }: OpenNode, plans: readonly RequestPlan[]) {
    const plan = { file: this.path("floor.db"), ...(await captureAnswers(baseUrl, caller, plans)) };
    return await this.openFloor((child) => child.call("floor/serve.ts", "listen", plan));
  }

  async openNode(home: string): Promise<OpenNode> {
    const child = this.start();
    return await orDispose(child, async () => {
      const sandbox = await child.call("serve.ts", "open", home);
      const { base_url: baseUrl, business_url: businessUrl } = sandbox;
      return {
        ...{ child, sandbox, baseUrl, businessUrl, target: targetOf(baseUrl), caller: companyOf(sandbox) },
        [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
      };
    });
  }

  /** A new home that holds the sandbox and its samples. */
  async seededHome(): Promise<string> {
    const seeded = await this.prepared("seeded", async (home) => {
      this.say("preparing a sandbox");
      await mkdir(home, { recursive: true });
      await using _node = await this.openNode(home);
    });
    return await this.#copy(seeded);
  }

  /** The home that holds a number of products. It is shared, so its products must not be changed. */
  filledHome(products = this.products): Promise<string> {
    const name = `filled-${products}`;
    const make = async (): Promise<string> => {
      const kept = await this.prepared(name, async (home) => {
        await cp(await this.seededHome(), home, { recursive: true });
        this.say(`preparing a catalogue of ${products} products`);
        await using node = await this.openNode(home);
        await pushProducts(node, merchantOf(node.sandbox), products);
      });
      return this.options.prepared === null ? kept : await this.#copy(kept);
    };
    return this.#once(`${name}, to be used`, make);
  }

  /**
   * A folder that `make` fills; it is shared, so what is in it must not be changed. One that is kept between runs is created
   * under another name and renamed when it is complete.
   */
  prepared(name: string, make: (folder: string) => Promise<void>): Promise<string> {
    return this.#once(name, async () => {
      const { prepared } = this.options;
      const kept = prepared === null ? this.path(name) : join(prepared, name);
      if (existsSync(kept)) return kept;
      if (prepared !== null) await mkdir(prepared, { recursive: true });
      const draft = prepared === null ? kept : `${kept}.${process.pid}.draft`;
      await make(draft);
      if (draft !== kept) await rename(draft, kept);
      return kept;
    });
  }

  #once(name: string, make: () => Promise<string>): Promise<string> {
    const made = this.#prepared.get(name) ?? make();
    this.#prepared.set(name, made);
    return made;
  }

  async #copy(home: string): Promise<string> {
    const copy = this.path("home");
    await cp(home, copy, { recursive: true });
    return copy;
  }
}

async function orDispose<T>(child: Child, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
}

/** Ids of a business's products, which are given by their numbers. */
export function recordIds(
  child: Child,
  businessUuid: string,
  numbers: readonly number[],
): Promise<readonly string[]> {
  return child.call("serve.ts", "recordIds", businessUuid, numbers.map(productId));
}

/** The numbers from 0 to less than `count`. */
export function numbersTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at);
}
