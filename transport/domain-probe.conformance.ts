// The conformance suite of the port that looks what a domain's owner publishes.

import { beforeEach, describe, expect, it } from "vitest";
import { domainChallenge } from "../protocol/keys/certificate.ts";
import type { DomainProbe } from "./domain-probe.ts";

/** What the owners of domains publish, and what keeps from seeing it. */
export interface PublishedDomains {
  /** The TXT records of the challenge's name. */
  txt(domain: string, texts: readonly string[]): void;
  /** The challenge's file; null removes it. The domain then has a server. */
  file(domain: string, text: string | null): void;
  /** Whether questions about TXT records are answered. */
  answersTxt(domain: string, does: boolean): void;
  /** Whether requests for the file are answered. */
  answersFile(domain: string, does: boolean): void;
}

export interface OpenProbe {
  readonly probe: DomainProbe;
  readonly domains: PublishedDomains;
}

export function domainProbeConformance(name: string, open: () => Promise<OpenProbe>): void {
  describe(`domain probe: ${name}`, () => {
    const domain = "shop.example";
    const text = domainChallenge("00000000-0000-4000-8000-000000000001", domain);
    const other = domainChallenge("00000000-0000-4000-8000-000000000002", domain);
    let opened: OpenProbe;
    const ask = () => opened.probe.probe(domain, text);
    beforeEach(async () => {
      opened = await open();
    });

    it("P1: finds the text among the TXT records", async () => {
      opened.domains.txt(domain, ["v=spf1 -all", other, text]);
      expect(await ask()).toEqual({ kind: "confirmed", by: "txt" });
    });

    it("P1: finds the text among the lines of the file", async () => {
      opened.domains.file(domain, `${other}\r\n${text}\n`);
      expect(await ask()).toEqual({ kind: "confirmed", by: "file" });
    });

    it("P1: takes nothing else for it", async () => {
      opened.domains.txt(domain, [other, `${text}x`, ` ${text}`, text.toUpperCase()]);
      opened.domains.file(domain, `<p>${text}</p>\n${other}`);
      expect((await ask()).kind).toBe("absent");
    });

    it("P2: says that a domain has it in neither place", async () => {
      opened.domains.file(domain, null);
      expect(await ask()).toEqual({ kind: "absent", detail: expect.any(String) });
      expect((await opened.probe.probe("unknown.example", text)).kind).toBe("absent");
    });

    it("P1: finds it again once it is published, and no longer once it is not", async () => {
      opened.domains.txt(domain, [text]);
      expect((await ask()).kind).toBe("confirmed");
      opened.domains.txt(domain, []);
      expect((await ask()).kind).toBe("absent");
    });

    it("P2, P3: does not say so while either place cannot be looked at", async () => {
      opened.domains.file(domain, null);
      opened.domains.answersTxt(domain, false);
      expect(await ask()).toEqual({ kind: "unanswered", detail: expect.any(String) });
      opened.domains.answersTxt(domain, true);
      opened.domains.answersFile(domain, false);
      expect((await ask()).kind).toBe("unanswered");
    });

    it("P1: finds it in one place while the other cannot be looked at", async () => {
      opened.domains.txt(domain, [text]);
      opened.domains.file(domain, null);
      opened.domains.answersFile(domain, false);
      expect(await ask()).toEqual({ kind: "confirmed", by: "txt" });
      opened.domains.answersFile(domain, true);
      opened.domains.file(domain, text);
      opened.domains.answersTxt(domain, false);
      expect(await ask()).toEqual({ kind: "confirmed", by: "file" });
    });
  });
}
