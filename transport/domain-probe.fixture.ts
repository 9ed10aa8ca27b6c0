// What owners of domains publish, in memory: the probe of tests.

import { hasLine } from "../protocol/keys/certificate.ts";
import type { PublishedDomains } from "./domain-probe.conformance.ts";
import type { DomainProbe } from "./domain-probe.ts";

export interface DomainsInMemory extends DomainProbe, PublishedDomains {
  /** The domains that were asked about, in order. */
  readonly asked: readonly string[];
}

export function domainsInMemory(): DomainsInMemory {
  const texts = new Map<string, readonly string[]>();
  const files = new Map<string, string>();
  const [silentTxt, silentFile] = [new Set<string>(), new Set<string>()];
  const asked: string[] = [];
  const setSilent = (silent: Set<string>) => (domain: string, does: boolean) =>
    void (does ? silent.delete(domain) : silent.add(domain));
  return {
    asked,
    txt: (domain, all) => void texts.set(domain, all),
    file: (domain, text) => void (text === null ? files.delete(domain) : files.set(domain, text)),
    answersTxt: setSilent(silentTxt),
    answersFile: setSilent(silentFile),
    probe: async (domain, text) => {
      asked.push(domain);
      if (!silentTxt.has(domain) && texts.get(domain)?.includes(text) === true)
        return { kind: "confirmed", by: "txt" };
      if (!silentFile.has(domain) && hasLine(files.get(domain) ?? "", text))
        return { kind: "confirmed", by: "file" };
      const isSilent = silentTxt.has(domain) || silentFile.has(domain);
      return isSilent
        ? { kind: "unanswered", detail: "nothing answers" }
        : { kind: "absent", detail: "nothing is published" };
    },
  };
}
