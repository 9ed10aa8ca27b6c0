// What the sections share: where files go, all sizes, and homes of nodes that are created once and copied.

import { existsSync } from "node:fs";
import { cp, mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Sandbox } from "../node/sandbox/sandbox-file.ts";
import { bulkRecordsMax } from "../protocol/limits.ts";
import { productId } from "./catalogue.ts";
import { type CallArgs, type CallResult, Child, type FunctionOf, type ModulePath } from "./child.ts";
import type { BenchOptions } from "./options.ts";
import { companyOf, merchantOf } from "./parties.ts";
import { type PushNode, pushProducts } from "./publishing.ts";
import { type Caller, captureAnswers, type RequestPlan, type Server, targetOf } from "./requests.ts";

/** A running node, which is asked by the sandbox's company and published to by its merchant. */
export interface OpenNode extends Server, PushNode, AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly baseUrl: string;
  readonly caller: Caller;
}

type WorldOptions = Pick<BenchOptions, "prepared" | "profileTo" | "quick" | "records">;

export class World {
  readonly #folder: string;
  readonly #options: WorldOptions;
  readonly #tree: string | null;
  readonly #prepared = new Map<string, Promise<string>>();
  #files = 0;

  /** Measures the nodes and programs of a checkout, by default this one. Floors are always of this one. */
  constructor(folder: string, options: WorldOptions, tree: string | null = null) {
    this.#folder = folder;
    this.#options = options;
    this.#tree = tree;
  }

  say(what: string): void {
    console.error(`[bench] ${what}`);
  }

  /** A size: the second one for a quick run. */
  size(full: number, quick: number): number {
    return this.#options.quick ? quick : full;
  }

  /** Records of a bulk file: as many as one may have. */
  get bulkRecords(): number {
    return this.#options.records ?? this.size(bulkRecordsMax, 2_000);
  }

  /** Products in the filled home, besides the samples. */
  get products(): number {
    return this.size(100_000, 20_000);
  }

  path(name: string): string {
    this.#files += 1;
    return join(this.#folder, `${this.#files}-${name}`);
  }

  /** Starts a process for modules of the measured checkout. */
  start(nodeOptions: readonly string[] = []): Child {
    return new Child({ profileTo: this.#options.profileTo, nodeOptions, tree: this.#tree });
  }

  async callIn<Path extends ModulePath, Name extends FunctionOf<Path>>(
    path: Path,
    name: Name,
    ...args: CallArgs<Path, Name>
  ): Promise<CallResult<Path, Name>> {
    await using child = this.start();
    return await child.call(path, name, ...args);
  }

  startFloor(): Child {
    return new Child({ profileTo: this.#options.profileTo });
  }

  /** Starts a floor that is a server, whose port `listen` returns. */
  openFloor(listen: (child: Child) => Promise<number>): Promise<Server & AsyncDisposable> {
    return opened(this.startFloor(), async (child) => ({
      target: { host: "127.0.0.1", port: await listen(child) },
    }));
  }

  /** The floor of fetch and search, which answers these requests with the bytes of the node. */
  async openBareServer({ baseUrl, caller }: OpenNode, plans: readonly RequestPlan[], isOpenssl = false) {
    const captured = await captureAnswers(baseUrl, caller, plans);
    const plan = { file: this.path("floor.db"), isOpenssl, ...captured };
    return await this.openFloor((child) => child.call("floor/serve.ts", "listen", plan));
  }

  /** Starts a node, with OpenSSL in any case if that is asked for. */
  openNode(home: string, isOpenssl = false): Promise<OpenNode> {
    return opened(this.start(), async (child) => {
      const sandbox = await child.call("serve.ts", isOpenssl ? "openWithOpenssl" : "open", home);
      const { base_url: baseUrl, business_url: businessUrl } = sandbox;
      return { sandbox, baseUrl, businessUrl, target: targetOf(baseUrl), caller: companyOf(sandbox) };
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
  async filledHome(products = this.products): Promise<string> {
    const name = `filled-${products}`;
    const kept = await this.prepared(name, async (home) => {
      await cp(await this.seededHome(), home, { recursive: true });
      this.say(`preparing a catalogue of ${products} products`);
      await using node = await this.openNode(home);
      await pushProducts(node, merchantOf(node.sandbox), products);
    });
    if (this.#options.prepared === null) return kept;
    return await this.#once(`${name}, to be used`, () => this.#copy(kept));
  }

  /**
   * A folder that `make` fills; it is shared, so what is in it must not be changed. One that is kept between runs is created
   * under another name and renamed when it is complete.
   */
  prepared(name: string, make: (folder: string) => Promise<void>): Promise<string> {
    return this.#once(name, async () => {
      const { prepared } = this.#options;
      if (prepared === null) {
        const folder = this.path(name);
        await make(folder);
        return folder;
      }
      const kept = join(prepared, name);
      if (existsSync(kept)) return kept;
      await mkdir(prepared, { recursive: true });
      const draft = `${kept}.${process.pid}.draft`;
      await make(draft);
      await rename(draft, kept);
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

/** What `open` says of a child, with the child, which ends with it or where nothing could be opened. */
async function opened<T>(child: Child, open: (child: Child) => Promise<T>) {
  try {
    return { ...(await open(child)), child, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
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

export function numbersTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at);
}
