// OpenAPI 3.1 of the operations surface, with what each address may be refused with.

import { platformProblems, problemResponses, problemSchema } from "../api/open-api.ts";
import type { ProblemCode } from "../protocol/problem.ts";
import { clusterBodies } from "./cluster.ts";
import { certificateEnds, revocationBodies } from "./revocations.ts";

const refusals: readonly ProblemCode[] = ["token_invalid", "host_not_allowed", ...platformProblems];

const parameter = (where: "path" | "query", name: string, description: string): object => ({
  ...{ name, in: where, required: where === "path", description, schema: { type: "string" } },
});
const kind = parameter("path", "kind", "Kind of actor, such as push.");

interface Read {
  readonly parameters?: readonly object[];
  /** Besides those of every address. */
  readonly problems?: readonly ProblemCode[];
  /** Besides 200. */
  readonly answers?: Readonly<Record<string, object>>;
}

function read(description: string, { parameters = [], problems = [], answers = {} }: Read = {}): object {
  const responses = { 200: { description }, ...answers, ...problemResponses([...problems, ...refusals]) };
  return { get: { summary: description, parameters, responses } };
}

function command(description: string, body: object): object {
  const requestBody = { required: true, content: { "application/json": { schema: body } } };
  const responses = { 200: { description }, ...problemResponses([...refusals, "unavailable"]) };
  return { post: { summary: description, requestBody, responses } };
}

function revocation(summary: string, body: object, parameters: readonly object[] = []): object {
  const requestBody = { required: true, content: { "application/json": { schema: body } } };
  const description = `${summary}; \`changed\` is false where it was so before, \`since\` says from when on`;
  const responses = { 200: { description }, ...problemResponses([...refusals, "not_found", "unavailable"]) };
  return { post: { summary, parameters, requestBody, responses } };
}

const keyId = parameter("path", "key_id", "Of a registered key.");
const uuid = parameter("path", "uuid", "Of a business or an AI company.");
const mandateNames = [
  parameter("path", "business_uuid", "Of the business that gave the mandate."),
  parameter("path", "mandate_id", "Of the mandate, percent-encoded where it needs to be."),
];
const shown = (description: string, parameters: readonly object[]): object =>
  read(description, { parameters, problems: ["not_found", "unavailable"] });

const revocationPaths: Readonly<Record<string, object>> = {
  "/ops/keys/{key_id}": shown("A key", [keyId]),
  "/ops/keys/{key_id}/revoke": revocation("Revokes a key", revocationBodies.key, [keyId]),
  "/ops/mandates/{business_uuid}/{mandate_id}": shown("A mandate", mandateNames),
  "/ops/mandates/{business_uuid}/{mandate_id}/revoke": revocation(
    "Revokes a mandate",
    revocationBodies.mandate,
    mandateNames,
  ),
  "/ops/certificates/{uuid}": shown("The certificate in force", [uuid]),
  ...Object.fromEntries(
    Object.entries(certificateEnds).map(([last, { summary }]) => [
      `/ops/certificates/{uuid}/${last}`,
      revocation(summary, revocationBodies.certificate, [uuid]),
    ]),
  ),
  "/ops/grants/revoke": revocation("Revokes the key of a sandbox grant, used or not", revocationBodies.grant),
  "/ops/acts/{uuid}": read("What was done to a party with a name and a reason, 100 a page", {
    parameters: [uuid, parameter("query", "after", "`next_after` of the page before.")],
    problems: ["unavailable"],
  }),
};

const clusterPaths: Readonly<Record<string, object>> = {
  "/ops/cluster": read(
    "Members, standings and connections as this node knows them, and what the fence refused",
  ),
  "/ops/cluster/moves": command("Moves a party's home from this region to another", clusterBodies.moves),
  "/ops/cluster/declare-dead": command("Declares a lost region dead", clusterBodies.declareDead),
  "/ops/cluster/put-in": command(
    "Puts a lost region's data centre into the keyspace again",
    clusterBodies.putIn,
  ),
  "/ops/cluster/rejoin": command("Lets a rebuilt region in again", clusterBodies.rejoin),
  "/ops/cluster/rebuild": command("Builds this region's index of a collection again", clusterBodies.rebuild),
};

export function openApiOf(isClustered: boolean): object {
  return {
    openapi: "3.1.0",
    info: { title: "Operations", version: "1.0.0" },
    paths: {
      "/healthz": read("The process answers"),
      "/readyz": read("The node can serve; `degraded` names what it does without meanwhile", {
        answers: { 503: { description: "It cannot, and why" } },
      }),
      "/metrics": read("Prometheus text format"),
      "/ops/actors/{kind}": read("Ids of the actors of a kind, 100 a page", {
        parameters: [kind, parameter("query", "after", "`next_after` of the page before.")],
      }),
      "/ops/actors/{kind}/{id}": read(
        "State of an actor: machine state, context, timers, unacknowledged effects, last events",
        { parameters: [kind, parameter("path", "id", "Id of the actor.")], problems: ["not_found"] },
      ),
      ...revocationPaths,
      ...(isClustered ? clusterPaths : {}),
    },
    components: { schemas: { Problem: problemSchema } },
  };
}
