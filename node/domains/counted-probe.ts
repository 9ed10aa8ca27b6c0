// How many domains a node looked at, and how many of these looks told nothing: operators see that its DNS or its network is away.

import type { Reading } from "../../ops/metrics.ts";
import type { DomainProbe } from "../../transport/domain-probe.ts";

export interface CountedProbe extends DomainProbe {
  readings(): readonly Reading[];
}

export function countProbes(domains: DomainProbe): CountedProbe {
  let [probes, unanswered] = [0, 0];
  return {
    probe: async (domain, text) => {
      const outcome = await domains.probe(domain, text);
      probes += 1;
      if (outcome.kind === "unanswered") unanswered += 1;
      return outcome;
    },
    readings: () => [
      counter("svc_domain_probes_total", "Looks at the domains of endpoints.", probes),
      counter(
        "svc_domain_probes_unanswered_total",
        "Looks at the domains of endpoints that could not tell who controls them.",
        unanswered,
      ),
    ],
  };
}

function counter(name: string, help: string, value: number): Reading {
  return { name, help, kind: "counter", value };
}
