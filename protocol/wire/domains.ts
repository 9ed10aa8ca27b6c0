// What is shown of the domains of endpoints: to everybody, and to their business.

import { watchedDomainsMax } from "../limits.ts";
import { hostForm } from "../records/https-url.ts";
import {
  described,
  list,
  matching,
  named,
  nullable,
  type Of,
  object,
  oneOf,
  text,
  timestamp,
} from "../shape.ts";

const domain = matching(new RegExp(hostForm.pattern), "a domain name", { maxLength: hostForm.max });

const standing = {
  domain,
  status: oneOf(["unconfirmed", "confirmed", "suspended"]),
};

export const endpointDomain = object({
  ...standing,
  since: described(
    nullable(timestamp),
    "Since when it has this status; null for a domain that is not watched.",
  ),
  confirmed_at: described(nullable(timestamp), "When control was last confirmed."),
});

export const domainsAnswer = named(
  "DomainsAnswer",
  object({
    domains: described(
      list(
        object({
          ...standing,
          since: timestamp,
          confirmed_at: nullable(timestamp),
          challenge: described(
            text(64),
            "Publish this, in either place, for as long as you have endpoints at the domain. It is no secret.",
          ),
          txt_name: described(text(512), "The name of the TXT record that has the challenge as its text."),
          file_url: described(text(512), "The address of the file that has the challenge as a line."),
          probed: described(
            nullable(
              object({
                at: timestamp,
                outcome: oneOf(["confirmed", "absent", "unanswered"]),
                detail: text(2_048),
              }),
            ),
            "The last look: `absent` if neither place has the challenge, `unanswered` if a place could not be looked at.",
          ),
          next_probe_at: described(
            nullable(timestamp),
            "No look before this time; null where this service looks at no domains, as in a sandbox that was not told to.",
          ),
        }),
        { min: 0, max: watchedDomainsMax },
      ),
      "The domains of the endpoints in your served business files, in order.",
    ),
  }),
);
export type DomainsAnswer = Of<typeof domainsAnswer>;
