// Watches a node as browsers do in which an overview, one actor and one push are open: they follow what is live, and read what
// their pages read. They cost the machine less than browsers, and the node as much.

export interface Watched {
  readonly opsUrl: string;
  /** `kind/id`, percent-encoded. */
  readonly actor: string;
  readonly push: { readonly businessUuid: string; readonly pushId: string };
}

export interface Watchers extends AsyncDisposable {
  /** Number of views that arrived. */
  views(): number;
}

/** How often an overview reads what is not sent to it. */
const pollMs = 3_000;

export async function watchPages({ opsUrl, actor, push }: Watched): Promise<Watchers> {
  const { businessUuid, pushId } = push;
  const pushActor = `push/${encodeURIComponent(`${businessUuid}.${pushId}`)}`;
  const watcher = new Watching(opsUrl);
  const headOf = ({ head }: { readonly head?: number }): unknown => head;
  await Promise.all([
    watcher.follow("counts", ["/ops/attention"], ({ attention }) => JSON.stringify(attention)),
    watcher.follow(`actors/${actor}`, [`/ops/actors/${actor}/journal`], headOf),
    watcher.follow(`actors/${pushActor}`, [`/ops/pushes/${businessUuid}/${pushId}/road`], headOf),
  ]);
  watcher.poll("/ops/nodes");
  watcher.poll("/ops/attention");
  return watcher;
}

interface View {
  readonly attention?: unknown;
  readonly head?: number;
}

class Watching implements Watchers {
  readonly #opsUrl: string;
  readonly #stop = new AbortController();
  readonly #following: Promise<void>[] = [];
  readonly #timers: ReturnType<typeof setInterval>[] = [];
  #views = 0;

  constructor(opsUrl: string) {
    this.#opsUrl = opsUrl;
  }

  views(): number {
    return this.#views;
  }

  poll(path: string): void {
    this.#read(path);
    this.#timers.push(setInterval(() => this.#read(path), pollMs));
  }

  /** Follows a view, and reads the paths whenever what `of` says of it changes. Resolves once the first has arrived. */
  async follow(name: string, paths: readonly string[], of: (view: View) => unknown): Promise<void> {
    const answer = await fetch(`${this.#opsUrl}/ops/live/${name}`, { signal: this.#stop.signal });
    if (answer.status !== 200 || answer.body === null) throw new Error(`${name} answers ${answer.status}`);
    const first = Promise.withResolvers<void>();
    let last: unknown = null;
    const note = (view: View): void => {
      this.#views += 1;
      first.resolve();
      const said = of(view);
      if (said !== last) for (const path of paths) this.#read(path);
      last = said;
    };
    const following = readViews(answer.body as ReadableStream<Uint8Array>, note);
    following.catch(first.reject);
    this.#following.push(following);
    await first.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    this.#stop.abort();
    await Promise.allSettled(this.#following);
  }

  #read(path: string): void {
    fetch(this.#opsUrl + path, { signal: this.#stop.signal }).then(
      (answer) => answer.arrayBuffer().catch(() => {}),
      () => {},
    );
  }
}

/** Calls `note` with the data of each event. */
async function readViews(body: ReadableStream<Uint8Array>, note: (view: View) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const [, data] = /^event: \w+\ndata: (.*)$/s.exec(event) ?? [];
      if (data !== undefined) note(JSON.parse(data) as View);
    }
  }
}
