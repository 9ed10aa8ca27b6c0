// The whole sealing rule: what publishing accepts, the offline verifier accepts with what the service publishes, and what
// publishing refuses for its seal, the verifier refuses with the same reason. It runs on a real node whose clock the test
// sets.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { type Answer, type Path, prepare, type Sent, send } from "./sealing-attempt.fixture.ts";
import { findingOfPublished, findingOfSent } from "./sealing-evidence.fixture.ts";
import {
  active,
  ended,
  first,
  good,
  hourMs,
  minuteMs,
  paths,
  type Scenario,
  scenarios,
  singleFaults,
  withKey,
  withPast,
  withPlan,
} from "./sealing-scenarios.fixture.ts";
import {
  acceptPolicy,
  makePast,
  openSealingWorld,
  type PastBusiness,
  type SealingWorld,
} from "./sealing-world.fixture.ts";

let world: SealingWorld;

beforeAll(async () => {
  world = await openSealingWorld();
});
afterAll(() => world.close());

const randomRuns = 250;

/**
 * The cases in which publishing refuses what a verifier accepts, or refuses for another reason, because it knows more: what
 * it received and when, and what is in force at that moment. A verifier sees only what was sealed. There is one row for
 * each such reason.
 */
interface OnlyReceiverSees {
  readonly what: string;
  readonly code: string;
  applies(scenario: Scenario, business: PastBusiness): boolean;
  /** A scenario with this fault alone: the verifier accepts it. */
  readonly example: Scenario;
}

const onlyReceiverSees: readonly OnlyReceiverSees[] = [
  {
    what: "when the seal was received",
    code: "sealed_at_skew",
    applies: ({ plan }) => Math.abs(plan.sealedMs) > 5 * minuteMs,
    example: withPlan(withPast(good("A"), { policiesMs: [] }), { sealedMs: -5 * minuteMs - 1 }),
  },
  {
    what: "that the certificate was issued once more between sealing and receipt",
    code: "certificate_not_in_force",
    applies: ({ plan }) => plan.certificate > 0,
    example: withPlan(withPast(good("B"), { certificates: [first, active(-minuteMs)] }), {
      certificate: 1,
      sealedMs: -2 * minuteMs,
    }),
  },
  {
    what: "that the business had closed before it was to take another mandate",
    code: "certificate_not_in_force",
    applies: ({ plan, past }) =>
      plan.path === "mandate" && past.certificates.some(({ status }) => status === "closed"),
    example: withPast(good("mandate"), { certificates: [first, ended("closed", -minuteMs)] }),
  },
  {
    what: "that another AI policy came into force between sealing and receipt",
    code: "ai_policy_version_mismatch",
    applies: ({ plan }, { facts, atMs }) =>
      plan.path !== "policy" &&
      plan.version < 0 &&
      facts.policy.live_from !== null &&
      new Date(atMs + plan.sealedMs).toISOString() < facts.policy.live_from,
    example: withPlan(withPast(good("A"), { policiesMs: [-hourMs, -minuteMs] }), {
      version: -1,
      sealedMs: -2 * minuteMs,
    }),
  },
  {
    what: "which AI policy version is the next one",
    code: "ai_policy_version_mismatch",
    applies: ({ plan }) => plan.path === "policy" && plan.version !== 0,
    example: withPlan(good("policy"), { version: 1 }),
  },
  {
    what: "that the key was revoked or ended between sealing and receipt",
    code: "key_not_valid",
    applies: ({ past: { key } }) => key.revoked !== null || (key.untilMs ?? 1) <= 0 || key.fromMs > 0,
    example: withPlan(withKey(good("B"), { revoked: { atMs: -minuteMs, compromisedMs: null } }), {
      sealedMs: -2 * minuteMs,
    }),
  },
  {
    what: "which key signed the request",
    code: "key_mismatch",
    applies: ({ plan, past }) => plan.path === "A" && (plan.byOther || past.key.kind !== "system"),
    example: withPlan(good("A"), { byOther: true }),
  },
  {
    what: "that the format is one of the past, which is verified for ever and published no more",
    code: "payload_type_mismatch",
    applies: ({ plan }) => plan.path === "A" && plan.faults.includes("format_1"),
    example: withPlan(good("A"), { faults: ["format_1"] }),
  },
  {
    what: "that the format is one of the past, of a record sealed alone",
    code: "version_unknown",
    applies: ({ plan }) => plan.path !== "A" && plan.faults.includes("format_1"),
    example: withPlan(good("B"), { faults: ["format_1"] }),
  },
];

/** Publishing judges a batch seal before its records, as the specification requires; a verifier starts with the bytes. */
function isOrder({ plan }: Scenario, finding: string): boolean {
  const aboutBytes = ["hash_mismatch", "inclusion_invalid"];
  const aboutKey = ["key_not_valid", "key_compromised"];
  const has = (...wrong: readonly string[]) => plan.faults.some((fault) => wrong.includes(fault));
  if (plan.path !== "A") return false;
  if (has("bytes", "order", "tree_size") && aboutBytes.includes(finding)) return true;
  return has("record_type", "bytes", "order", "tree_size") && aboutKey.includes(finding);
}

/** How often each case occurred, by name. */
type Tally = Map<string, number>;

function count(tally: Tally, name: string): void {
  tally.set(name, (tally.get(name) ?? 0) + 1);
}

/** Publishes one scenario and compares the offline verifier's verdict with the answer. */
async function hold(scenario: Scenario, tally: Tally): Promise<void> {
  const { plan, past } = scenario;
  const business = await makePast(world, past);
  const sent = prepare(business, plan);
  const answer = await send(world, business, sent, plan);
  const finding = await findingOfSent(world, business, sent, plan);
  const label = `${plan.path}: ${answer.kind === "accepted" ? "accepted" : answer.code}`;
  count(tally, label);
  if (answer.kind === "accepted") await holdAccepted(scenario, business, { answer, finding, sent });
  else holdRefused(scenario, business, { answer, finding, tally });
}

async function holdAccepted(
  { plan, laterPolicyMs }: Scenario,
  business: PastBusiness,
  {
    answer,
    finding,
    sent,
  }: {
    readonly answer: Extract<Answer, { kind: "accepted" }>;
    readonly finding: string;
    readonly sent: Sent;
  },
): Promise<void> {
  // A version that already exists is only looked up: the seal that was accepted first stands.
  const isRepeated = plan.path === "policy" && plan.version < 0 && business.facts.policy.version > 0;
  if (!isRepeated) expect(finding, "publishing accepted what the verifier refuses").toBe("ok");
  const about = { path: plan.path, environment: plan.environment, recordIds: answer.recordIds };
  const allStand = async (when: string): Promise<void> => {
    const findings = await findingOfPublished(world, business, about);
    expect(findings.length, when).toBeGreaterThan(0);
    expect(new Set(findings), when).toEqual(new Set(["ok"]));
  };
  await allStand("as published");
  if (laterPolicyMs !== null) {
    world.time.nowMs += 1_000;
    await acceptPolicy(world, business, world.time.nowMs + laterPolicyMs);
    await allStand("after another AI policy came into force");
  }
  if (plan.path !== "A" && plan.path !== "B") return;
  // Later than every sealed_at, so that only the time of receipt tells a genuine seal from one of the thief's.
  const compromised_from = formatTimestamp(world.time.nowMs + hourMs);
  const ended = { uuid: business.uuid, key_id: business.key.keyId, revoked_at: compromised_from };
  await world.services.parties.revokeKey({ ...ended, compromised_from });
  await allStand("after it was said that the key was taken later");
  expect(await findingOfSent(world, business, sent, plan), "a seal alone").toBe("key_compromised");
}

function holdRefused(
  scenario: Scenario,
  business: PastBusiness,
  {
    answer,
    finding,
    tally,
  }: {
    readonly answer: Extract<Answer, { kind: "refused" }>;
    readonly finding: string;
    readonly tally: Tally;
  },
): void {
  const { reason, code } = answer;
  if (code === "out_of_scope" && reason === null) {
    // A record of the batch is out of scope because of its countries.
    expect(finding).toBe("out_of_scope");
    return;
  }
  const { mandate } = scenario.past;
  const isInForce = mandate.revokedMs === null && mandate.fromMs <= 0 && mandate.untilMs > 0;
  // If the key's mandate is no longer valid, neither is what the key sealed; it never authorised another key's seal.
  const isCovered = isInForce && !scenario.plan.byOther;
  if (code === "mandate_missing" && isCovered) expect(finding).not.toBe("ok");
  if (reason === null || reason === finding) return;
  const seen = onlyReceiverSees.filter((row) => row.code === reason && row.applies(scenario, business));
  for (const row of seen) count(tally, row.what);
  // To who received the seal before the key was taken it stands, so the next rule is judged; who has the seal alone stops there.
  const isTakenLater = finding === "key_compromised" && (scenario.past.key.revoked?.compromisedMs ?? 0) > 0;
  const isExplained = seen.length > 0 || isTakenLater || (finding !== "ok" && isOrder(scenario, finding));
  expect(isExplained, `refused with ${reason}; the verifier says ${finding}`).toBe(true);
}

const verifierReasons: Readonly<Record<Path, readonly string[]>> = {
  A: [
    "accepted",
    "payload_type_mismatch",
    "version_unknown",
    "payload_malformed",
    "key_mismatch",
    "key_unknown",
    "envelope_malformed",
    "signature_invalid",
    "record_type_mismatch",
    "hash_mismatch",
    "inclusion_invalid",
    "key_not_valid",
    "certificate_unknown",
    "certificate_not_in_force",
    "certificate_withdrawn",
    "ai_policy_version_mismatch",
    "out_of_scope",
    "sealed_at_skew",
    "mandate_missing",
    "business_not_verified",
  ],
  B: [
    "accepted",
    "payload_type_mismatch",
    "version_unknown",
    "payload_malformed",
    "key_mismatch",
    "key_unknown",
    "envelope_malformed",
    "signature_invalid",
    "record_type_mismatch",
    "hash_mismatch",
    "key_not_valid",
    "key_compromised",
    "certificate_unknown",
    "certificate_not_in_force",
    "certificate_withdrawn",
    "ai_policy_version_mismatch",
    "business_not_verified",
  ],
  policy: [
    "accepted",
    "payload_type_mismatch",
    "version_unknown",
    "payload_malformed",
    "key_mismatch",
    "key_unknown",
    "envelope_malformed",
    "signature_invalid",
    "record_type_mismatch",
    "hash_mismatch",
    "key_not_valid",
    "key_compromised",
    "certificate_unknown",
    "certificate_not_in_force",
    "certificate_withdrawn",
    "ai_policy_version_mismatch",
    "role_not_allowed",
    "business_not_verified",
  ],
  mandate: [
    "accepted",
    "certificate_not_in_force",
    "payload_type_mismatch",
    "version_unknown",
    "payload_malformed",
    "key_unknown",
    "envelope_malformed",
    "signature_invalid",
    "key_not_valid",
    "role_not_allowed",
  ],
};

describe("the rule of sealing", () => {
  it("holds for every single fault, and each reason occurs", async () => {
    const tally: Tally = new Map();
    for (const scenario of [...onlyReceiverSees.map((row) => row.example), ...singleFaults()]) {
      await hold(scenario, tally).catch((error: unknown) => {
        throw new Error(`${JSON.stringify(scenario)}\n${String(error)}`);
      });
    }
    const expected = paths.flatMap((path) => verifierReasons[path].map((reason) => `${path}: ${reason}`));
    expect(expected.filter((name) => !tally.has(name))).toEqual([]);
    expect(onlyReceiverSees.filter((row) => !tally.has(row.what)).map((row) => row.what)).toEqual([]);
  });

  it.each(onlyReceiverSees.map((row) => [row.what, row] as const))(
    "lets the receiver refuse alone what it alone can know: %s",
    async (_what, row) => {
      const business = await makePast(world, row.example.past);
      const sent = prepare(business, row.example.plan);
      const answer = await send(world, business, sent, row.example.plan);
      expect(answer).toMatchObject({ kind: "refused", code: row.code });
      expect(row.applies(row.example, business)).toBe(true);
      expect(await findingOfSent(world, business, sent, row.example.plan)).toBe("ok");
    },
  );

  it("holds for random businesses, seals and clocks", async () => {
    const tally: Tally = new Map();
    await fc.assert(
      fc.asyncProperty(scenarios, (scenario) => hold(scenario, tally)),
      { numRuns: randomRuns },
    );
    for (const path of paths) {
      const total = [...tally].reduce(
        (sum, [name, each]) => sum + (name.startsWith(`${path}:`) ? each : 0),
        0,
      );
      const accepted = tally.get(`${path}: accepted`) ?? 0;
      // Neither outcome occurs only by chance.
      expect(accepted, path).toBeGreaterThan(total / 50);
      expect(accepted, path).toBeLessThan((total * 2) / 3);
    }
  });
}, 300_000);
