import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AiPolicyRecord,
  actionNames,
  aiPolicyBytes,
  aiPolicyKeyDocument,
  blockedNames,
  namesOf,
  noPolicyMasks,
  parseAiPolicy,
  parsePolicyBits,
  policyBits,
  purchaseBit,
  useNames,
} from "./ai-policy.ts";
import { canonicalBytes, type JsonValue } from "./json/canonical-json.ts";

function group<N extends string>(names: readonly N[]): fc.Arbitrary<Record<N, boolean>> {
  return fc.tuple(...names.map(() => fc.boolean())).map((values) => {
    const members = names.map((name, index) => [name, values[index] === true] as const);
    return Object.fromEntries(members) as Record<N, boolean>;
  });
}

const records: fc.Arbitrary<AiPolicyRecord> = fc.record({
  schema: fc.constant("svc/ai_policy/1"),
  ai_policy_schema: fc.constant(2),
  use: group(useNames),
  action: group(actionNames),
  blocked: group(blockedNames),
});

describe("AI policy bits", () => {
  it("are set exactly for the sealed booleans that are true", () => {
    fc.assert(
      fc.property(records, (record) => {
        const bits = policyBits(record);
        for (const [names, values, mask] of [
          [useNames, record.use, bits.use],
          [actionNames, record.action, bits.action],
          [blockedNames, record.blocked, bits.blocked],
        ] as const) {
          const set = Object.entries(values).filter(([, value]) => value);
          expect(new Set(namesOf(names as readonly string[], mask))).toEqual(
            new Set(set.map(([name]) => name)),
          );
        }
        expect(parsePolicyBits({ ...bits, ai_policy_version: 1 })).toMatchObject({ ok: true });
      }),
    );
  });

  it("stand where the specification puts them", () => {
    expect(useNames.indexOf("state_publish_date")).toBe(6);
    expect(purchaseBit).toBe(8);
    expect(namesOf(blockedNames, 0b10000010)).toEqual(["alcohol", "politics_elections"]);
    expect(noPolicyMasks).toEqual({ ai_policy_schema: 2, use: 0, action: 0, blocked: 0 });
  });

  it("have no bit beyond the names", () => {
    const bits = { ai_policy_version: 1, ai_policy_schema: 2, use: 127, action: 63, blocked: 1023 };
    expect(parsePolicyBits(bits)).toMatchObject({ ok: true });
    for (const change of [
      { use: 128 },
      { action: 64 },
      { blocked: 1024 },
      { use: -1 },
      { use: 0.5 },
      { use: "1" },
      { more: 1 },
    ]) {
      expect(parsePolicyBits({ ...bits, ...change } as JsonValue)).toMatchObject({
        code: "payload_malformed",
      });
    }
  });
});

describe("an AI policy record", () => {
  it("is read back as it was sealed", () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(parseAiPolicy(aiPolicyBytes(record))).toEqual({ ok: true, value: record });
      }),
    );
  });

  it("has every boolean and nothing else", () => {
    const [record] = fc.sample(records, 1);
    if (record === undefined) throw new Error("There is a sample");
    const { answer: _, ...fewer } = record.action;
    const wrong: readonly (readonly [object, string])[] = [
      [{ ...record, action: fewer }, "/action/answer"],
      [{ ...record, action: { ...record.action, answer: 1 } }, "/action/answer"],
      [{ ...record, use: { ...record.use, resell: true } }, "/use/resell"],
      [{ ...record, note: "x" }, "/note"],
    ];
    for (const [value, pointer] of wrong) {
      expect(parseAiPolicy(canonicalBytes(value as unknown as JsonValue))).toMatchObject({
        code: "payload_malformed",
        pointer,
      });
    }
  });
});

describe("the AI policy key", () => {
  const key = aiPolicyKeyDocument();

  it("names every bit once, with its meaning", () => {
    expect(key.blocked.map((context) => context.code)).toEqual(
      blockedNames.map((_, index) => `bc${index + 1}`),
    );
    expect(key.blocked[1]).toMatchObject({
      code: "bc2",
      number: 2,
      bit: 1,
      name: "alcohol",
      ai_policy_schema: 2,
    });
    expect(key.blocked[7]).toMatchObject({ code: "bc8", bit: 7, name: "politics_elections" });
    expect(key.groups.use.map((bit) => bit.name)).toEqual([...useNames]);
    expect(key.groups.action[3]).toMatchObject({ bit: 3, name: "purchase" });
    for (const { meaning } of [...key.blocked, ...key.groups.use, ...key.groups.action])
      expect(meaning).toMatch(/^[A-Z].*\.$/);
  });
});
