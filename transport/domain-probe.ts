// Port: looks whether a domain's owner publishes a text, as a DNS TXT record or in a file. Every implementation passes
// transport/domain-probe.conformance.ts.
//
// Obligations of an implementation:
//   P1. `confirmed` if, and only if, one of the two places has the text now: a TXT record of the challenge's name that is the text,
//       or a line of the challenge's file, fetched by TLS from the domain itself, with a certificate that is valid for it.
//   P2. `absent` only if both places were looked at and neither has it. Whatever keeps from looking, above all what this side's own
//       network does, is `unanswered`.
//   P3. It never rejects, and ends in bounded time, whatever is at the other end.
//   P4. It follows no redirect, and reaches no address that is not public unless it was made for a test: a business names the
//       domains, and must not have the service call its own network.

export type ProbeOutcome =
  | { readonly kind: "confirmed"; readonly by: "txt" | "file" }
  /** `detail` is for the business: what was found in both places. */
  | { readonly kind: "absent"; readonly detail: string }
  | { readonly kind: "unanswered"; readonly detail: string };

export interface DomainProbe {
  /** The domain is in lower case, without port; the text is the business's challenge for it. */
  probe(domain: string, text: string): Promise<ProbeOutcome>;
}
