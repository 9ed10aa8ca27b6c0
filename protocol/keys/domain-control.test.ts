import { describe, expect, it } from "vitest";
import { sampleRecords } from "../records/records.fixture.ts";
import { challengeName, challengeUrl, domainChallenge, endpointDomains, hasLine } from "./certificate.ts";

const uuid = "00000000-0000-4000-8000-000000000001";
const other = "00000000-0000-4000-8000-000000000002";

describe("the challenge of a domain", () => {
  it("is the published one, which owners have in their zones", () => {
    // printf 'svc/domain-control/1\n00000000-0000-4000-8000-000000000001\nshop.example' | openssl dgst -sha256 -binary | basenc --base64url
    expect(domainChallenge(uuid, "shop.example")).toBe(
      "svc-domain=W6oKjZknLDPc0PKbmoi25gMNMwAeZpcB1dpD7M3HZi0",
    );
  });

  it("D2: is another one for another business, and for another domain", () => {
    const all = [uuid, other].flatMap((each) =>
      ["shop.example", "www.shop.example"].map((domain) => domainChallenge(each, domain)),
    );
    expect(new Set(all).size).toBe(4);
  });

  it("says where it is published", () => {
    expect(challengeName("shop.example")).toBe("_svc-challenge.shop.example");
    expect(challengeUrl("shop.example")).toBe("https://shop.example/.well-known/svc-domain.txt");
  });

  it("is a whole line of the file, with any end of line", () => {
    const text = domainChallenge(uuid, "shop.example");
    for (const file of [text, `${text}\n`, `a\r\n  ${text} \r\nb`, `a\r${text}\rb`])
      expect(hasLine(file, text)).toBe(true);
    for (const file of ["", `${text}x`, `x${text}`, `<p>${text}</p>`, text.toLowerCase()])
      expect(hasLine(file, text)).toBe(false);
  });
});

describe("the domains of endpoints", () => {
  it("are the hosts of their addresses, each once, whatever their letters, ports and paths", () => {
    const urls = [
      "https://Shop.example/checkout",
      "https://shop.example:8443/order",
      "https://api.shop.example?x=1",
      "https://booking.example",
    ];
    const endpoints = urls.map((url) => ({ kind: "api", url }));
    expect(endpointDomains({ endpoints })).toEqual(["api.shop.example", "booking.example", "shop.example"]);
  });

  it("are none of a record without endpoints, and of what is none", () => {
    expect(endpointDomains(sampleRecords.products)).toEqual([]);
    for (const none of [null, 1, "x", {}, { endpoints: "x" }, { endpoints: [null, 1, { url: 7 }] }])
      expect(endpointDomains(none)).toEqual([]);
  });
});
