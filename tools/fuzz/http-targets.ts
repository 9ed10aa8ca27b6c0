// Header fields of a request, and addresses.

import { BlockList, isIP } from "node:net";
import { parseDictionary, serializeInnerList } from "structured-headers";
import { nativeCrypto } from "../../crypto/native.ts";
import { createSigner, generatePrivateJwk, publicHalfOf } from "../../crypto/private-jwk.ts";
import {
  contentDigest,
  parseContentDigest,
  parseSignatureHeaders,
  signatureTags,
} from "../../protocol/http-signature.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import { formatSourceLine, parseSourceLine } from "../../protocol/source-line.ts";
import {
  issueBearer,
  issueGrant,
  parseBearer,
  parseGrant,
  type SandboxGrant,
} from "../../service/register/sandbox-grant.ts";
import { addressAllowed } from "../../service/register/source-address.ts";
import { type FuzzTarget, must, mustEqual, outcomeOf } from "./target.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
/** Header fields arrive as Latin-1. */
const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

const params = ';created=1767225600;expires=1767225660;nonce="abcdefghijklmnop";keyid="k";tag="svc-push"';
const covered = '("@method" "@authority" "@path" "content-digest")';

/** Signature-Input and Signature, separated by a line feed. */
const signatureHeaders: FuzzTarget = {
  name: "signature-headers",
  seeds: [
    utf8(`sig1=${covered}${params}\nsig1=:AAAA:`),
    utf8(
      `sig1=("@method" "@authority" "@path" "@query")${params}, other=();tag="x"\nother=:AAAA:, sig1=:BBBB:`,
    ),
    utf8(`sig1=("@method";req "@path")${params};alg="ed25519"\nsig1=:AAAA:;x=1`),
  ],
  words: [
    "sig1",
    "sig2",
    ";req",
    ";sf",
    '"@query"',
    "created=",
    "expires=-1",
    ";alg=?1",
    "()",
    ":AA==:",
    ", ",
    "\n",
    '"',
    "@1767225600",
    "svc-retrieval",
    "=?0",
    "1.5",
    '%"x"',
  ],
  check: (input) => {
    const [signatureInput = "", signature = ""] = latin1(input).split("\n");
    const parsed = parseSignatureHeaders({ signatureInput, signature, acceptedTags: signatureTags });
    if (!parsed.ok) return outcomeOf(parsed);
    const { label, params: read, paramsText, covered: names } = parsed.value;
    // The oracle: an independent parser of RFC 8941.
    const member = parseDictionary(signatureInput).get(label);
    must(member !== undefined && Array.isArray(member[0]), "the label is not in the dictionary");
    const list = member as Parameters<typeof serializeInnerList>[0];
    mustEqual(serializeInnerList(list), paramsText, "the last line of the signature base");
    mustEqual([...list[1].keys()], ["created", "expires", "nonce", "keyid", "tag"], "the parameters");
    mustEqual(Object.fromEntries(list[1]), { ...read }, "the parameters' values");
    // A component that is not a plain name covers nothing, and is read as the empty one.
    const components = list[0].map(([name, own]) => (typeof name === "string" && own.size === 0 ? name : ""));
    mustEqual(components, names, "the components");
    must(
      parseDictionary(signature).get(label)?.[0] instanceof ArrayBuffer,
      "the signature is no byte sequence",
    );
    return `ok ${names.length}`;
  },
};

const digests: FuzzTarget = {
  name: "content-digest",
  seeds: [utf8(contentDigest(utf8("{}"))), utf8("sha-512=:AAAA:"), utf8("sha-256=:AAAA:, sha-512=:AAAA:")],
  words: ["sha-256", "=:", ":", ",", "==", "?1", '"'],
  check: (input) => {
    const text = latin1(input);
    const bytes = parseContentDigest(text);
    if (bytes === null) return "refused";
    mustEqual(bytes.length, 32, "bytes of a SHA-256");
    const member = parseDictionary(text).get("sha-256")?.[0];
    must(member instanceof ArrayBuffer, "no byte sequence");
    mustEqual([...new Uint8Array(member as ArrayBuffer)], [...bytes], "the digest");
    return "ok";
  },
};

const sourceLines: FuzzTarget = {
  name: "source-line",
  seeds: [
    utf8(
      formatSourceLine({
        record_id: `svc_${"a".repeat(26)}`,
        origin: `sha256:${"0".repeat(64)}`,
        cert_id: `sha256:${"1".repeat(64)}`,
        served_at: "2026-03-05T10:00:00.000Z",
        verify_url: "https://verify.example",
      }),
    ),
  ],
  words: [
    "svc-source/1",
    " record=",
    " origin=",
    " cert=",
    " served=",
    " verify=",
    "%3A",
    "sha256:",
    "?",
    "&",
    "  ",
  ],
  check: (input) => {
    const text = new TextDecoder().decode(input);
    const parsed = parseSourceLine(text);
    if (parsed.ok) mustEqual(formatSourceLine(parsed.value), text, "the line, written again");
    return outcomeOf(parsed);
  },
};

/** Addresses of an allow-list, one per line, the caller's first. */
const addresses: FuzzTarget = {
  name: "source-address",
  seeds: [
    "10.1.2.3\n10.0.0.0/8",
    "2001:db8::1\n2001:db8::/32\n10.0.0.0/8",
    "::ffff:10.1.2.3\n10.0.0.0/8\n::/0",
    "192.0.2.1\n192.0.2.1/32",
  ].map(utf8),
  words: ["\n", "/0", "/33", "/128", "::", "::ffff:", "0x0a", "010", ".0", "AS64500", "%eth0", "fe80::1"],
  check: (input) => {
    const [address = "", ...list] = new TextDecoder().decode(input).split("\n");
    const allowed = addressAllowed(address, list);
    must(typeof allowed === "boolean", "no answer");
    if (!allowed) return `refused ${isIP(address)}`;
    must(isIP(address) !== 0, "something that is no address was allowed");
    must(
      list.some((each) => platformAllows(address, each)),
      "the platform's own list allows it nowhere",
    );
    return "allowed";
  },
};

function platformAllows(address: string, range: string): boolean {
  const [base = "", bits] = range.split("/");
  const family = isIP(base);
  if (family === 0) return false;
  if (bits !== undefined && !/^[0-9]{1,3}$/.test(bits)) return false;
  if (Number(bits) > (family === 4 ? 32 : 128)) return false;
  const blocks = new BlockList();
  const type = family === 4 ? "ipv4" : "ipv6";
  if (bits === undefined) blocks.addAddress(base, type);
  else blocks.addSubnet(base, Number(bits), type);
  return blocks.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}

async function tokens(): Promise<FuzzTarget> {
  const key = generatePrivateJwk("Ed25519");
  const signer = createSigner(key);
  const own = publicHalfOf(generatePrivateJwk("ES256"));
  const grantKey = publicHalfOf(key);
  const trust = { keyId: thumbprint(own), grantKey, crypto: nativeCrypto };
  const grant: SandboxGrant = {
    v: 1,
    environment: "sandbox",
    party: { uuid: "4a6e81c3-d790-4b25-8e1f-c03b5d927f60", kind: "business", legal_name: "A", country: "US" },
    role: "integration",
    public_key: own,
    mandate_id: null,
  };
  const text = await issueGrant(grant, signer);
  const bearer = `Bearer ${await issueBearer(trust.keyId, 0, signer)}`;
  return {
    name: "sandbox-tokens",
    seeds: [utf8(text), utf8(bearer)],
    words: [".", "svc_sbxk1", "svc_sbxb1", "Bearer ", "=", "-", "_", "AAAA"],
    check: (input) => {
      const read = latin1(input);
      const asGrant = parseGrant(read, trust);
      if (asGrant.ok) mustEqual(read, text, "a grant that this sandbox did not write");
      const asBearer = parseBearer(read, { nowMs: 1, grantKey, crypto: nativeCrypto });
      if (asBearer.ok) must(read.slice(6) === bearer.slice(6), "a token that this sandbox did not write");
      return `${outcomeOf(asGrant)} ${outcomeOf(asBearer)}`;
    },
  };
}

export const httpTargets: readonly FuzzTarget[] = [
  signatureHeaders,
  digests,
  sourceLines,
  addresses,
  await tokens(),
];
