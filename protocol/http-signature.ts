// HTTP Message Signatures (RFC 9421) as narrowed by the specification («Authentication»): exact components, exact parameters
// in their order, and the algorithm taken from the registered key, never from the request.

import { parseDictionary, serializeInnerList } from "structured-headers";
import { parseBase64, sha256 as portableSha256, type Sha256, toBase64 } from "./bytes.ts";
import { createdAheadMaxSeconds, signatureLifeMaxSeconds } from "./limits.ts";
import { ok, type Result, refuse } from "./result.ts";

export const signatureTags = ["svc-retrieval", "svc-push", "svc-business-read"] as const;

export type SignatureTag = (typeof signatureTags)[number];

/** Label of a request's signature (specification, «Authentication»); others may be present under other labels. */
export const signatureLabel = "sig1";

/**
 * Maximum length of Signature-Input and of Signature, in characters; reading longer ones would cost more than the rest of
 * the request.
 */
export const signatureFieldLengthMax = 8_192;

export interface SignedRequestParts {
  /** In upper case, as sent. */
  readonly method: string;
  /** The host addressed, in lower case, without a default port. */
  readonly authority: string;
  /** The path as sent; `/` when empty. */
  readonly path: string;
  /** The query including its leading `?`; null when there is no query string. */
  readonly query: string | null;
  /** The value of the Content-Digest header; null when there is no body. */
  readonly contentDigest: string | null;
}

export interface SignatureParams {
  /** Unix seconds. */
  readonly created: number;
  readonly expires: number;
  readonly nonce: string;
  readonly keyid: string;
  readonly tag: string;
}

/** The components that a request's signature covers, in order. */
export function coveredComponents(parts: SignedRequestParts): readonly string[] {
  const covered = ["@method", "@authority", "@path"];
  if (parts.query !== null) covered.push("@query");
  if (parts.contentDigest !== null) covered.push("content-digest");
  return covered;
}

/** The signature parameters as RFC 9421 §2.3 writes them: `("@method" …);created=…;expires=…;nonce="…";keyid="…";tag="…"`. */
export function serializeParams(covered: readonly string[], params: SignatureParams): string {
  const components = covered.map((name) => `"${name}"`).join(" ");
  const { created, expires, nonce, keyid, tag } = params;
  return `(${components});created=${created};expires=${expires};nonce="${nonce}";keyid="${keyid}";tag="${tag}"`;
}

/** The signature base (RFC 9421 §2.5) over the components that the request must cover. */
export function signatureBase(parts: SignedRequestParts, paramsText: string): string {
  let base = `"@method": ${parts.method}\n"@authority": ${parts.authority}\n"@path": ${parts.path}\n`;
  if (parts.query !== null) base += `"@query": ${parts.query}\n`;
  if (parts.contentDigest !== null) base += `"content-digest": ${parts.contentDigest}\n`;
  return `${base}"@signature-params": ${paramsText}`;
}

export interface ReceivedSignature {
  readonly label: string;
  readonly params: SignatureParams;
  readonly covered: readonly string[];
  /** Exactly the contents of the last line of the signature base. */
  readonly paramsText: string;
  readonly signature: Uint8Array;
}

type ParseFault = "signature_missing" | "signature_invalid";

const usualInput =
  /^([a-z*][a-z0-9_.*-]*)=(\(((?:"[a-z@-]+"(?: "[a-z@-]+")*)?)\);created=(0|[1-9][0-9]{0,14});expires=(0|[1-9][0-9]{0,14});nonce="([\x20-\x21\x23-\x5b\x5d-\x7e]*)";keyid="([\x20-\x21\x23-\x5b\x5d-\x7e]*)";tag="([\x20-\x21\x23-\x5b\x5d-\x7e]*)")$/;
const usualSignature = /^([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]+=*):$/;

/**
 * Performs check 1 and the parts of check 2 that the headers alone decide: both headers present, exactly one signature with
 * an accepted tag, its label `sig1`, its parameters exactly those of the specification in their order, and a nonce of 16 to
 * 128 printable characters.
 */
export function parseSignatureHeaders(headers: {
  readonly signatureInput: string | null;
  readonly signature: string | null;
  readonly acceptedTags: readonly string[];
}): Result<ReceivedSignature, ParseFault> {
  const { signatureInput, signature, acceptedTags } = headers;
  if (!signatureInput || !signature)
    return refuse("signature_missing", "Signature-Input and Signature are required (RFC 9421).");
  if (Math.max(signatureInput.length, signature.length) > signatureFieldLengthMax)
    return invalid(
      `Signature-Input and Signature must have at most ${signatureFieldLengthMax} characters each.`,
    );
  const usual = parseUsual(signatureInput, signature);
  const candidates = usual ? [usual] : parseGeneral(signatureInput, signature);
  if (candidates === null)
    return invalid("Signature-Input or Signature is not a dictionary (RFC 8941 §3.2).");
  const tagged = candidates.filter((candidate) => acceptedTags.includes(candidate.params.tag));
  const [received] = tagged;
  if (!received || tagged.length > 1) {
    return invalid(`Exactly one signature must carry the tag ${acceptedTags.join(" or ")}.`);
  }
  if (received.label !== signatureLabel) return invalid(`The signature's label must be ${signatureLabel}.`);
  if (received.fault !== null) return invalid(received.fault);
  if (!/^[\x21-\x7e]{16,128}$/.test(received.params.nonce))
    return invalid("nonce must have 16 to 128 printable characters.");
  const { fault: _none, ...value } = received;
  return ok(value);
}

function invalid(detail: string): Result<never, ParseFault> {
  return refuse("signature_invalid", detail);
}

interface Candidate extends ReceivedSignature {
  readonly fault: string | null;
}

/** Fast path for the form that almost every request has, without a general parser. */
function parseUsual(signatureInput: string, signature: string): Candidate | null {
  const input = usualInput.exec(signatureInput);
  const value = input && usualSignature.exec(signature);
  if (!input || !value || input[1] !== value[1]) return null;
  const [, label = "", paramsText = "", components = "", created, expires, nonce = "", keyid = "", tag = ""] =
    input;
  const bytes = parseBase64(value[2] ?? "");
  if (!bytes) return null;
  return {
    label,
    params: { created: Number(created), expires: Number(expires), nonce, keyid, tag },
    covered: components === "" ? [] : components.slice(1, -1).split('" "'),
    paramsText,
    signature: bytes,
    fault: null,
  };
}

const paramNames = ["created", "expires", "nonce", "keyid", "tag"];

function parseGeneral(signatureInput: string, signature: string): Candidate[] | null {
  try {
    const inputs = parseDictionary(signatureInput);
    const signatures = parseDictionary(signature);
    const candidates: Candidate[] = [];
    for (const [label, member] of inputs) {
      const tag = member[1].get("tag");
      if (typeof tag !== "string") continue;
      const found = generalCandidate(label, member as InnerListMember, signatures.get(label)?.[0]);
      candidates.push(hasDecimal(signatureInput, label) ? { ...found, fault: notIntegers } : found);
    }
    return candidates;
  } catch {
    return null;
  }
}

const notIntegers = "created and expires must be Integers.";

/** A Decimal such as `1.0` is parsed to the number of an Integer, which `created` and `expires` have to be (RFC 9421 §2.3). */
function hasDecimal(signatureInput: string, label: string): boolean {
  const members = signatureInput.replaceAll(/"(?:[^"\\]|\\.)*"/g, "").split(",");
  return members.some(
    (member) =>
      member.trimStart().startsWith(`${label}=`) && /;\s*(?:created|expires)=-?[0-9]+\./.test(member),
  );
}

type InnerListMember = Parameters<typeof serializeInnerList>[0];

function generalCandidate(label: string, member: InnerListMember, signature: unknown): Candidate {
  const [items, params] = member;
  const value = (name: string): unknown => params.get(name);
  const text = (name: string): string => (typeof value(name) === "string" ? (value(name) as string) : "");
  const number = (name: string): number =>
    typeof value(name) === "number" ? (value(name) as number) : Number.NaN;
  const isList = Array.isArray(items);
  const covered = isList
    ? items.map(([name, itemParams]) => (typeof name === "string" && itemParams.size === 0 ? name : ""))
    : [];
  const hasExactParams =
    [...params.keys()].join() === paramNames.join() &&
    ["created", "expires"].every((name) => Number.isInteger(value(name))) &&
    ["nonce", "keyid", "tag"].every((name) => typeof value(name) === "string");
  const bytes = signature instanceof ArrayBuffer ? new Uint8Array(signature) : null;
  const fault = !isList
    ? "The member of Signature-Input must be an inner list of components."
    : !hasExactParams
      ? `The parameters must be exactly ${paramNames.join(", ")}, in this order.`
      : bytes === null
        ? "Signature must have a byte sequence under the same label."
        : null;
  return {
    label,
    params: {
      created: number("created"),
      expires: number("expires"),
      nonce: text("nonce"),
      keyid: text("keyid"),
      tag: text("tag"),
    },
    covered,
    paramsText: isList ? serializeInnerList(member) : "",
    signature: bytes ?? new Uint8Array(),
    fault,
  };
}

/** Whether the signature covers exactly the required components in their order (the rest of check 2). */
export function coversExactly(received: ReceivedSignature, parts: SignedRequestParts): boolean {
  const required = coveredComponents(parts);
  return (
    received.covered.length === required.length &&
    required.every((name, index) => received.covered[index] === name)
  );
}

/**
 * Performs check 3: `created` at most 30 seconds in the future, `expires` not in the past and 1 to 300 seconds after
 * `created`. Times are Unix seconds.
 */
export function checkSignatureTimes(
  params: SignatureParams,
  nowSeconds: number,
): Result<null, "signature_expired"> {
  const life = params.expires - params.created;
  if (!(life >= 1 && life <= signatureLifeMaxSeconds)) {
    return refuse(
      "signature_expired",
      `expires must be 1 to ${signatureLifeMaxSeconds} seconds after created.`,
    );
  }
  if (params.created > nowSeconds + createdAheadMaxSeconds) {
    return refuse(
      "signature_expired",
      `created is ${params.created - nowSeconds} seconds in the future, where ${createdAheadMaxSeconds} are allowed: the clock that signed it is ahead.`,
    );
  }
  return params.expires > nowSeconds
    ? ok(null)
    : refuse(
        "signature_expired",
        `The signature expired ${nowSeconds - params.expires} seconds ago. Sign the request again, or set the clock that signed it if it is slow.`,
      );
}

/** The two headers of a signed request (RFC 9421 §4). */
export function signatureHeaders(
  paramsText: string,
  signature: Uint8Array,
): { readonly "signature-input": string; readonly signature: string } {
  return {
    "signature-input": `${signatureLabel}=${paramsText}`,
    signature: `${signatureLabel}=:${toBase64(signature)}:`,
  };
}

// Content-Digest (RFC 9530 §2) with SHA-256.

/** Formats `sha-256=:<base64>:` for the exact body bytes (RFC 9530 §2). */
export function contentDigest(body: Uint8Array, sha256: Sha256 = portableSha256): string {
  return `sha-256=:${toBase64(sha256(body))}:`;
}

/** Longer fields are not examined: reading them would cost more than everything else in a request. */
const fieldLengthMax = 8_192;
const usualForm = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;

/**
 * The 32 bytes of the header's sha-256 member; null when there is none or the header is not a dictionary (RFC 8941 §3.2).
 * Other algorithms are ignored.
 */
export function parseContentDigest(header: string): Uint8Array | null {
  const usual = usualForm.exec(header);
  if (usual?.[1]) return parseBase64(usual[1]);
  if (header.length > fieldLengthMax) return null;
  try {
    const value = parseDictionary(header).get("sha-256")?.[0];
    const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : null;
    return bytes?.length === 32 ? bytes : null;
  } catch {
    return null;
  }
}
