// The routes that take a record out of serving by a sealed document (specification, «B. Business machine API»).

import { collections } from "../../collections/collections.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { withdrawalsBytesMax } from "../../protocol/limits.ts";
import type { ProblemCode } from "../../protocol/problem.ts";
import {
  removalActions,
  removalAnswer,
  removalBody,
  withdrawalsAnswer,
  withdrawalsBody,
} from "../../protocol/wire/removal.ts";
import type { Outcome } from "../../service/answer.ts";
import type { RemovalRequest } from "../../service/publishing/remove-record.ts";
import { answeredWith, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { businessPush, type Callers, idempotencyKey, sentIn } from "../signed.ts";

/** What the routes call; it checks its input beyond authentication. */
export interface Removing {
  removeRecord(request: RemovalRequest): Promise<Outcome>;
  withdrawRecords(request: Omit<RemovalRequest, "action" | "collection">): Promise<Outcome>;
}

const problems: readonly ProblemCode[] = [
  "request_invalid",
  "media_type_unsupported",
  "mandate_missing",
  "out_of_scope",
  "source_not_allowed",
  "business_not_verified",
  "not_found",
  "seal_invalid",
  "deletion_rejected",
  "idempotency_in_progress",
  "idempotency_key_reused",
];

/** Those that a result of several has. */
const ofOneDocument: readonly ProblemCode[] = ["not_found", "seal_invalid", "deletion_rejected"];

const effects = {
  withdraw:
    "The record leaves serving in every region within seconds. Its versions and their history stay, and a later batch may publish it again.",
  delete:
    "The record leaves serving in every region within seconds, and within 30 days its bytes are purged from everything that the service stores. Hashes, seals and this document stay. A later batch may publish the record again, as its next version.",
} as const;

/** Withdrawal and deletion of a record of each type, and `POST /v1/withdrawals` for up to 50. */
export function removalRoutes(callers: Callers, removing: Removing): readonly Route[] {
  const one = collectionNames.flatMap((collection) =>
    removalActions.map((action) => {
      const path = `/v1/publish/${collections[collection].path}/${action}`;
      return businessPush(callers, path, removalDoc(collection, action), {
        answer: (call) => removing.removeRecord({ ...sentIn(call, callers), collection, action }),
      });
    }),
  );
  const many = businessPush(callers, "/v1/withdrawals", withdrawalsDoc, {
    bytesMax: withdrawalsBytesMax,
    answer: (call) => removing.withdrawRecords(sentIn(call, callers)),
  });
  return [...one, many];
}

function removalDoc(collection: CollectionName, action: RemovalRequest["action"]): RouteDoc {
  const { title } = collections[collection];
  return {
    summary: `${action === "withdraw" ? "Withdraw" : "Delete"} one of your ${title} by a sealed document`,
    description: `${effects[action]} A document is accepted once; sent again, however late, it is answered again and changes nothing. It is also accepted while the certificate of the business is ended, and names it; no mandate is asked for then where a person or the hosted key sealed it. A record that the business does not have is answered 404, no matter who else has it.`,
    parameters: [sandboxKey, idempotencyKey],
    body: removalBody,
    answers: {
      200: { description: "The record is out of serving", body: removalAnswer },
      ...(action === "delete"
        ? { 202: { description: "The deletion is held until an operator decides", body: removalAnswer } }
        : {}),
    },
    problems,
  };
}

const withdrawalsDoc: RouteDoc = {
  summary: "Withdraw many records, each by a sealed document of its own",
  description:
    "Each document is judged as by the route for one, and counts as one record; one that is refused changes nothing of the others. The answer is 200 whatever its results, and is the same for the same Idempotency-Key: send a document that was refused again under another. The places that a problem names are those of its own document.",
  parameters: [sandboxKey, idempotencyKey],
  body: withdrawalsBody,
  answers: answeredWith("What became of each document", withdrawalsAnswer),
  problems: problems.filter((code) => !ofOneDocument.includes(code)),
};
