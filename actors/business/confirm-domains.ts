// The looks at a business's domains, outside its actor. They may be repeated: each says when it began, and the actor keeps the
// latest.

import { domainChallenge } from "../../protocol/domain-control.ts";
import type { DomainProbe } from "../../transport/domain-probe.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { ProbedDomain, ProbeSchedule } from "../messages/domains.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { ActivityContext } from "../system/definition.ts";

export interface DomainPorts {
  readonly domains: {
    /** Null where nobody looks. */
    readonly probe: DomainProbe | null;
    readonly schedule: ProbeSchedule;
  };
}

export async function confirmDomains(
  { domains: { probe, schedule } }: DomainPorts,
  { actor, ask, nowMs }: ActivityContext<"business">,
): Promise<CommandOf<BusinessProtocol, "domains.probed">> {
  if (probe === null) return { type: "domains.probed", probed: [], schedule };
  const due = await ask(actor, { type: "domains.due" });
  const probed = due.domains.map(async (domain): Promise<ProbedDomain> => {
    const at_ms = nowMs();
    const found = await probe.probe(domain, domainChallenge(actor.id, domain));
    const detail = found.kind === "confirmed" ? found.by : found.detail;
    return { domain, outcome: found.kind, detail, at_ms };
  });
  return { type: "domains.probed", probed: await Promise.all(probed), schedule };
}
