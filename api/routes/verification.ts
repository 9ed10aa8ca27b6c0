// The public verification surface (specification, «C. Public verification API»): its routes, served on both the
// verification host and the retrieval host. No account, any origin, never credentials.

import type { FastifyInstance, FastifyRequest } from "fastify";
import { verifyBytesMax } from "../../protocol/limits.ts";
import { requestProblem } from "../../protocol/problem.ts";
import { hash, uuid } from "../../protocol/shape.ts";
import { recordId } from "../../protocol/wire/push.ts";
import {
  businessKeysAnswer,
  certificateAnswer,
  keyCustodyAnswer,
  keyDirectoryAnswer,
  keySetAnswer,
  verifyPageAnswer,
} from "../../protocol/wire/verification.ts";
import { type VerifyRequest, verifyAnswer, verifyRequest } from "../../protocol/wire/verify.ts";
import { webhookKeysAnswer, webhookKeysMediaType } from "../../protocol/wire/webhook.ts";
import { type Outcome, parseJson, refused, refusedWith } from "../../service/answer.ts";
import type { Verification } from "../../service/verification/verification.ts";
import type { Verify } from "../../service/verification/verify.ts";
import type { VerifyPage } from "../../service/verification/verify-page.ts";
import { type BodyLimits, closeUnread } from "../body.ts";
import { checkOf } from "../checks.ts";
import type { Edge } from "../edge.ts";
import { buildServer, type HttpDeps } from "../http-server.ts";
import { type PageFormat, readCertificate, readRecord } from "../pages/public-pages.ts";
import {
  answerHeld,
  type DocumentDoc,
  describeDocument,
  documentRead,
  parameter,
  publicRead,
  type Read,
} from "../public-read.ts";
import { isRefused, parseQuery, prefersHtml, type Query, send } from "../request-parts.ts";
import {
  answeredWith,
  type HeaderName,
  inPath,
  inQuery,
  type Parameter,
  type Route,
  type RouteDoc,
} from "../route.ts";

/** Several times what the largest evidence contains: a row, a proof, a sidecar. */
const verifyValuesMax = 4_096;

export interface VerificationRoutesDeps {
  readonly verification: Verification;
  readonly verify: Verify;
  readonly verifyPage: VerifyPage;
  /** Whether pages for people say that they are a sandbox's. */
  readonly isSandbox: boolean;
  /** Has the turns of what looks something up or signs something; what is the same for everybody does not wait. */
  readonly edge: Edge;
}

export interface VerificationDeps {
  readonly http: HttpDeps;
  readonly routes: readonly Route[];
  readonly verifyUrl: string;
}

/** The verification surface (specification, «C. Public verification API»). */
export function buildVerification(deps: VerificationDeps): FastifyInstance {
  const info = {
    title: "Public verification API",
    description:
      "Everything that can be checked without an account. Trust comes from pinned anchors, never from this host.",
    servers: [deps.verifyUrl],
  };
  return buildServer(deps.http, { name: "verification", info, routes: deps.routes, isPublic: true });
}

/**
 * Certificates, keys, mandates, policies, `/v1/verify` and its page; what is looked up waits for its turn (checks.ts).
 */
export function verificationRoutes(deps: VerificationRoutesDeps): readonly Route[] {
  const { verification } = deps;
  const at = (path: string, doc: RouteDoc, answer: Read<never>): Route => publicRead(path, doc, [], answer);
  const looked = <N extends string>(answer: Read<N>): Read<N> => readInTurn(deps, answer);
  return [
    publicRead(
      "/v1/certificates/:uuid",
      certificateDoc,
      ["format"],
      looked((request, query) => {
        const format = pageFormat(request, query.format);
        return typeof format === "string"
          ? readCertificate(verification, parameter(request, "uuid"), { format, isSandbox: deps.isSandbox })
          : format;
      }),
    ),
    at(
      "/v1/certificates/:uuid/keys",
      keysDoc,
      looked((request) => verification.businessKeys(parameter(request, "uuid"))),
    ),
    at(
      "/v1/certificates/:uuid/key-custody",
      custodyDoc,
      looked((request) => verification.keyCustody(parameter(request, "uuid"))),
    ),
    documentRead("/.well-known/keys", keySetDoc, [], () => verification.keySet()),
    at(
      "/.well-known/svc-keys",
      describeDocument(directoryDoc),
      looked(async (request) => answerHeld(request, await verification.keyDirectory())),
    ),
    documentRead("/.well-known/http-message-signatures-directory", webhookKeysDoc, [], () =>
      verification.webhookKeys(),
    ),
    publicRead(
      "/v1/verify/:record_id",
      verifyPageDoc,
      ["origin", "cert", "served_at", "format"],
      looked((request, query) => readVerifyPage(deps, request, query)),
    ),
    verifyRoute(deps),
  ];
}

function readInTurn<N extends string>({ edge }: VerificationRoutesDeps, answer: Read<N>): Read<N> {
  return (request, query) => edge.checks.answer(checkOf(request.raw, edge), () => answer(request, query));
}

/** `?format=` takes precedence over Accept. */
function pageFormat(request: FastifyRequest, format: string | null): PageFormat | Outcome {
  if (format === "html" || format === "json") return format;
  if (format !== null) {
    return refusedWith("request_invalid", "format is html or json.", {
      pointer: "/query/format",
      allowed: ["html", "json"],
    });
  }
  return prefersHtml(request.headers.accept ?? "") ? "html" : "json";
}

function readVerifyPage(
  { verifyPage, isSandbox }: Pick<VerificationRoutesDeps, "verifyPage" | "isSandbox">,
  request: FastifyRequest,
  query: Query<"origin" | "cert" | "served_at" | "format">,
): Promise<Outcome> | Outcome {
  const format = pageFormat(request, query.format);
  if (typeof format !== "string") return format;
  const { origin, cert, served_at: servedAt } = query;
  return readRecord(
    verifyPage,
    { recordId: parameter(request, "record_id"), origin, cert, servedAt },
    { format, isSandbox },
  );
}

function verifyRoute(deps: VerificationRoutesDeps): Route {
  const { edge } = deps;
  const limits: BodyLimits = { bytesMax: verifyBytesMax, edge };
  const answerVerify = async (request: FastifyRequest, bytes: Uint8Array): Promise<Outcome> => {
    const json = parseJson(bytes, { valuesMax: verifyValuesMax });
    if ("kind" in json) return json;
    const query = parseQuery(request.raw.url ?? "", []);
    if (isRefused(query)) return query;
    const fault = requestProblem(verifyRequest, json.value);
    return fault === null ? deps.verify(json.value as VerifyRequest, bytes) : refused(fault);
  };
  return {
    method: "POST",
    path: "/v1/verify",
    tags: [],
    isPublic: true,
    doc: verifyDoc,
    handle: async (request, reply) => {
      const check = checkOf(request.raw, edge);
      const body = await edge.checks.readBody(check, limits);
      if (!body.ok) {
        closeUnread(request, reply);
        return send(reply, refused(body.problem));
      }
      try {
        return send(reply, await edge.checks.answer(check, () => answerVerify(request, body.bytes)));
      } finally {
        body.release();
      }
    },
  };
}

// The OpenAPI descriptions of the public verification surface.

const cached: readonly HeaderName[] = ["Cache-Control"];

const uuidParameter: Parameter = inPath("uuid", "UUID of the party.", uuid.schema);
const formatParameter: Parameter = inQuery("format", "Takes precedence over Accept.", {
  enum: ["html", "json"],
});

const certificateDoc: RouteDoc = {
  summary: "Certificate of a business or an AI company, with its history",
  description: "HTML with `Accept: text/html` or `?format=html`.",
  parameters: [uuidParameter, formatParameter],
  answers: answeredWith("What the service states of the party today, and said before", certificateAnswer, [
    "Cache-Control",
    "Vary",
  ]),
  pages: [200, 400, 404],
  problems: ["not_found", "request_invalid"],
};
const keysDoc: RouteDoc = {
  summary: "Published keys of a business",
  parameters: [uuidParameter],
  answers: answeredWith("The keys; only `signed` is trusted", businessKeysAnswer, cached),
  problems: ["not_found"],
};
const custodyDoc: RouteDoc = {
  summary: "Who holds the keys of a business",
  parameters: [uuidParameter],
  answers: answeredWith("What is stated, newest first; only `statement` counts", keyCustodyAnswer, cached),
  problems: ["not_found"],
};
const keySetDoc: DocumentDoc = {
  summary: "Signed key set of the service",
  found: { description: "The set in force; only the signed payload is trusted", body: keySetAnswer },
};
const directoryDoc: DocumentDoc = {
  summary: "Key directory of AI companies that chose to be listed",
  found: { description: "The directory, and the same signed", body: keyDirectoryAnswer },
};
const webhookKeysDoc: DocumentDoc = {
  summary: "Keys that sign webhooks",
  found: {
    description: "The key before, the one that signs now, and the next",
    body: webhookKeysAnswer,
    mediaType: webhookKeysMediaType,
  },
};
const verifyPageDoc: RouteDoc = {
  summary: "Whether a business published these exact bytes under this id",
  parameters: [
    inPath("record_id", "Record id.", recordId.schema),
    inQuery("origin", "Hash of the record's exact bytes.", hash.schema, "required"),
    inQuery("cert", "The certificate that the seal names.", hash.schema),
    inQuery("served_at", "When the record was served.", { type: "string", format: "date-time" }),
    formatParameter,
  ],
  answers: answeredWith("What was found, and the same signed", verifyPageAnswer, ["Cache-Control", "Vary"]),
  pages: [200, 400, 404],
  problems: ["not_found", "request_invalid"],
};
const verifyDoc: RouteDoc = {
  summary: "Verify a record that you have",
  description:
    "A failed check gives an answer with `valid: false` and a `reason`. Nobody is refused for asking much: a request waits for its turn, which goes round the addresses, and is 503 with the reason `checks_waiting` only after ten seconds or when the node is full.",
  body: verifyRequest,
  answers: answeredWith("Findings and their signed statement", verifyAnswer, ["Cache-Control"]),
  problems: ["request_invalid", "record_too_large", "request_timeout"],
};
