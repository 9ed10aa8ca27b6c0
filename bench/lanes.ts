// How work is done many times and timed, in the benchmark's process and in its children. It imports nothing of the project, so that
// it runs in any checkout (against.ts).

/** Does `work` for every number below `count`, in their order, in as many lanes, of which each does one at a time. */
export async function inLanes(
  lanes: number,
  count: number,
  work: (at: number, lane: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const run = async (lane: number): Promise<void> => {
    while (next < count) {
      const at = next;
      next += 1;
      await work(at, lane);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)));
}

/** Milliseconds that the work takes. */
export async function msOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
