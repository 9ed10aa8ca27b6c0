// A document that is the same for all readers: one buffer in memory, however many are being sent, and a tag by which a reader
// asks whether it has changed (RFC 9110 §8.8.3).

import { utf8 } from "../protocol/bytes.ts";
import { hashOf, type Sha256 } from "../protocol/hash.ts";
import { problem } from "../protocol/problem.ts";
import { type Answer, type Refused, refused } from "./answer.ts";

export interface PublicDocument {
  readonly bytes: Uint8Array;
  readonly hash: string;
  readonly mediaType: string;
  readonly cacheControl: string;
}

export interface DocumentForm {
  /** The media type (default: JSON). */
  readonly mediaType?: string;
  readonly maxAgeSeconds: number;
}

/** Answers with the document; `ifNoneMatch` is that field of the request, null without one. */
export function answerDocument(document: PublicDocument, ifNoneMatch: string | null): Answer {
  const headers = { etag: `"${document.hash}"`, "cache-control": document.cacheControl };
  if (isHeld(document, ifNoneMatch)) return { kind: "answer", status: 304, headers, body: "" };
  const described = { "content-type": document.mediaType, ...headers };
  return { kind: "answer", status: 200, headers: described, body: document.bytes };
}

/** Compared weakly, as RFC 9110 §13.1.2 says. */
function isHeld({ hash }: PublicDocument, ifNoneMatch: string | null): boolean {
  const tags = ifNoneMatch?.split(",").map((each) => each.trim().replace(/^W\//, "")) ?? [];
  return tags.includes(`"${hash}"`) || (tags.length === 1 && tags[0] === "*");
}

/** Refuses a `format` of a document that is answered as JSON or as a text. */
export function unknownFormat(): Refused {
  const allowed = ["json", "markdown"];
  return refused(
    problem("request_invalid", "format is json or markdown.", { pointer: "/query/format", allowed }),
  );
}

/** Makes a document of this release when it is first asked for; `name` tells it from all others. */
export type MakeDocument = (name: string, make: () => unknown, form: DocumentForm) => PublicDocument;

/** Keeps every document made: callers only name those that exist, so their number is that of a release. */
export function releaseDocuments(sha256: Sha256): MakeDocument {
  const known = new Map<string, PublicDocument>();
  return (name, make, form) => {
    const document = known.get(name) ?? makeDocument(make(), form, sha256);
    known.set(name, document);
    return document;
  };
}

/** A text as it is, anything else as JSON. */
export function makeDocument(
  content: unknown,
  { mediaType, maxAgeSeconds }: DocumentForm,
  sha256: Sha256,
): PublicDocument {
  const bytes = utf8(typeof content === "string" ? content : JSON.stringify(content));
  return {
    bytes,
    hash: hashOf(bytes, sha256),
    mediaType: mediaType ?? "application/json",
    cacheControl: `public, max-age=${maxAgeSeconds}`,
  };
}
