// The rule on where a reader is sent, which products and ads share.

import type { JsonObject } from "../canonical-json.ts";
import { parseHttpsUrl } from "./https-url.ts";
import type { FaultList } from "./record-fault.ts";

/** `display_domain` must equal the host of `destination_url` (specification, «Publish behaviour» 5). */
export function displayDomainIsDestination(record: JsonObject, faults: FaultList): void {
  const { display_domain: domain, destination_url: destination } = record;
  if (typeof domain !== "string" || typeof destination !== "string") return;
  const host = parseHttpsUrl(destination)?.host;
  if (host === undefined || host === domain.toLowerCase()) return;
  faults.addQuoting({
    code: "display_domain_mismatch",
    pointer: "/display_domain",
    detail: "Must be the host of destination_url.",
    quote: host,
  });
}
