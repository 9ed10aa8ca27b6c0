// The eight tools of the hosted public tool server (specification, «D. Tool server»): what anyone can check without an
// account, asked of the same services as the public verification API.
//   P1. An answer is the body that the API has for the same question, byte for byte, and so is a refusal.
//   P2. A call waits for its turn in the same queue as the API's own request: neither way is faster than the other.
//   P3. Nothing of a record, a business or a caller is in a description or a note.

import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { verifyBytesMax } from "../../protocol/limits.ts";
import { requestProblem } from "../../protocol/problem.ts";
import { vocabularyNames } from "../../protocol/records/vocabularies/vocabulary-document.ts";
import {
  described,
  hash,
  integer,
  matching,
  type Of,
  object,
  oneOf,
  optional,
  region,
  ruled,
  type Shape,
  uuid,
} from "../../protocol/shape.ts";
import { verifyRequest } from "../../protocol/wire/verify.ts";
import { isRefused, type Outcome, type Refused, refused, refusedWith } from "../../service/answer.ts";
import type { LogReads } from "../../service/log/log-reads.ts";
import {
  answerDocument,
  type PublicDocument,
  type PublishedReads,
} from "../../service/verification/published-reads.ts";
import type { Verification } from "../../service/verification/verification.ts";
import type { Verify } from "../../service/verification/verify.ts";

// The arguments of the public tools: each shape judges a call and is published as the tool's JSON Schema, without its rules between
// members (protocol/tool-schema.ts).

export const certificateArguments = object({
  uuid: described(uuid, "UUID of the business or AI company."),
});

const ofParty: readonly string[] = ["business", "custody"];

export const keysArguments = ruled(
  object({
    of: described(
      oneOf(["service", "ai_companies", "business", "custody"]),
      "`service`: the service's own signed key set. `ai_companies`: the directory of those that chose to be listed. `business`: the published keys of one business. `custody`: who holds its keys.",
    ),
    uuid: optional(described(uuid, "UUID of the business, for `business` and `custody` only.")),
  }),
  ({ of, uuid: named }) => {
    if (ofParty.includes(of) === (named !== undefined)) return null;
    const detail = ofParty.includes(of)
      ? `uuid is required: give the business whose keys are meant by ${of}.`
      : `uuid must be left out: ${of} is not about one business.`;
    return { pointer: "/uuid", detail };
  },
);

export const projectionArguments = object({
  type: described(matching(/^[a-z_]{1,32}$/, "a record type such as products"), "Record type."),
  version: described(integer({ min: 1, max: 999_999 }), "Version: the number in `adl_proj`."),
});

export const specArguments = object({
  format: described(
    optional(oneOf(["json", "markdown"])),
    "`markdown` for a text to read; JSON if left out.",
  ),
});

export const noArguments = object({});

const size = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

export const proofArguments = ruled(
  object({
    leaf: described(
      optional(hash),
      "For a proof that the log contains a leaf: what the leaf is about. Of a receipt, the SHA-256 of its envelope's text.",
    ),
    region: optional(described(region, "With `leaf` of a receipt: its region.")),
    name: described(
      optional(
        matching(
          /^[0-9]{12}(?:-[A-Za-z0-9_-]{1,64})?$/,
          "a batch of receipts, or its minute as YYYYMMDDHHMM",
        ),
      ),
      "With `leaf` of a receipt: its batch, or only the minute in which it was served, as YYYYMMDDHHMM in UTC.",
    ),
    first: optional(described(size, "For a proof that the log only grew: the earlier size, without `leaf`.")),
    second: optional(described(size, "With `first`: the later size; the latest if left out.")),
  }),
  ({ leaf, region: place, name, first, second }) => {
    if (leaf === undefined && first === undefined)
      return { pointer: "", detail: "Give leaf for a proof of inclusion, or first for one of consistency." };
    const isMixed =
      leaf === undefined
        ? place !== undefined || name !== undefined
        : first !== undefined || second !== undefined;
    if (isMixed)
      return {
        pointer: "",
        detail: "leaf goes with region and name, and first with second: give one of the two.",
      };
    return (place === undefined) === (name === undefined)
      ? null
      : { pointer: place === undefined ? "/region" : "/name", detail: "region and name go together." };
  },
);

export const vocabularyArguments = ruled(
  object({
    name: optional(described(oneOf(vocabularyNames), "Vocabulary; the index of all of them if left out.")),
    version: described(
      optional(integer({ min: 1, max: 999_999_999 })),
      "With `name`: the latest version if left out.",
    ),
  }),
  ({ name, version }) =>
    name === undefined && version !== undefined
      ? { pointer: "/name", detail: "name is required with version." }
      : null,
);

// The tools themselves.

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

/** The tools of the hosted server, which need no account (specification, «D. Tool server»). */
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
    verifyRequest,
    (given, { text }) => ({
      request: "POST /v1/verify",
      waits: true,
      answer: () => {
        const body = new TextEncoder().encode(text);
        if (body.length <= verifyBytesMax) return verify(given, body);
        return refusedWith("record_too_large", `The body is at most ${verifyBytesMax} bytes.`);
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
