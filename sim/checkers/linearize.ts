// Whether an object that performs one operation at a time could have produced a history (linearizability, Herlihy and
// Wing 1990), by just-in-time linearization: an operation is put in order no later than its answer, so that only the
// orders of concurrently open operations are tried (after Lowe, «Testing for linearizability», 2017).

export interface Operation {
  readonly begin: number;
  /** Infinity for one that was never answered: it may have happened at any time after its start, or never. */
  readonly end: number;
}

export interface Specification<S, O extends Operation> {
  readonly initial: S;
  /** States after `operation`, given its answer; empty when that answer is impossible in `state`. */
  step(state: S, operation: O): readonly S[];
  keyOf(state: S): string;
}

/** An order that explains the history so far: a state, and the open operations that it contains. */
interface Configuration<S> {
  readonly state: S;
  readonly done: readonly number[];
}

const configurationsMax = 4_000;

export type Verdict<O> =
  | { readonly status: "linearizable" }
  /** No order explains the answer of this operation. */
  | { readonly status: "violated"; readonly operation: O }
  /** Too many operations were open at once to decide. */
  | { readonly status: "undecided" };

export function linearize<S, O extends Operation>(
  operations: readonly O[],
  specification: Specification<S, O>,
): Verdict<O> {
  const points = operations
    .flatMap((operation, index) => [
      { at: operation.begin, index, isEnd: false },
      ...(operation.end === Number.POSITIVE_INFINITY ? [] : [{ at: operation.end, index, isEnd: true }]),
    ])
    .sort((a, b) => a.at - b.at);
  const open = new Set<number>();
  let configurations: readonly Configuration<S>[] = [{ state: specification.initial, done: [] }];
  for (const { index, isEnd } of points) {
    if (!isEnd) {
      open.add(index);
      continue;
    }
    const next = new Map<string, Configuration<S>>();
    const search = { operations, specification, open, target: index, next };
    for (const configuration of configurations) extend(search, configuration);
    if (next.size > configurationsMax) return { status: "undecided" };
    const operation = operations[index];
    if (next.size === 0 && operation !== undefined) return { status: "violated", operation };
    configurations = [...next.values()];
    open.delete(index);
  }
  return { status: "linearizable" };
}

interface Search<S, O extends Operation> {
  readonly operations: readonly O[];
  readonly specification: Specification<S, O>;
  readonly open: ReadonlySet<number>;
  readonly target: number;
  readonly next: Map<string, Configuration<S>>;
}

/** Adds every configuration that `configuration` becomes once its order contains the target. */
function extend<S, O extends Operation>(search: Search<S, O>, configuration: Configuration<S>): void {
  const seen = new Set<string>();
  const stack: Configuration<S>[] = [configuration];
  for (let current = stack.pop(); current !== undefined; current = stack.pop()) {
    const { state, done } = current;
    if (done.includes(search.target)) {
      const rest = done.filter((index) => index !== search.target);
      search.next.set(`${rest.join(",")} ${search.specification.keyOf(state)}`, { state, done: rest });
      continue;
    }
    if (search.next.size > configurationsMax || seen.size > configurationsMax) return;
    for (const index of search.open) {
      const operation = search.operations[index];
      if (operation === undefined || done.includes(index)) continue;
      for (const after of search.specification.step(state, operation)) {
        const following = { state: after, done: [...done, index].sort((a, b) => a - b) };
        const key = `${following.done.join(",")} ${search.specification.keyOf(after)}`;
        if (seen.has(key)) continue;
        seen.add(key);
        stack.push(following);
      }
    }
  }
}
