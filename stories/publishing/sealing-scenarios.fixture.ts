// Businesses, seals and clocks that exercise the sealing rule: each fault on its own, and faults mixed at random. For
// tests.

import fc from "fast-check";
import { faults, type Path, type SealPlan } from "./sealing-attempt.fixture.ts";
import { dayMs, type Past } from "./sealing-world.fixture.ts";

export interface Scenario {
  readonly past: Past;
  readonly plan: SealPlan;
  /** Afterwards the owner seals the next AI policy, by a clock with this offset from the service's. */
  readonly laterPolicyMs: number | null;
}

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;

export const paths: readonly Path[] = ["A", "B", "policy", "mandate"];

/** A scenario on this path without any fault. */
export function good(path: Path, kind: Past["key"]["kind"] = path === "A" ? "system" : "passkey"): Scenario {
  return {
    past: {
      key: { kind, role: "owner", fromMs: -2 * dayMs, untilMs: null, revoked: null },
      certificates: [{ status: "active", atMs: -2.5 * dayMs, effectiveMs: -2.5 * dayMs }],
      policiesMs: [-hourMs],
      mandate: {
        sealer: "passkey",
        sealerCompromisedMs: null,
        revokedMs: null,
        countries: ["US", "CA"],
        fromMs: -2 * dayMs,
        untilMs: 30 * dayMs,
      },
    },
    plan: {
      path,
      environment: "production",
      sealedMs: 0,
      certificate: 0,
      version: 0,
      faults: [],
      byOther: false,
      mandate: { fromMs: -hourMs, untilMs: dayMs },
    },
    laterPolicyMs: null,
  };
}

export function withKey(scenario: Scenario, key: Partial<Past["key"]>): Scenario {
  return { ...scenario, past: { ...scenario.past, key: { ...scenario.past.key, ...key } } };
}

function withMandate(scenario: Scenario, mandate: Partial<Past["mandate"]>): Scenario {
  return { ...scenario, past: { ...scenario.past, mandate: { ...scenario.past.mandate, ...mandate } } };
}

export function withPlan(scenario: Scenario, plan: Partial<SealPlan>): Scenario {
  return { ...scenario, plan: { ...scenario.plan, ...plan } };
}

export function withPast(scenario: Scenario, past: Partial<Past>): Scenario {
  return { ...scenario, past: { ...scenario.past, ...past } };
}

export const first = { status: "active", atMs: -2.5 * dayMs, effectiveMs: -2.5 * dayMs } as const;
export const active = (atMs: number) => ({ status: "active", atMs, effectiveMs: atMs }) as const;
export const ended = (status: "revoked" | "closed" | "withdrawn", atMs: number, effectiveMs = atMs) =>
  ({ status, atMs, effectiveMs }) as const;

const histories: readonly Past["certificates"][] = [
  [first],
  [first, active(-hourMs)],
  [first, active(-minuteMs)],
  [first, ended("withdrawn", -hourMs), active(-minuteMs)],
  [first, ended("revoked", -hourMs, -2 * hourMs), active(-minuteMs)],
  [first, ended("closed", -minuteMs)],
];

/** Every single fault, and a scenario for each reason that publishing gives, so that none depends on luck. */
export function singleFaults(): readonly Scenario[] {
  const single = paths.flatMap((path) => [
    good(path),
    ...faults.map((fault) => withPlan(good(path), { faults: [fault] })),
    ...(["passkey", "hosted", "system"] as const).flatMap((kind) => [
      good(path, kind),
      withPlan(good(path, kind), { environment: "sandbox" }),
    ]),
    withKey(good(path), { role: "developer" }),
    withKey(good(path), { fromMs: -minuteMs, revoked: null }),
    withKey(withPlan(good(path), { sealedMs: -2 * minuteMs }), { fromMs: -minuteMs }),
    withKey(good(path), { untilMs: -minuteMs }),
    withKey(good(path), { revoked: { atMs: -minuteMs, compromisedMs: -2 * hourMs } }),
    withPlan(good(path), { certificate: -1 }),
    withPlan(good(path), { version: 1 }),
    ...[-2 * minuteMs, -minuteMs, -minuteMs + 1].map((sealedMs) =>
      withPlan(withPast(good(path), { policiesMs: [-minuteMs] }), { sealedMs }),
    ),
    withPast(good(path), { certificates: [first, ended("closed", -minuteMs)] }),
    withPlan(withPast(good(path), { certificates: histories[2] ?? [] }), { certificate: 1 }),
    withPlan(withPast(good(path), { certificates: histories[3] ?? [] }), {
      certificate: 2,
      sealedMs: -2 * minuteMs,
    }),
  ]);
  const mandates = [
    withMandate(good("A"), { countries: ["GB"] }),
    withMandate(good("A"), { fromMs: -minuteMs }),
    withPlan(withMandate(good("A"), { fromMs: -minuteMs }), { sealedMs: -2 * minuteMs }),
    withPlan(withMandate(good("A"), { untilMs: minuteMs }), { sealedMs: 2 * minuteMs }),
    withMandate(good("A"), { sealer: "hosted" }),
    withPlan(withMandate(good("A"), { sealer: "hosted" }), { environment: "sandbox" }),
    withMandate(good("A"), { sealerCompromisedMs: -2.5 * dayMs }),
    withPlan(withMandate(good("A"), { sealerCompromisedMs: -2.5 * dayMs }), { byOther: true }),
    withMandate(good("A"), { sealerCompromisedMs: -dayMs }),
    withPlan(withMandate(good("A"), { sealerCompromisedMs: -2.5 * dayMs }), { byOther: true }),
    withMandate(good("A"), { revokedMs: -minuteMs }),
  ];
  const later = [-4, -1, 0, 4].flatMap((minutes) =>
    (["A", "B"] as const).flatMap((path) =>
      [-4 * minuteMs, 0, 4 * minuteMs].map((sealedMs) => ({
        ...withPlan(good(path), { sealedMs }),
        laterPolicyMs: minutes * minuteMs,
      })),
    ),
  );
  return [...single, ...mandates, ...later];
}

/** Mostly correct, so that faults occur alone as well as together. */
const mostly = <T>(usual: T, ...others: readonly T[]) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constant(usual) },
    { weight: others.length === 0 ? 0 : 2, arbitrary: fc.constantFrom(usual, ...others) },
  );

const shortly = [-4 * minuteMs, -minuteMs, -1, 0, 1, minuteMs];
const pasts = (path: Path): fc.Arbitrary<Past> =>
  fc.record({
    key: fc.record({
      kind: mostly(...([path === "A" ? "system" : "passkey", "hosted", "system", "passkey"] as const)),
      role: mostly("owner", "admin", "developer"),
      fromMs: mostly(-2 * dayMs, ...shortly),
      untilMs: mostly<number | null>(null, ...shortly),
      revoked: mostly<Past["key"]["revoked"]>(
        null,
        ...shortly.map((atMs) => ({ atMs: Math.min(atMs, 0), compromisedMs: null })),
        ...shortly.map((compromisedMs) => ({ atMs: -1, compromisedMs })),
      ),
    }),
    certificates: mostly(...(histories as [Past["certificates"], ...Past["certificates"][]])),
    policiesMs: mostly<readonly number[]>([-hourMs], [], [-hourMs, -2 * minuteMs], [-1]),
    mandate: fc
      .record({
        sealer: mostly<Past["mandate"]["sealer"]>("passkey", "hosted"),
        sealerCompromisedMs: mostly<number | null>(null, -2.5 * dayMs, -dayMs),
        fromMs: mostly(-2 * dayMs, ...shortly),
        untilMs: mostly(30 * dayMs, 1, minuteMs, 6 * minuteMs),
        revokedMs: mostly<number | null>(null, -minuteMs),
        countries: mostly(["US", "CA"], ["US"], ["GB"]),
      })
      .map((plan) => ({ ...plan, untilMs: Math.max(plan.untilMs, plan.fromMs + 1) })),
  });

export const scenarios: fc.Arbitrary<Scenario> = fc.constantFrom(...paths).chain((path) =>
  fc.record({
    past: pasts(path),
    plan: fc.record({
      path: fc.constant(path),
      environment: fc.constantFrom("production", "sandbox"),
      sealedMs: mostly(0, -5 * minuteMs - 1, -5 * minuteMs, ...shortly, 5 * minuteMs, 5 * minuteMs + 1),
      certificate: mostly(0, 1, 2, -1),
      version: mostly(0, -1, 1),
      faults: mostly<readonly SealPlan["faults"][number][]>(
        [],
        ...faults.map((fault) => [fault]),
        ...faults.map((fault, index) => [fault, faults[(index * 7 + 3) % faults.length] ?? fault]),
      ),
      byOther: mostly(false, true),
      mandate: fc.record({ fromMs: mostly(-hourMs, -2.5 * dayMs, minuteMs), untilMs: fc.constant(dayMs) }),
    }),
    laterPolicyMs: mostly<number | null>(null, -4 * minuteMs, 0, 4 * minuteMs),
  }),
);
