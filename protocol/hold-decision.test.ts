import { describe, expect, it } from "vitest";
import { makeEnvelope, parsePayload, payloadTypes } from "./dsse.ts";
import { canonicalBytes, type JsonValue } from "./json/canonical-json.ts";
import {
  type HoldDecision,
  holdDecisionFormat,
  holdDecisionPayload,
  openHoldDecision,
} from "./withdrawal.ts";

const decision: HoldDecision = {
  v: 1,
  business_uuid: "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5d",
  push_id: `bat_${"0a".repeat(12)}`,
  decision: "confirm",
  at: "2026-01-01T00:00:00.000Z",
};

function code(changes: object): string {
  const value = JSON.parse(JSON.stringify({ ...decision, ...changes })) as JsonValue;
  const verdict = parsePayload(canonicalBytes(value), holdDecisionFormat);
  return verdict.ok ? "ok" : verdict.code;
}

describe("a hold decision", () => {
  it("is read back as it was sealed", () => {
    expect(parsePayload(holdDecisionPayload(decision), holdDecisionFormat)).toEqual({
      ok: true,
      value: decision,
    });
    const envelope = makeEnvelope(payloadTypes["hold-decision.v1"], holdDecisionPayload(decision), []);
    expect(openHoldDecision(envelope)).toEqual({ ok: true, value: decision });
    expect(openHoldDecision({ ...envelope, payloadType: "" })).toMatchObject({
      code: "payload_type_mismatch",
    });
  });

  it("is of one push, says confirm or reject, and nothing else", () => {
    for (const change of [
      { push_id: "bat_1" },
      { decision: "confirmed" },
      { decision: null },
      { business_uuid: "b" },
      { at: "2026-01-01" },
      { at: undefined },
      { reason: "r" },
    ])
      expect(code(change), JSON.stringify(change)).toBe("payload_malformed");
    expect(code({ v: 2 })).toBe("version_unknown");
    expect(code({ decision: "reject" })).toBe("ok");
    const spaced = new TextEncoder().encode(JSON.stringify(decision, null, 1));
    expect(parsePayload(spaced, holdDecisionFormat)).toMatchObject({ code: "payload_malformed" });
  });
});
