import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Refused } from "./answer.ts";
import { createQueryBudget, createRequestRate, queryCostMax } from "./authentication/request-rate.ts";

/** The pauses before each of many requests, and which of a few keys sends each. */
const requests = fc.array(
  fc.record({
    pauseMs: fc.oneof(
      { weight: 4, arbitrary: fc.nat(50) },
      { weight: 2, arbitrary: fc.nat(1_500) },
      { weight: 1, arbitrary: fc.nat(90_000) },
    ),
    key: fc.constantFrom("a", "b"),
    cost: fc.integer({ min: 1, max: queryCostMax }),
  }),
  { maxLength: 60, size: "max" },
);
type Sent = { readonly key: string; readonly cost: number; readonly atMs: number };

/** A limit under test; refused requests can be left out, and a final request can be tried at another time. */
interface Driven {
  readonly time: { ms: number };
  readonly ask: (sent: Sent) => Refused | null;
}

const timed = (
  drawn: readonly { readonly pauseMs: number; readonly key: string; readonly cost: number }[],
) => {
  let atMs = 0;
  return drawn.map(({ pauseMs, key, cost }): Sent => {
    atMs += pauseMs;
    return { key, cost, atMs };
  });
};

function drive({ time, ask }: Driven, all: readonly Sent[]): readonly Sent[] {
  return all.filter((sent) => {
    time.ms = sent.atMs;
    return ask(sent) === null;
  });
}

/** The answer to a request some seconds after it was sent, when only these came before it. */
function askedAfter(driven: Driven, before: readonly Sent[], sent: Sent, seconds = 0): Refused | null {
  drive(driven, before);
  driven.time.ms = sent.atMs + seconds * 1_000;
  return driven.ask(sent);
}

/** What holds for both limits: refusals cost nothing, and Retry-After is the smallest sufficient number of seconds. */
function holdsForRefusals(make: () => Driven, all: readonly Sent[]): void {
  const passed = new Set(drive(make(), all));
  for (const [index, sent] of all.entries()) {
    if (passed.has(sent)) continue;
    const before = all.slice(0, index);
    const onlyPassed = before.filter((each) => passed.has(each));
    const seconds = askedAfter(make(), onlyPassed, sent)?.problem.retry_after_seconds ?? 0;
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(askedAfter(make(), before, sent, seconds)).toBeNull();
    if (seconds > 1) expect(askedAfter(make(), before, sent, seconds - 1)).not.toBeNull();
  }
}

describe("the request rate of a key", () => {
  const limits = fc.record({
    perSecond: fc.integer({ min: 1, max: 15 }),
    burst: fc.integer({ min: 1, max: 10 }),
  });
  const make = (options: { readonly perSecond: number; readonly burst: number }) => (): Driven => {
    const time = { ms: 0 };
    const { take } = createRequestRate({ ...options, elapsedMs: () => time.ms });
    return { time, ask: ({ key }) => take(key) };
  };

  it("never lets more through than burst + rate·t, in whatever span (B1)", () => {
    fc.assert(
      fc.property(limits, requests, (options, drawn) => {
        const passed = drive(make(options)(), timed(drawn));
        for (const key of ["a", "b"]) {
          const times = passed.filter((sent) => sent.key === key).map((sent) => sent.atMs);
          times.forEach((fromMs, first) => {
            times.slice(first).forEach((toMs, index) => {
              const most = options.burst * 1_000 + options.perSecond * (toMs - fromMs);
              expect((index + 1) * 1_000).toBeLessThanOrEqual(most);
            });
          });
        }
      }),
    );
  });

  it("adds nothing for a refusal, which passes after Retry-After and no sooner (B2)", () => {
    fc.assert(
      fc.property(limits, requests, (options, drawn) => holdsForRefusals(make(options), timed(drawn))),
    );
  });
});

describe("the query-cost budget of a key", () => {
  const budgets = fc.integer({ min: queryCostMax, max: 120 });
  const make = (perMinute: number) => (): Driven => {
    const time = { ms: 0 };
    const { spend } = createQueryBudget({ perMinute, elapsedMs: () => time.ms });
    return { time, ask: ({ key, cost }) => spend(key, cost) };
  };

  it("is not exceeded in the minute of the first that passed, nor in the minutes that follow so (M1)", () => {
    fc.assert(
      fc.property(budgets, requests, (perMinute, drawn) => {
        const passed = drive(make(perMinute)(), timed(drawn));
        for (const key of ["a", "b"]) {
          let beganMs = Number.NEGATIVE_INFINITY;
          let spent = 0;
          for (const sent of passed.filter((each) => each.key === key)) {
            if (sent.atMs >= beganMs + 60_000) [beganMs, spent] = [sent.atMs, 0];
            spent += sent.cost;
            expect(spent).toBeLessThanOrEqual(perMinute);
          }
        }
      }),
    );
  });

  it("spends nothing for a refusal, which passes after Retry-After and no sooner (M2)", () => {
    fc.assert(
      fc.property(budgets, requests, (perMinute, drawn) => holdsForRefusals(make(perMinute), timed(drawn))),
    );
  });
});
