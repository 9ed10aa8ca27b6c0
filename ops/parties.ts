// How operators let parties in: who they are, and the keys of their systems.

import type { FastifyReply } from "fastify";
import { envelopeShape } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { ok, refuse } from "../protocol/result.ts";
import {
  anyText,
  country,
  described,
  hash,
  keyId,
  nullable,
  type Of,
  object,
  optional,
  publicJwk,
  timestamp,
  uuid,
} from "../protocol/shape.ts";
import type { ListedApplication, OperatorApplications } from "../service/portal/applications.ts";
import { seenName } from "../service/portal/people.ts";
import type { ListedRecovery, OperatorRecoveries } from "../service/portal/recoveries.ts";
import type { Enrolment } from "../service/register/enrolment.ts";
import { actOf, sendProblem } from "./acts.ts";
import type { OpsAccess } from "./guard.ts";
import { tell } from "./revocations.ts";
import { act, afterPage, type OpsRoute, parameter, problemsOfSeen, read, shown } from "./route.ts";
import {
  actMembers,
  applicationList,
  applicationState,
  done,
  keyState,
  partyKind,
  partyState,
  plainText,
  reasonLengthMax,
  recoveryList,
  recoveryState,
} from "./shapes.ts";

const certifyBody = object({
  kind: partyKind,
  legal_name: plainText(256, "Legal name, with nothing in it that cannot be seen."),
  country,
  cert_id: described(
    nullable(hash),
    "The certificate that was seen, which has ended; null where there was none. If it is another by now, nothing is done.",
  ),
  reason: plainText(
    reasonLengthMax,
    "What was verified and how. It is kept with the act, and is published nowhere.",
  ),
});

const reissueBody = object({
  cert_id: described(hash, "The certificate in force, which the new one follows. Sent again, one is issued."),
  ...actMembers,
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
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        const { reason: _, ...party } = request.body;
        // Not in the published pattern: many readers of schemas do not know the names of properties.
        if (!seenName.test(party.legal_name))
          return sendProblem(
            reply,
            "request_invalid",
            "legal_name has something in it that cannot be seen.",
            {
              pointer: "/legal_name",
            },
          );
        return tell(
          reply,
          "party",
          await enrolment.certify({ ...request.params, ...party, act: actOf(request) }),
        );
      },
    ),
    act(
      "/ops/parties/:uuid/reissue",
      {
        summary: "Issues the certificate in force once more: the same party, under the keys of today",
        body: reissueBody,
        answer: done("party", partyState),
        parameters: named,
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        const { cert_id } = request.body;
        const asked = { ...request.params, cert_id, act: actOf(request) };
        return tell(reply, "party", await enrolment.reissue(asked));
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

const applicants = [parameter("path", "uuid", "UUID of an application.")];
const refuseBody = object({
  statement: plainText(reasonLengthMax, "What the applicant is told."),
  ...actMembers,
});
const approveBody = object({
  reason: plainText(
    reasonLengthMax,
    "What was verified and how. It is kept with the acts that follow, and is published nowhere.",
  ),
});

/** What people applied for at the portal. An operator decides about those who applied, and names nobody. */
export function applicationRoutes(applications: OperatorApplications): readonly OpsRoute[] {
  return [
    read(
      "/ops/applications",
      {
        summary: "Applications for businesses and AI companies, 50 at most",
        answer: applicationList,
        parameters: [afterPage],
      },
      async ({ query }) => shownApplications(await applications.list(query["after"] ?? "")),
    ),
    shown(
      "/ops/applications/:uuid",
      "application",
      { subject: applicationState, parameters: applicants },
      async ({ uuid }) => {
        const found = await applications.read(uuid);
        return found === null
          ? refuse("unknown", "Nobody applied under this uuid.")
          : ok(shownApplication(found));
      },
    ),
    read(
      "/ops/applications/:uuid/evidence/:file/download",
      {
        summary:
          "A file that the applicant sent, as it was sent: needs the right for parties, and is recorded",
        answer: anyText,
        parameters: [...applicants, parameter("path", "file", "UUID of a file of the application.")],
        problems: ["not_found"],
        mediaType: unknownType,
      },
      async ({ params, admission }, reply) => {
        const found = await applications.evidence.view(params, admission?.user ?? "");
        if (found === null)
          return sendProblem(reply, "not_found", "The application has no such file, or no more.");
        const { evidence, bytes } = found;
        reply.request.outcome = { outcome: "taken" };
        const [, ending] = evidence.media_type.split("/");
        // Nobody has looked into it: it is saved, never shown, under no name of its sender.
        return reply
          .header("content-disposition", `attachment; filename="evidence-${evidence.file}.${ending}"`)
          .header("content-type", unknownType)
          .header("content-security-policy", "sandbox; default-src 'none'")
          .header("cross-origin-resource-policy", "same-origin")
          .send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      },
    ),
    act(
      "/ops/applications/:uuid/approve",
      {
        summary: "Lets the business or the AI company in, with the applicant as its owner",
        body: approveBody,
        answer: done("application", applicationState),
        parameters: applicants,
      },
      async (request, reply) =>
        tellApplication(reply, await applications.approve(request.params.uuid, actOf(request))),
    ),
    act(
      "/ops/applications/:uuid/refuse",
      {
        summary: "Refuses an application, and tells the applicant why",
        body: refuseBody,
        answer: done("application", applicationState),
        parameters: applicants,
      },
      async (request, reply) => {
        const { statement } = request.body;
        return tellApplication(
          reply,
          await applications.refuse(request.params.uuid, actOf(request), statement),
        );
      },
    ),
  ];
}

const unknownType = "application/octet-stream";

function tellApplication(
  reply: FastifyReply,
  outcome: Awaited<ReturnType<OperatorApplications["approve"]>>,
): FastifyReply {
  if (!outcome.ok) return tell(reply, "application", outcome);
  const { changed, application } = outcome.value;
  const since = formatTimestamp(application.filed_at_ms);
  const subject = shownApplication(application);
  const sent = tell(reply, "application", ok({ changed, since, subject }));
  // What applicants sent is destroyed in time, and the audit log is not.
  const { evidence: _, evidence_views: __, ...noted } = subject;
  reply.request.outcome = { changed, since, application: noted };
  return sent;
}

/** A page of applications, as operators see them. */
export function shownApplications({
  applications,
  next_after,
}: Awaited<ReturnType<OperatorApplications["list"]>>): Of<typeof applicationList> {
  return { applications: applications.map(shownApplication), next_after };
}

/** Without the proof, which is for the service alone. */
function shownApplication(application: ListedApplication): Of<typeof applicationState> {
  const { uuid, kind, applicant, applicant_name, legal_name, country: of } = application;
  const { key_id, state, statement, evidence, evidence_views } = application;
  const filed_at = formatTimestamp(application.filed_at_ms);
  return {
    uuid,
    kind,
    applicant,
    applicant_name,
    legal_name,
    country: of,
    key_id,
    state,
    filed_at,
    statement,
    evidence: evidence.map(({ added_at_ms, ...file }) => ({
      ...file,
      added_at: formatTimestamp(added_at_ms),
    })),
    evidence_views: evidence_views.map(({ at_ms, ...taken }) => ({ ...taken, at: formatTimestamp(at_ms) })),
  };
}

const recovering = [parameter("path", "recovery_id", "Id of a recovery: the person and the business.")];
const seenPasskey = described(
  keyId,
  "The passkey that is to seal, as it was shown. If it is another one now, nothing is done.",
);
const refuseRecoveryBody = object({
  statement: plainText(reasonLengthMax, "What the applicant is told."),
  key_id: seenPasskey,
  ...actMembers,
});
const replaceBody = object({
  replaces: described(uuid, "The owner who is replaced, by their person's id. Both operators name the same."),
  key_id: seenPasskey,
  reason: plainText(
    reasonLengthMax,
    "What was verified and how. It is kept with the acts that follow, and is published nowhere.",
  ),
});

/**
 * Who lost all passkeys, and asks for the place of an owner. Two operators decide together: where a proxy says who people are, its
 * names alone count, because everybody who has the token can say any.
 */
export function recoveryRoutes(
  recoveries: OperatorRecoveries,
  { proxy = null }: Pick<OpsAccess, "proxy">,
): readonly OpsRoute[] {
  const told = (reply: FastifyReply, outcome: Awaited<ReturnType<OperatorRecoveries["approve"]>>) => {
    if (!outcome.ok) return tell(reply, "recovery", outcome);
    const { changed, recovery } = outcome.value;
    const since = formatTimestamp(recovery.filed_at_ms);
    return tell(reply, "recovery", ok({ changed, since, subject: shownRecovery(recovery) }));
  };
  return [
    read(
      "/ops/recoveries",
      {
        summary: "Who lost all passkeys and asks for the place of an owner, 20 at most",
        answer: recoveryList,
        parameters: [afterPage],
      },
      async ({ query }) => shownRecoveries(await recoveries.list(query["after"] ?? "")),
    ),
    shown(
      "/ops/recoveries/:recovery_id",
      "recovery",
      { subject: recoveryState, parameters: recovering },
      async ({ recovery_id }) => {
        const found = await recoveries.read(recovery_id);
        return found === null ? refuse("unknown", "Nobody asked under this id.") : ok(shownRecovery(found));
      },
    ),
    act(
      "/ops/recoveries/:recovery_id/approve",
      {
        summary:
          "Approves that the applicant takes the place of an owner: by the second operator the people of the business are told, and 72 hours begin",
        body: replaceBody,
        answer: done("recovery", recoveryState),
        parameters: recovering,
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        if (proxy !== null && request.admission?.via !== "proxy")
          return tell(
            reply,
            "recovery",
            refuse("refused", "Sign in by the proxy: two operators are two people whom it names."),
          );
        const { replaces, key_id } = request.body;
        const approved = recoveries.approve(request.params.recovery_id, actOf(request), { replaces, key_id });
        return told(reply, await approved);
      },
    ),
    act(
      "/ops/recoveries/:recovery_id/refuse",
      {
        summary: "Refuses it, until the owner is replaced, and tells the applicant why",
        body: refuseRecoveryBody,
        answer: done("recovery", recoveryState),
        parameters: recovering,
        problems: problemsOfSeen,
      },
      async (request, reply) => {
        const { statement, key_id } = request.body;
        const refused = recoveries.refuse(request.params.recovery_id, actOf(request), { statement, key_id });
        return told(reply, await refused);
      },
    ),
  ];
}

/** A page of recoveries, as operators see them. */
export function shownRecoveries({
  recoveries,
  next_after,
}: Awaited<ReturnType<OperatorRecoveries["list"]>>): Of<typeof recoveryList> {
  return { recoveries: recoveries.map(shownRecovery), next_after };
}

/** Without the proof, which is for the service alone. */
function shownRecovery({
  sealing: _,
  filed_at_ms,
  due_at_ms,
  owners,
  ...recovery
}: ListedRecovery): Of<typeof recoveryState> {
  return {
    ...recovery,
    filed_at: formatTimestamp(filed_at_ms),
    due_at: due_at_ms === null ? null : formatTimestamp(due_at_ms),
    owners: owners.map(({ since_ms, ...owner }) => ({ ...owner, since: formatTimestamp(since_ms) })),
  };
}
