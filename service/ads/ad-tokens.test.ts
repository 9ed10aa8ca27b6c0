import { describe, expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { parseBase64Url, parseUtf8, toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { type AdToken, adTokenPattern, createAdTokens } from "./ad-tokens.ts";

const secret = utf8("the secret that all nodes share");
const tokens = createAdTokens(nativeCrypto, secret);
const company = "10000000-0000-4000-8000-000000000001";
const token: AdToken = {
  event: "render",
  retrievalId: `ret_${"0a".repeat(16)}`,
  region: "eu-west1",
  index: 7,
  ad: {
    ad_id: `ad_${"a".repeat(26)}`,
    campaign_id: "spring",
    business_uuid: "20000000-0000-4000-8000-000000000002",
  },
  expiresAtMs: Date.UTC(2026, 10, 25),
};
const text = tokens.tokenOf(company, token);

/** The token with other contents, under the code of the first. */
function changed(change: (payload: string) => string): string {
  const [prefix, payload = "", mac] = text.split(".");
  const contents = parseUtf8(parseBase64Url(payload) ?? new Uint8Array()) ?? "";
  return `${prefix}.${toBase64Url(utf8(change(contents)))}.${mac}`;
}

describe("a token", () => {
  it("says to its company what it was made of, and is the same each time (AT1, AT2)", () => {
    expect(text).toMatch(adTokenPattern);
    expect(tokens.open(company, "render", text)).toEqual(token);
    expect(tokens.tokenOf(company, token)).toBe(text);
  });

  it("is none of another company, event or deployment (AT1)", () => {
    expect(tokens.open("10000000-0000-4000-8000-000000000009", "render", text)).toBeNull();
    expect(tokens.open(company, "click", text)).toBeNull();
    expect(tokens.open(company, "click", text.replace("svc_adr1", "svc_adc1"))).toBeNull();
    const elsewhere = createAdTokens(nativeCrypto, utf8("another secret"));
    expect(elsewhere.open(company, "render", text)).toBeNull();
  });

  it.each([
    ["pool", (payload: string) => payload.replace("0a0a", "0b0b")],
    ["region", (payload: string) => payload.replace("eu-west1", "us-east1")],
    ["item", (payload: string) => payload.replace(" 7 ", " 8 ")],
    [
      "day",
      (payload: string) => payload.replace(String(token.expiresAtMs), String(token.expiresAtMs + 86_400_000)),
    ],
    ["ad", (payload: string) => payload.replace("ad_aa", "ad_ab")],
    ["advertiser", (payload: string) => payload.replace("20000000", "20000001")],
    ["campaign", (payload: string) => payload.replace("spring", "autumn")],
  ])("is none of another %s (AT1)", (_what, change) => {
    expect(changed((payload) => payload)).toBe(text);
    expect(changed(change)).not.toBe(text);
    expect(tokens.open(company, "render", changed(change))).toBeNull();
  });

  it.each(["", "svc_adr1", "svc_adr1..", `${text}.x`, ` ${text}`, text.slice(0, -1), "svc_adr1.AAAA.AAAA"])(
    "is not %j",
    (wrong) => {
      expect(tokens.open(company, "render", wrong)).toBeNull();
    },
  );
});
