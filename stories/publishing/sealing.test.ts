// What a business seals by a person's passkey or by the key held for it: mandates, AI policies and single records, accepted
// only if every verifier accepts them.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { generatePrivateJwk, publicHalfOf } from "../../crypto/private-jwk.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { publishedKeys, readEntries } from "../../service/register/home-evidence.ts";
import { type Answer, prepare, type SealPlan, send } from "./sealing-attempt.fixture.ts";
import { findingOfPublished } from "./sealing-evidence.fixture.ts";
import {
  acceptPolicy,
  dayMs,
  makePast,
  openSealingWorld,
  type Past,
  type PastBusiness,
  type SealingWorld,
} from "./sealing-world.fixture.ts";

let world: SealingWorld;

beforeAll(async () => {
  world = await openSealingWorld();
});
afterAll(() => world.close());

const minuteMs = 60_000;

interface Changes {
  readonly key?: Partial<Past["key"]>;
  readonly mandate?: Partial<Past["mandate"]>;
  readonly past?: Partial<Past>;
}

function pastOf(path: SealPlan["path"], { key, mandate, past }: Changes = {}): Past {
  const kind = path === "A" ? "system" : "passkey";
  return {
    key: { kind, role: "owner", fromMs: -2 * dayMs, untilMs: null, revoked: null, ...key },
    certificates: [{ status: "active", atMs: -2.5 * dayMs, effectiveMs: -2.5 * dayMs }],
    policiesMs: [],
    mandate: {
      sealer: "passkey",
      sealerCompromisedMs: null,
      revokedMs: null,
      countries: ["US", "CA"],
      fromMs: -2 * dayMs,
      untilMs: 30 * dayMs,
      ...mandate,
    },
    ...past,
  };
}

function planOf(path: SealPlan["path"], changes: Partial<SealPlan> = {}): SealPlan {
  return {
    path,
    environment: "production",
    sealedMs: 0,
    certificate: 0,
    version: 0,
    faults: [],
    byOther: false,
    mandate: { fromMs: -minuteMs, untilMs: dayMs },
    ...changes,
  };
}

/** `accepted`, or the code of the refusal. */
async function answerTo(path: SealPlan["path"], changes: Changes & Partial<SealPlan> = {}): Promise<string> {
  const { key, mandate: _mandate, past, ...plan } = changes;
  const business = await makePast(world, pastOf(path, { ...(key && { key }), ...(past && { past }) }));
  return codeOf(await sendOne(business, planOf(path, plan)));
}

function sendOne(business: PastBusiness, plan: SealPlan): Promise<Answer> {
  return send(world, business, prepare(business, plan), plan);
}

function codeOf(answer: Answer): string {
  return answer.kind === "accepted" ? "accepted" : answer.code;
}

describe("a mandate", () => {
  it("is sealed by an owner or admin, and by the key held for the business in the sandbox only", async () => {
    expect(await answerTo("mandate")).toBe("accepted");
    expect(await answerTo("mandate", { key: { role: "admin" } })).toBe("accepted");
    expect(await answerTo("mandate", { key: { role: "developer" } })).toBe("role_not_allowed");
    expect(await answerTo("mandate", { key: { kind: "hosted" } })).toBe("key_unknown");
    expect(await answerTo("mandate", { key: { kind: "hosted" }, environment: "sandbox" })).toBe("accepted");
    expect(await answerTo("mandate", { key: { kind: "system" }, environment: "sandbox" })).toBe(
      "key_unknown",
    );
  });

  it("is not sealed by a key that was not valid at its beginning, is not now, or was revoked", async () => {
    expect(await answerTo("mandate", { key: { fromMs: -1_000 } })).toBe("key_not_valid");
    expect(await answerTo("mandate", { key: { untilMs: -1_000 } })).toBe("key_not_valid");
    const revoked = { atMs: -1_000, compromisedMs: null };
    expect(await answerTo("mandate", { key: { revoked } })).toBe("key_not_valid");
  });

  it("lets nothing be published once it turns out that its sealer was compromised, or where a service sealed it", async () => {
    const publish = async (
      mandate: Changes["mandate"],
      environment: SealPlan["environment"] = "production",
    ) =>
      codeOf(
        await sendOne(
          await makePast(world, pastOf("A", { ...(mandate && { mandate }) })),
          planOf("A", { environment }),
        ),
      );
    expect(await publish({})).toBe("accepted");
    expect(await publish({ sealerCompromisedMs: -2.5 * dayMs })).toBe("mandate_missing");
    expect(await publish({ sealerCompromisedMs: -dayMs })).toBe("accepted");
    expect(await publish({ sealer: "hosted" })).toBe("mandate_missing");
    expect(await publish({ sealer: "hosted" }, "sandbox")).toBe("accepted");
  });
});

describe("the role of a person", () => {
  it("is not published, stays as it was registered, and is a passkey's only", async () => {
    const business = await makePast(world, pastOf("mandate", { key: { role: "developer" } }));
    const name = `key/${business.key.keyId}`;
    const entry = (await readEntries(world.services.actors, business.uuid, [name])).get(name) ?? "";
    const facts = JSON.parse(entry);
    expect(facts.person_role).toBe("developer");
    const { register, parties } = world.services;
    await parties.registerKey(facts);
    await expect(parties.registerKey({ ...facts, person_role: "owner" })).rejects.toThrow("key_unknown");
    const { person_role: _role, ...unnamed } = facts;
    await expect(parties.registerKey(unnamed)).rejects.toThrow("key_unknown");
    const jwk = publicHalfOf(generatePrivateJwk("Ed25519"));
    const other = {
      ...facts,
      role: "hosted",
      alg: "Ed25519",
      cose: null,
      public_key: jwk,
      key_id: thumbprint(jwk),
    };
    await expect(parties.registerKey(other)).rejects.toThrow("role_not_allowed");
    expect(await findingOfPublished(world, business, { ...planOf("policy"), recordIds: [] })).toEqual([]);
    const published = publishedKeys({
      uuid: business.uuid,
      certId: "",
      issuedAt: "",
      keys: await register.keys(business.uuid),
    });
    expect(JSON.stringify(published)).not.toMatch(/person|developer|owner/);
    expect(published.keys.length).toBeGreaterThan(2);
  });
});

describe("an AI policy", () => {
  it("is taken only with a seal that stands for everybody", async () => {
    const refusals = {
      record_type: await answerTo("policy", { faults: ["record_type"] }),
      key_id: await answerTo("policy", { faults: ["key_id"] }),
      certificate: await answerTo("policy", { certificate: -1 }),
      window: await answerTo("policy", { key: { fromMs: minuteMs } }),
      revoked: await answerTo("policy", { key: { revoked: { atMs: -1, compromisedMs: null } } }),
      compromised: await answerTo("policy", { key: { revoked: { atMs: -1, compromisedMs: -minuteMs } } }),
      early: await answerTo("policy", { sealedMs: -5 * minuteMs - 1 }),
      late: await answerTo("policy", { sealedMs: 5 * minuteMs + 1 }),
      developer: await answerTo("policy", { key: { role: "developer" } }),
      system: await answerTo("policy", { key: { kind: "system" } }),
    };
    expect(refusals).toEqual({
      record_type: "record_type_mismatch",
      key_id: "key_mismatch",
      certificate: "certificate_unknown",
      window: "key_not_valid",
      revoked: "key_not_valid",
      compromised: "key_compromised",
      early: "sealed_at_skew",
      late: "sealed_at_skew",
      developer: "role_not_allowed",
      system: "key_unknown",
    });
    const closed = { status: "closed", atMs: -minuteMs, effectiveMs: -minuteMs } as const;
    const certificates = [...pastOf("policy").certificates, closed];
    expect(await answerTo("policy", { past: { certificates } })).toBe("business_not_verified");
    for (const changes of [
      {},
      { sealedMs: 5 * minuteMs },
      { sealedMs: -5 * minuteMs },
      { key: { role: "admin" } as const },
    ])
      expect(await answerTo("policy", changes)).toBe("accepted");
  });

  it("may be sent again, however late; another record for its version may not", async () => {
    const business = await makePast(world, pastOf("policy"));
    const plan = planOf("policy");
    const sent = prepare(business, plan);
    expect(codeOf(await send(world, business, sent, plan))).toBe("accepted");
    world.time.nowMs += dayMs;
    expect(codeOf(await send(world, business, sent, plan))).toBe("accepted");
    expect(codeOf(await send(world, business, prepare(business, plan), plan))).toBe("ai_policy_version_used");
    expect((await world.services.parties.facts(business.uuid, "")).policy.version).toBe(1);
  });

  it.each([-5, 0, 5])("sealed %i minutes off comes into force when it is taken", async (minutes) => {
    const business = await makePast(world, pastOf("A"));
    // The business's clock is ahead: by `sealed_at` its batch comes after what follows.
    const plan = planOf("A", { sealedMs: 4 * minuteMs });
    const published = await sendOne(business, plan);
    if (published.kind !== "accepted") throw new Error(published.code);
    const receivedMs = world.time.nowMs;
    world.time.nowMs += 1_000;
    await acceptPolicy(world, business, world.time.nowMs + minutes * minuteMs);
    const { policy } = await world.services.parties.facts(business.uuid, "");
    expect(Date.parse(policy.live_from ?? "")).toBe(world.time.nowMs + 1);
    expect(receivedMs).toBeLessThan(Date.parse(policy.live_from ?? ""));
    const about = { ...plan, recordIds: published.recordIds };
    expect(await findingOfPublished(world, business, about)).toEqual(["ok", "ok"]);
    world.time.nowMs += 1;
    const facts = await world.services.parties.facts(business.uuid, business.caller.keyId);
    const next = { ...business, facts, atMs: world.time.nowMs };
    const plain = prepare(next, planOf("B"));
    const path = { ...planOf("B", { sealedMs: 0 }) };
    expect(plain.records).toHaveLength(1);
    expect(codeOf(await sendOne({ ...next, key: business.owner, kind: "passkey" }, path))).toBe("accepted");
  });
});

it.each(["A", "B"] as const)(
  "what is sent on path %s while an AI policy comes into force stays right",
  async (path) => {
    const business = await makePast(world, pastOf(path));
    const { actors } = world.services;
    // The business's clock is ahead: only the time of receipt tells which version it had to name.
    const plan = planOf(path, { sealedMs: 4 * minuteMs });
    const ask: ActorSystem["ask"] = async (ref, command, options) => {
      if (command.type === "push.admit") {
        world.time.nowMs += 1_000;
        await acceptPolicy(world, business, world.time.nowMs);
        world.time.nowMs += 1_000;
      }
      return actors.ask(ref, command, options);
    };
    const between = { actors: { ...actors, ask } };
    const answer = await send(world, business, prepare(business, plan), plan, between);
    if (answer.kind !== "accepted") throw new Error(answer.code);
    const findings = await findingOfPublished(world, business, { ...plan, recordIds: answer.recordIds });
    expect(new Set(findings)).toEqual(new Set(["ok"]));
    expect((await world.services.parties.facts(business.uuid, "")).policy.version).toBe(1);
  },
);

describe("a record sealed alone", () => {
  it("is published only under a seal that stands for everybody", async () => {
    const refusals = {
      window: await answerTo("B", { key: { fromMs: minuteMs } }),
      before: await answerTo("B", { key: { fromMs: -minuteMs }, sealedMs: -2 * minuteMs }),
      ended: await answerTo("B", { key: { untilMs: -1 }, sealedMs: -minuteMs }),
      early: await answerTo("B", { sealedMs: -5 * minuteMs - 1 }),
      late: await answerTo("B", { sealedMs: 5 * minuteMs + 1 }),
      policy: await answerTo("B", { past: { policiesMs: [-minuteMs] }, sealedMs: -2 * minuteMs }),
      dressed: await answerTo("B", { key: { kind: "hosted" }, faults: ["assertion"] }),
      certificate: await answerTo("B", { certificate: -1 }),
      system: await answerTo("B", { key: { kind: "system" } }),
    };
    expect(refusals).toEqual({
      window: "key_not_valid",
      before: "key_not_valid",
      ended: "key_not_valid",
      early: "sealed_at_skew",
      late: "sealed_at_skew",
      policy: "ai_policy_version_mismatch",
      dressed: "signature_invalid",
      certificate: "certificate_unknown",
      system: "key_unknown",
    });
    const closed = { status: "closed", atMs: -minuteMs, effectiveMs: -minuteMs } as const;
    const certificates = [...pastOf("B").certificates, closed];
    expect(await answerTo("B", { past: { certificates } })).toBe("business_not_verified");
    for (const kind of ["hosted", "passkey"] as const)
      expect(await answerTo("B", { key: { kind } })).toBe("accepted");
    expect(await answerTo("B", { key: { role: "developer" } })).toBe("accepted");
  });

  it("is told its outcome again however late, and only to who shows the same seal over the same bytes", async () => {
    const business = await makePast(world, pastOf("B"));
    const plan = planOf("B");
    const sent = prepare(business, plan);
    const first = await send(world, business, sent, plan);
    expect(codeOf(first)).toBe("accepted");
    world.time.nowMs += dayMs;
    await acceptPolicy(world, business, world.time.nowMs);
    expect(await send(world, business, sent, plan)).toEqual(first);
    const [record = new Uint8Array()] = sent.records;
    const other = { ...sent, records: [record.slice(1)] };
    expect(codeOf(await send(world, business, other, plan))).toBe("hash_mismatch");
    const [signature] = sent.envelope.signatures;
    const forged = { ...sent.envelope, signatures: [{ ...signature, sig: "AAAA" }] };
    expect(codeOf(await send(world, business, { ...sent, envelope: rubbish(forged) }, plan))).toBe(
      "signature_invalid",
    );
  });
});
