// The routes of the transparency log: the reads that the specification names, and the log as C2SP tlog-tiles below the
// verification host's own address, so that any client of such logs follows it.

import { anyText, described, hash } from "../../protocol/shape.ts";
import { consistencyAnswer, inclusionAnswer, witnessesAnswer } from "../../protocol/wire/receipts.ts";
import type { LogReads } from "../../service/log/log-reads.ts";
import { parameter, publicRead } from "../public-read.ts";
import { answeredWith, inPath, inQuery, type Route, type RouteDoc } from "../route.ts";

const note = described(anyText, "A signed note (C2SP signed-note, tlog-checkpoint).");
const octets = { description: "The tile", body: anyText, mediaType: "application/octet-stream" } as const;

export const checkpointDoc: RouteDoc = {
  summary: "Latest checkpoint of the transparency log",
  description: "The same note as at `/checkpoint`: origin, tree size, base64 root hash, signatures.",
  answers: {
    200: { description: "Signed note", body: note, mediaType: "text/plain", headers: ["Cache-Control"] },
  },
  problems: ["not_found"],
};

const inclusionDoc: RouteDoc = {
  summary: "Proof that the transparency log contains a leaf",
  description:
    "A receipt is named by the SHA-256 of its envelope's text as it was served, with its region and its batch: it is proven in two levels.",
  parameters: [
    inQuery("leaf", "What the leaf is about.", hash.schema, "required"),
    inQuery("region", "Of a receipt: its region.", { type: "string", pattern: "^[a-z]+-[a-z]+[0-9]+$" }),
    inQuery(
      "name",
      "Of a receipt: its batch, or only the minute in which it was served, as YYYYMMDDHHMM in UTC.",
      { type: "string", pattern: "^[0-9]{12}(?:-[A-Za-z0-9_-]{1,64})?$" },
    ),
  ],
  answers: answeredWith("The proof (RFC 9162 §2.1.3)", inclusionAnswer, ["Cache-Control"]),
  problems: ["not_found", "request_invalid"],
};

const consistencyDoc: RouteDoc = {
  summary: "Proof that the transparency log only grew between two sizes",
  parameters: [
    inQuery("first", "The earlier size.", { type: "integer", minimum: 1 }, "required"),
    inQuery("second", "The later size; by default the latest.", { type: "integer", minimum: 1 }),
  ],
  answers: answeredWith("The proof (RFC 9162 §2.1.4)", consistencyAnswer, ["Cache-Control"]),
  problems: ["not_found", "request_invalid"],
};

const witnessesDoc: RouteDoc = {
  summary: "Policy of witnesses of the transparency log",
  description:
    "Whose cosignatures a checkpoint has before it is served (C2SP tlog-cosignature). Who believes which witness is for each reader to decide.",
  answers: answeredWith("The policy", witnessesAnswer, ["Cache-Control"]),
  problems: [],
};

const policyDoc: RouteDoc = {
  summary: "Policy file of the transparency log",
  description:
    "C2SP tlog-policy: the log's keys under its origin, and the witnesses with how many of them have to cosign. Programs that were written for other logs take it as it is.",
  answers: {
    200: {
      description: "The policy file",
      body: described(anyText, "Lines of `log`, `witness`, `group` and `quorum`."),
      mediaType: "text/plain",
      headers: ["Cache-Control"],
    },
  },
  problems: [],
};

const tileDoc: RouteDoc = {
  summary: "A tile of the transparency log, or a bundle of its entries",
  description:
    "C2SP tlog-tiles: `tile/<level>/<index>` and `tile/entries/<index>`, with `.p/<width>` for a partial one. It never changes.",
  parameters: [inPath("path", "The path below `tile/`; it contains slashes.", { type: "string" })],
  answers: { 200: { ...octets, headers: ["Cache-Control"] } },
  problems: ["not_found"],
};

/** The public log: checkpoint, tiles (C2SP tlog-tiles), proofs and witnesses. */
export function logRoutes(log: LogReads): readonly Route[] {
  return [
    publicRead("/v1/log/checkpoint", checkpointDoc, [], () => log.checkpoint()),
    publicRead("/checkpoint", checkpointDoc, [], () => log.checkpoint()),
    publicRead("/v1/log/witnesses", witnessesDoc, [], () => log.witnesses()),
    publicRead("/v1/log/policy", policyDoc, [], () => log.policyFile()),
    publicRead("/v1/log/inclusion", inclusionDoc, ["leaf", "region", "name"], (_request, query) =>
      log.inclusion(query),
    ),
    publicRead("/v1/log/consistency", consistencyDoc, ["first", "second"], (_request, query) =>
      log.consistency(query),
    ),
    publicRead("/tile/*", tileDoc, [], (request) => log.object(`tile/${parameter(request, "*")}`)),
  ];
}
