// How operators let parties in: who they are, and the keys of their systems.

import { envelopeShape } from "../protocol/dsse.ts";
import { country, described, object, optional, publicJwk, timestamp } from "../protocol/shape.ts";
import type { Enrolment } from "../service/register/enrolment.ts";
import { actOf } from "./acts.ts";
import { tell } from "./revocations.ts";
import { act, type OpsRoute, parameter, shown } from "./route.ts";
import {
  actMembers,
  done,
  keyState,
  legalName,
  partyKind,
  partyState,
  plainText,
  reasonLengthMax,
} from "./shapes.ts";

const certifyBody = object({
  kind: partyKind,
  legal_name: legalName,
  country,
  reason: plainText(
    reasonLengthMax,
    "What was verified and how. It is kept with the act, and is published nowhere.",
  ),
});

const keyBody = object({
  public_key: publicJwk,
  valid_until: optional(described(timestamp, "When the key ends; it has no end if this is left out.")),
  proof: described(
    envelopeShape,
    "Signed by the key itself (key-possession v1): its party, its role, and as the challenge the 64 digits of the cert_id in force. `svc prove-key` makes it.",
  ),
  ...actMembers,
});

const named = [parameter("path", "uuid", "UUID of a business or an AI company, version 4.")];

export function partyRoutes(enrolment: Enrolment): readonly OpsRoute[] {
  return [
    shown("/ops/parties/:uuid", "party", { subject: partyState, parameters: named }, ({ uuid }) =>
      enrolment.party(uuid),
    ),
    act(
      "/ops/parties/:uuid/certify",
      {
        summary: "Opens a party and puts an active certificate in force; one that has ended is reinstated",
        body: certifyBody,
        answer: done("party", partyState),
        parameters: named,
      },
      async (request, reply) => {
        const { reason: _, ...party } = request.body;
        return tell(
          reply,
          "party",
          await enrolment.certify({ ...request.params, ...party, act: actOf(request) }),
        );
      },
    ),
    act(
      "/ops/parties/:uuid/keys",
      {
        summary: "Registers the key of a business's or an AI company's system",
        body: keyBody,
        answer: done("key", keyState),
        parameters: named,
      },
      async (request, reply) => {
        const { reason: _, valid_until = null, public_key, proof } = request.body;
        const key = { public_key, proof, valid_until };
        return tell(
          reply,
          "key",
          await enrolment.registerKey({ ...request.params, ...key, act: actOf(request) }),
        );
      },
    ),
  ];
}
