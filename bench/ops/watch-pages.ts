// Watches a node as browsers do in which an overview, one actor and one push are open: they follow what is live, and read what
// their pages read again whenever it changed. They cost the machine less than browsers, and the node as much.

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

const othersMs = 3_000;

export async function watchPages({ opsUrl, actor, push }: Watched): Promise<Watchers> {
  const { businessUuid, pushId } = push;
  const pushActor = `push/${encodeURIComponent(`${businessUuid}.${pushId}`)}`;
  const open = await Promise.all([
    watch(opsUrl, { view: "counts", reads: ["/ops/nodes", "/ops/attention"], againMs: othersMs }),
    watch(opsUrl, { view: `actors/${actor}`, reads: [`/ops/actors/${actor}/journal`], againMs: null }),
    watch(opsUrl, {
      view: `actors/${pushActor}`,
      reads: [`/ops/pushes/${businessUuid}/${pushId}/road`],
      againMs: null,
    }),
  ]);
  return {
    views: () => open.reduce((sum, each) => sum + each.views(), 0),
    [Symbol.asyncDispose]: async () => {
      for (const each of open) await each[Symbol.asyncDispose]();
    },
  };
}

interface Followed {
  readonly view: string;
  /** Read with each view, and every `againMs` where there is none; null for with a view alone. */
  readonly reads: readonly string[];
  readonly againMs: number | null;
}

/** Resolves once the first view has arrived. */
async function watch(opsUrl: string, { view, reads, againMs }: Followed): Promise<Watchers> {
  const stop = new AbortController();
  const { signal } = stop;
  let views = 0;
  const answer = await fetch(`${opsUrl}/ops/live/${view}`, { signal });
  if (answer.status !== 200 || answer.body === null) throw new Error(`${view} answers ${answer.status}`);
  const readOthers = (): void => {
    for (const path of reads)
      fetch(opsUrl + path, { signal }).then(
        (read) => read.arrayBuffer().catch(() => {}),
        () => {},
      );
  };
  const first = Promise.withResolvers<void>();
  const again = againMs === null ? undefined : setInterval(readOthers, againMs);
  const follow = async (body: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const chunk of body) {
      if (!Buffer.from(chunk).includes("event: ")) continue;
      views += 1;
      first.resolve();
      readOthers();
      again?.refresh();
    }
  };
  const following = follow(answer.body as ReadableStream<Uint8Array>);
  following.catch(first.reject);
  await first.promise;
  return {
    views: () => views,
    [Symbol.asyncDispose]: async () => {
      clearInterval(again);
      stop.abort();
      await following.catch(() => {});
    },
  };
}
