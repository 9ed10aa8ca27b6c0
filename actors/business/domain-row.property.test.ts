// What looks make of a domain, against its whole history told again.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ProbedDomain, ProbeKind } from "../messages/domains.ts";
import { afterProbe, type DomainRow, newDomain } from "./domains.ts";

const [hour, day] = [3_600_000, 86_400_000];
const schedule = { interval_ms: day, grace_ms: 3 * day };

const look = (at_ms: number, outcome: ProbeKind): ProbedDomain => ({
  domain: "shop.example",
  outcome,
  detail: "",
  at_ms,
});
const live = (looks: readonly ProbedDomain[]): DomainRow =>
  looks.reduce((row, each) => afterProbe(row, each, schedule), { ...newDomain(0), files: 1 });

/** Looks in the order of their time. */
const history = fc
  .array(
    fc.record({
      after: fc.integer({ min: 1, max: 2 * day }),
      outcome: fc.constantFrom<ProbeKind>("confirmed", "absent", "unanswered"),
    }),
    { maxLength: 60 },
  )
  .map((steps) => {
    let at = 0;
    return steps.map(({ after, outcome }) => {
      at += after;
      return look(at, outcome);
    });
  });

/** The looks since the last that found the challenge. */
function sinceConfirmed(looks: readonly ProbedDomain[]): readonly ProbedDomain[] {
  return looks.slice(looks.findLastIndex(({ outcome }) => outcome === "confirmed") + 1);
}

/** Whether control is lost after these looks, without a confirmation among them (V2). */
function isLost(looks: readonly ProbedDomain[]): boolean {
  const firstAbsent = looks.find(({ outcome }) => outcome === "absent");
  const [first] = looks;
  return looks.some(
    ({ at_ms, outcome }) =>
      (outcome === "absent" && at_ms - (firstAbsent?.at_ms ?? 0) >= schedule.grace_ms) ||
      at_ms - (first?.at_ms ?? 0) >= 10 * schedule.grace_ms,
  );
}

describe("a domain after looks", () => {
  it("V1 to V4: is what its last confirmation and the looks since make it", () => {
    fc.assert(
      fc.property(history, (looks) => {
        const row = live(looks);
        const confirmed = looks.findLast(({ outcome }) => outcome === "confirmed");
        expect(row.confirmed_at_ms).toBe(confirmed?.at_ms ?? null);
        const expected =
          confirmed === undefined ? "unconfirmed" : isLost(sinceConfirmed(looks)) ? "suspended" : "confirmed";
        expect(row.status).toBe(expected);
        expect(row.next_at_ms).toBeGreaterThan(looks.at(-1)?.at_ms ?? -1);
        expect(row.next_at_ms - (looks.at(-1)?.at_ms ?? 0)).toBeLessThanOrEqual(schedule.interval_ms);
      }),
    );
  });

  it("V5: is the same in whatever order repeated looks are noted", () => {
    fc.assert(
      fc.property(history, fc.nat(), (looks, at) => {
        const again = looks[looks.length === 0 ? 0 : at % looks.length];
        const row = live(looks);
        expect(again === undefined ? row : afterProbe(row, again, schedule)).toEqual(row);
      }),
    );
  });

  it("says since when it has its status", () => {
    const looks = [look(1, "absent"), look(2, "confirmed"), look(3, "confirmed"), look(4, "absent")];
    expect(live(looks)).toMatchObject({ status: "confirmed", since_ms: 2, confirmed_at_ms: 3 });
    const lost = [...looks, look(4 + 3 * day, "absent"), look(5 + 3 * day, "absent")];
    expect(live(lost)).toMatchObject({ status: "suspended", since_ms: 4 + 3 * day, confirmed_at_ms: 3 });
    expect(live([...lost, look(4 * day, "confirmed")])).toMatchObject({
      status: "confirmed",
      since_ms: 4 * day,
      confirmed_at_ms: 4 * day,
    });
  });

  it("V2: is not lost by the first look that finds nothing, nor before the grace is over", () => {
    const confirmed = [look(day, "confirmed")];
    for (const at of [2 * day, 5 * day - 1])
      expect(live([...confirmed, look(2 * day, "absent"), look(at, "absent")]).status).toBe("confirmed");
    expect(live([...confirmed, look(2 * day, "absent"), look(5 * day, "absent")]).status).toBe("suspended");
    // After a month away, the first look that is answered is only the first.
    expect(live([...confirmed, look(30 * day, "absent")]).status).toBe("confirmed");
  });

  it("V2: is lost by unanswered looks only after ten times the grace", () => {
    const away = (until: number) => [
      look(1, "confirmed"),
      look(day, "unanswered"),
      look(until, "unanswered"),
    ];
    expect(live(away(31 * day - 1)).status).toBe("confirmed");
    expect(live(away(31 * day)).status).toBe("suspended");
  });

  it("is looked at more often while nothing is found, for as long as the grace, and then as usual", () => {
    const next = (looks: readonly ProbedDomain[]): number => {
      return live(looks).next_at_ms - (looks.at(-1)?.at_ms ?? 0);
    };
    expect(next([look(1, "confirmed")])).toBe(day);
    expect(next([look(1, "absent")])).toBe(hour);
    expect(next([look(1, "absent"), look(3 * day, "absent")])).toBe(hour);
    expect(next([look(1, "absent"), look(1 + 3 * day, "absent")])).toBe(day);
    expect(next([look(1, "confirmed"), look(9 * day, "unanswered")])).toBe(hour);
    const lost = [look(1, "confirmed"), look(day, "absent"), look(4 * day, "absent")];
    expect(next(lost)).toBe(hour);
    expect(next([...lost, look(7 * day, "absent")])).toBe(day);
  });

  it("is looked at again after a second at least", () => {
    const row = afterProbe(newDomain(0), look(1, "absent"), { interval_ms: 2_000, grace_ms: 1_000_000 });
    expect(row.next_at_ms).toBe(1_001);
  });
});
