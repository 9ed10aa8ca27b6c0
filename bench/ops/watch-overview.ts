// Watches a node as an overview that is open in a browser does: the counts as they change, and the other reads with each change and
// every few seconds.

export interface Watcher extends AsyncDisposable {
  /** Number of views that arrived. */
  views(): number;
}

const othersMs = 3_000;

export async function watchOverview(opsUrl: string): Promise<Watcher> {
  const stop = new AbortController();
  const { signal } = stop;
  let views = 0;
  const answer = await fetch(`${opsUrl}/ops/live/counts`, { signal });
  if (answer.status !== 200 || answer.body === null) throw new Error(`the view answers ${answer.status}`);
  const readOthers = (): void => {
    for (const path of ["/ops/nodes", "/ops/attention"])
      fetch(opsUrl + path, { signal }).then(
        (read) => read.arrayBuffer().catch(() => {}),
        () => {},
      );
  };
  const follow = async (body: ReadableStream<Uint8Array>): Promise<void> => {
    for await (const chunk of body) {
      if (!Buffer.from(chunk).includes("event: counts")) continue;
      views += 1;
      readOthers();
      again.refresh();
    }
  };
  const again = setInterval(readOthers, othersMs);
  const following = follow(answer.body as ReadableStream<Uint8Array>);
  return {
    views: () => views,
    [Symbol.asyncDispose]: async () => {
      clearInterval(again);
      stop.abort();
      await following.catch(() => {});
    },
  };
}
