import { describe, expect, it } from "vitest";
import { formatSourceLine, parseSourceLine } from "./source-line.ts";

const source = {
  record_id: `svc_${"a".repeat(26)}`,
  origin: `sha256:${"0".repeat(64)}`,
  cert_id: `sha256:${"1".repeat(64)}`,
  served_at: "2026-03-05T10:00:00.000Z",
  verify_url: "https://verify.test",
};

describe("a source line", () => {
  const line = formatSourceLine(source);

  it("is one line of fields, ending in the address that checks it", () => {
    expect(line).toBe(
      `svc-source/1 record=${source.record_id} origin=${source.origin} cert=${source.cert_id} served=${source.served_at} ` +
        `verify=https://verify.test/v1/verify/${source.record_id}?origin=sha256%3A${"0".repeat(64)}` +
        `&cert=sha256%3A${"1".repeat(64)}&served_at=2026-03-05T10%3A00%3A00.000Z`,
    );
  });

  it("is read back, and refused when its address names something else", () => {
    expect(parseSourceLine(line)).toEqual({ ok: true, value: source });
    const wrong = [
      line.replace("verify/svc_a", "verify/svc_b"),
      line.replace("cert=sha256%3A1", "cert=sha256%3A2"),
      line.replace("/1 ", "/2 "),
      `${line} more=x`,
      `${line}\n`,
      line.replace("https://verify.test", ""),
    ];
    for (const each of wrong) expect(parseSourceLine(each)).toMatchObject({ code: "payload_malformed" });
  });
});
