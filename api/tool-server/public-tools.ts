// The eight tools of the hosted public tool server (specification, «D. Tool server»): what anyone can check without an
// account, asked of the same services as the public verification API.
//   P1. An answer is the body that the API has for the same question, byte for byte, and so is a refusal.
//   P2. A call waits for its turn in the same queue as the API's own request: neither way is faster than the other.
//   P3. Nothing of a record, a business or a caller is in a description or a note.

import type { JsonObject, JsonValue } from "../../protocol/canonical-json.ts";
import { verifyBytesMax } from "../../protocol/limits.ts";
import { problem } from "../../protocol/problem.ts";
import { requestProblem } from "../../protocol/request-problem.ts";
import type { Of, Shape } from "../../protocol/shape.ts";
import { isRefused, type Outcome, type Refused, refused } from "../../service/answer.ts";
import type { LogReads } from "../../service/log-reads.ts";
import { answerDocument, type PublicDocument } from "../../service/public-document.ts";
import type { PublishedReads } from "../../service/published-reads.ts";
import type { Verification } from "../../service/verification.ts";
import type { Verify } from "../../service/verify.ts";
import {
  certificateArguments,
  keysArguments,
  noArguments,
  projectionArguments,
  proofArguments,
  specArguments,
  verifyArguments,
  vocabularyArguments,
} from "./tool-arguments.ts";

export interface PublicToolDeps {
  readonly verification: Verification;
  readonly verify: Verify;
  readonly published: PublishedReads;
  readonly log: LogReads;
}

export interface ToolCall {
  readonly arguments: JsonValue;
  /** The exact text of the arguments. */
  readonly text: string;
  readonly inTurn: InTurn;
}

/** Does the work in its turn (P2), or says why that did not come. */
export type InTurn = (work: () => Promise<Outcome> | Outcome) => Promise<Outcome>;

export interface ToolAnswer {
  readonly outcome: Outcome;
  /** The method and path of the API's own request with this answer; null if the arguments were refused. */
  readonly request: string | null;
}

export interface PublicTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  /** What the answer means, in plain words. */
  readonly notes: readonly string[];
  call(call: ToolCall): Promise<ToolAnswer>;
}

type Described = Pick<PublicTool, "name" | "title" | "description" | "notes">;

interface Asked {
  readonly request: string;
  answer(): Promise<Outcome | PublicDocument> | Outcome | PublicDocument;
  /** Whether the call waits for its turn; what is the same for everybody does not. */
  readonly waits: boolean;
}

function tool<S extends Shape<unknown>>(
  told: Described,
  shape: S,
  ask: (given: Of<S>, call: ToolCall) => Asked,
): PublicTool {
  return {
    ...told,
    inputSchema: shape.schema,
    call: async (call) => {
      const fault = requestProblem(shape, call.arguments);
      if (fault !== null) return { outcome: refused(fault), request: null };
      const { request, answer, waits } = ask(call.arguments as Of<S>, call);
      const work = async (): Promise<Outcome> => answerOf(await answer());
      return { outcome: await (waits ? call.inTurn(work) : work()), request };
    },
  };
}

function answerOf(found: Outcome | PublicDocument): Outcome {
  if ("kind" in found) return found;
  return answerDocument(found, null);
}

export function publicTools(deps: PublicToolDeps): readonly PublicTool[] {
  return [verifyTool(deps), ...partyTools(deps), ...documentTools(deps), ...logTools(deps)];
}

function verifyTool({ verify }: PublicToolDeps): PublicTool {
  return tool(
    {
      name: "verify",
      title: "Verify a record or an ad",
      description:
        "Checks a record that you have, given as its exact bytes in base64, against its seal, sidecar or row: who sealed it, under which certificate and AI policy version, whether the transparency log has the seal, and whether the row is what the service projected. `ad_item` alone checks an ad as it was served. A bare id or hash is never accepted.",
      notes: [
        "Read `valid` first. It is true only if every section that was given is valid; a section that failed has a `reason`.",
        "A valid seal proves who published the bytes and when, not that what they say is true.",
        "`statement` is the same, signed by the service. Check it with anchors that you hold, not with keys from this host alone.",
      ],
    },
    verifyArguments,
    (given, { text }) => ({
      request: "POST /v1/verify",
      waits: true,
      answer: () => {
        const body = new TextEncoder().encode(text);
        if (body.length <= verifyBytesMax) return verify(given, body);
        return refused(problem("record_too_large", `The body is at most ${verifyBytesMax} bytes.`));
      },
    }),
  );
}

function partyTools({ verification }: PublicToolDeps): readonly PublicTool[] {
  const certificate = tool(
    {
      name: "certificate",
      title: "Certificate of a business or an AI company",
      description:
        "Reads what the service states of a business or an AI company today: its legal name, its country, since when it is verified, its status, and every earlier issuance.",
      notes: [
        "`certificate` is the signed document; `status` and `statement` say the same in short.",
        "A certificate states that the party was verified, never how.",
      ],
    },
    certificateArguments,
    ({ uuid }) => ({
      request: `GET /v1/certificates/${uuid}`,
      waits: true,
      answer: () => verification.certificate(uuid),
    }),
  );
  const keys = tool(
    {
      name: "keys",
      title: "Published keys",
      description:
        "Reads public keys: the service's own key set, the directory of AI companies, the keys of one business, or the statements of who holds them.",
      notes: [
        "Only what is signed counts: `signed`, `statement`, and the certificates in the key set.",
        "A key set proves something only if it leads to an anchor that you hold from elsewhere.",
      ],
    },
    keysArguments,
    ({ of, uuid = "" }) => {
      const path = `/v1/certificates/${uuid}`;
      if (of === "business")
        return { request: `GET ${path}/keys`, waits: true, answer: () => verification.businessKeys(uuid) };
      if (of === "custody")
        return {
          request: `GET ${path}/key-custody`,
          waits: true,
          answer: () => verification.keyCustody(uuid),
        };
      if (of === "service")
        return { request: "GET /.well-known/keys", waits: false, answer: () => verification.keySet() };
      const request = "GET /.well-known/svc-keys";
      return { request, waits: true, answer: () => verification.keyDirectory() };
    },
  );
  return [certificate, keys];
}

function documentTools({ published }: PublicToolDeps): readonly PublicTool[] {
  const projection = tool(
    {
      name: "projection",
      title: "Projection specification",
      description: "Reads how a record of one type becomes a search row, for one version of the projection.",
      notes: [
        "`sha256` is the identity of this projection version. A version that is not published is refused.",
      ],
    },
    projectionArguments,
    ({ type, version }) => ({
      request: `GET /v1/projections/${type}/${version}`,
      waits: false,
      answer: () => published.projection(type, String(version)),
    }),
  );
  const spec = tool(
    {
      name: "spec",
      title: "Envelope specification",
      description:
        "Reads what is signed and how, with every payload type, its members and its signer: all that checking a document takes.",
      notes: ["This is the same for every reader and changes only with a release."],
    },
    specArguments,
    ({ format = null }) => ({
      request: `GET /v1/envelope-specification${format === null ? "" : `?format=${format}`}`,
      waits: false,
      answer: () => published.envelopeSpecification(format),
    }),
  );
  const vocabularies = tool(
    {
      name: "vocabularies",
      title: "Controlled vocabularies",
      description:
        "Reads one controlled vocabulary, or the index of all of them: taxonomy, countries, subdivisions, currencies, time zones, languages.",
      notes: ["A version of a vocabulary never changes."],
    },
    vocabularyArguments,
    ({ name, version }) => {
      if (name === undefined)
        return { request: "GET /v1/vocabularies", waits: false, answer: () => published.vocabularies() };
      const query = version === undefined ? "" : `?version=${version}`;
      return {
        request: `GET /v1/vocabularies/${name}${query}`,
        waits: false,
        answer: () => published.vocabulary(name, version === undefined ? null : String(version)),
      };
    },
  );
  return [projection, spec, vocabularies];
}

function logTools({ log }: PublicToolDeps): readonly PublicTool[] {
  const checkpoint = tool(
    {
      name: "log_checkpoint",
      title: "Checkpoint of the transparency log",
      description:
        "Reads the latest signed checkpoint of the transparency log: origin, size, root, signatures.",
      notes: [
        "Keep it: a later checkpoint and a proof of consistency show that the log only grew in between.",
      ],
    },
    noArguments,
    () => ({ request: "GET /v1/log/checkpoint", waits: false, answer: () => log.checkpoint() }),
  );
  const proof = tool(
    {
      name: "log_proof",
      title: "Proof from the transparency log",
      description:
        "Reads a proof that the transparency log contains a leaf (`leaf`; of a receipt with `region` and `name`), or that it only grew between two sizes (`first` and `second`).",
      notes: [
        "A proof shows something only together with a checkpoint whose signature you checked.",
        "Leaves are sequenced hourly and batches of receipts each minute, so a new leaf may not be there yet.",
      ],
    },
    proofArguments,
    ({ leaf, region = null, name = null, first, second }) => {
      if (leaf !== undefined) {
        const query = queryOf({ leaf, region, name });
        return {
          request: `GET /v1/log/inclusion?${query}`,
          waits: false,
          answer: () => log.inclusion({ leaf, region, name }),
        };
      }
      const sizes = { first: sizeOf(first), second: sizeOf(second) };
      const request = `GET /v1/log/consistency?${queryOf(sizes)}`;
      return { request, waits: false, answer: () => log.consistency(sizes) };
    },
  );
  return [checkpoint, proof];
}

const sizeOf = (size: number | undefined): string | null => (size === undefined ? null : String(size));

function queryOf(parameters: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === null ? [] : [[name, value]],
  );
  return new URLSearchParams(given).toString();
}

/** The refusal of a call; null for an answer. */
export function refusalOf({ outcome }: ToolAnswer): Refused | null {
  return isRefused(outcome) ? outcome : null;
}
