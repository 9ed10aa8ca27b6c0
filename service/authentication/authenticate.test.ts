import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SigningKey } from "../../client/signing-key.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { problemCodes } from "../../protocol/problem.ts";
import {
  accepted,
  authenticate,
  authority,
  codeOf,
  companyUuid,
  entry,
  keyFacts,
  newKey,
  nextNonce,
  openRegion,
  registeredKey,
  signedHead,
  startMs,
  type TestRegion,
} from "../authentication.fixture.ts";
import type { RequestHead } from "./authenticate.ts";

let region: TestRegion;
let key: SigningKey;

beforeEach(async () => {
  region = await openRegion("production");
  key = await registeredKey(region, "retrieval");
});
afterEach(() => region.close());

const body = utf8('{"a":1}');
const now = startMs / 1_000;

describe("a request that passes every check", () => {
  it.each(["Ed25519", "ES256"] as const)(
    "is its key's party's, whatever the key's algorithm: %s",
    async (algorithm) => {
      const signer = await registeredKey(region, "retrieval", {}, algorithm);
      const outcome = await authenticate(region, await signedHead({ key: signer, body }), body);
      expect(outcome).toMatchObject({
        kind: "authenticated",
        caller: { key: { key_id: signer.keyId }, party: { uuid: companyUuid } },
      });
    },
  );

  it("claims its nonce with its key in its region, until the signature has expired", async () => {
    const nonce = nextNonce();
    await authenticate(region, await signedHead({ key, nonce, lifetimeSeconds: 120 }));
    expect(region.claims).toEqual([
      { actor: `integration-key/${key.keyId}@eu-west1`, nonce, expiresMs: startMs + 120_000 },
    ]);
  });

  it.each([
    ["a query", `https://${authority}/v1/pushes/x?outcome=held&cursor=%2F`],
    ["an empty path", `https://${authority}`],
    ["a default port", `https://${authority}:443/v1/search`],
  ])("may have %s", async (_name, url) => {
    expect(await codeOf(authenticate(region, await signedHead({ key, url })))).toBe("authenticated");
  });

  it("is addressed to this host in whatever case and with or without the default port", async () => {
    const head = await signedHead({ key });
    expect(await codeOf(authenticate(region, { ...head, host: "API.svc.test:443" }))).toBe("authenticated");
  });

  it("names the hash of exactly the base that was signed", async () => {
    const first = await authenticate(region, await signedHead({ key, nonce: "the-same-nonce-1" }));
    const second = await authenticate(region, await signedHead({ key, nonce: "the-same-nonce-2" }));
    if (first.kind === "problem" || second.kind === "problem") throw new Error("refused");
    expect(first.caller.requestHash).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(first.caller.requestHash).not.toBe(second.caller.requestHash);
  });
});

const withSignature = (head: RequestHead, change: (bytes: Uint8Array) => void): RequestHead => {
  const bytes = Uint8Array.fromBase64(head.signature?.slice("sig1=:".length, -1) ?? "");
  change(bytes);
  return { ...head, signature: `sig1=:${bytes.toBase64()}:` };
};

/** One line for every way to fail that the specification names («Authentication», checks 1 to 7). */
const faults: readonly (readonly [string, string, () => Promise<readonly [RequestHead, Uint8Array]>])[] = [
  [
    "no Signature",
    "signature_missing",
    async () => [{ ...(await signedHead({ key })), signature: null }, new Uint8Array()],
  ],
  [
    "no Signature-Input",
    "signature_missing",
    async () => [{ ...(await signedHead({ key })), signatureInput: null }, new Uint8Array()],
  ],
  [
    "a tag that is not accepted here",
    "signature_invalid",
    async () => [await signedHead({ key, tag: "svc-push" }), new Uint8Array()],
  ],
  [
    "two signatures with the tag",
    "signature_invalid",
    async () => {
      const head = await signedHead({ key });
      return [
        {
          ...head,
          signatureInput: `${head.signatureInput}, ${head.signatureInput?.replace("sig1", "sig2")}`,
          signature: `${head.signature}, ${head.signature?.replace("sig1", "sig2")}`,
        },
        new Uint8Array(),
      ];
    },
  ],
  [
    "parameters in another order",
    "signature_invalid",
    async () => {
      const head = await signedHead({ key });
      const input =
        head.signatureInput?.replace(/;created=(\d+);expires=(\d+)/, ";expires=$2;created=$1") ?? null;
      return [{ ...head, signatureInput: input }, new Uint8Array()];
    },
  ],
  [
    "a further parameter",
    "signature_invalid",
    async () => {
      const head = await signedHead({ key });
      return [{ ...head, signatureInput: `${head.signatureInput};alg="ed25519"` }, new Uint8Array()];
    },
  ],
  [
    "a nonce of 15 characters",
    "signature_invalid",
    async () => [await signedHead({ key, nonce: "n".repeat(15) }), new Uint8Array()],
  ],
  [
    "a nonce of 129 characters",
    "signature_invalid",
    async () => [await signedHead({ key, nonce: "n".repeat(129) }), new Uint8Array()],
  ],
  [
    "a query that is not covered",
    "signature_invalid",
    async () => [{ ...(await signedHead({ key })), query: "?a=1" }, new Uint8Array()],
  ],
  [
    "a body that is not covered",
    "signature_invalid",
    async () => [{ ...(await signedHead({ key, method: "POST" })), hasBody: true }, body],
  ],
  [
    "a body that is not covered, with its digest",
    "signature_invalid",
    async () => {
      const { contentDigest } = await signedHead({ key, body });
      return [{ ...(await signedHead({ key, method: "POST" })), hasBody: true, contentDigest }, body];
    },
  ],
  [
    "a body whose covered digest is not sent",
    "signature_invalid",
    async () => [{ ...(await signedHead({ key, body })), contentDigest: null }, body],
  ],
  [
    "another deployment's host",
    "signature_invalid",
    async () => [await signedHead({ key, url: "https://sandbox.svc.test/v1/search" }), new Uint8Array()],
  ],
  [
    "this host's name on a signature for another",
    "signature_invalid",
    async () => [
      { ...(await signedHead({ key, url: "https://sandbox.svc.test/v1/search" })), host: authority },
      new Uint8Array(),
    ],
  ],
  [
    "no host",
    "signature_invalid",
    async () => [{ ...(await signedHead({ key })), host: null }, new Uint8Array()],
  ],
  [
    "created 31 seconds ahead",
    "signature_expired",
    async () => [await signedHead({ key, created: now + 31 }), new Uint8Array()],
  ],
  [
    "expires passed",
    "signature_expired",
    async () => [await signedHead({ key, created: now - 60, lifetimeSeconds: 60 }), new Uint8Array()],
  ],
  [
    "a life of 301 seconds",
    "signature_expired",
    async () => [await signedHead({ key, lifetimeSeconds: 301 }), new Uint8Array()],
  ],
  [
    "a life of 0 seconds",
    "signature_expired",
    async () => [await signedHead({ key, created: now + 10, lifetimeSeconds: 0 }), new Uint8Array()],
  ],
  [
    "a key that nobody registered",
    "key_unknown",
    async () => [await signedHead({ key: await newKey() }), new Uint8Array()],
  ],
  [
    "a revoked key",
    "key_unknown",
    async () => {
      const revoked = await registeredKey(region, "retrieval", { revoked_at: "2026-02-28T00:00:00.000Z" });
      return [await signedHead({ key: revoked }), new Uint8Array()];
    },
  ],
  [
    "a key whose validity is over",
    "key_unknown",
    async () => {
      const over = await registeredKey(region, "retrieval", { valid_until: "2026-03-01T12:00:00.000Z" });
      return [await signedHead({ key: over }), new Uint8Array()];
    },
  ],
  ["another body", "digest_mismatch", async () => [await signedHead({ key, body }), utf8('{"a":2}')]],
  [
    "a digest of another algorithm only",
    "digest_mismatch",
    async () => [{ ...(await signedHead({ key, body })), contentDigest: "sha-512=:AAAA:" }, body],
  ],
  [
    "a flipped bit in the signature",
    "signature_invalid",
    async () => [
      withSignature(await signedHead({ key }), (bytes) => bytes.set([(bytes[0] ?? 0) ^ 1])),
      new Uint8Array(),
    ],
  ],
  [
    "the signature of another key",
    "signature_invalid",
    async () => {
      const { signature } = await signedHead({ key: await newKey(), nonce: "the-same-nonce-3" });
      return [{ ...(await signedHead({ key, nonce: "the-same-nonce-3" })), signature }, new Uint8Array()];
    },
  ],
  [
    "another method",
    "signature_invalid",
    async () => [{ ...(await signedHead({ key })), method: "DELETE" }, new Uint8Array()],
  ],
  [
    "another path",
    "signature_invalid",
    async () => [{ ...(await signedHead({ key })), path: "/v1/records/x" }, new Uint8Array()],
  ],
  [
    "a nonce used before",
    "nonce_reused",
    async () => {
      const nonce = nextNonce();
      await authenticate(region, await signedHead({ key, nonce }));
      return [await signedHead({ key, nonce, created: now + 1 }), new Uint8Array()];
    },
  ],
];

describe("a request is refused", () => {
  it.each(faults)("for %s: %s", async (_name, code, make) => {
    const [head, sent] = await make();
    expect(await codeOf(authenticate(region, head, sent))).toBe(code);
  });

  it("with 401 whichever signature code it gets", () => {
    const codes = [
      "signature_missing",
      "signature_invalid",
      "signature_expired",
      "key_unknown",
      "digest_mismatch",
      "nonce_reused",
    ] as const;
    expect(codes.map((code) => problemCodes[code].status)).toEqual(codes.map(() => 401));
    expect(new Set(faults.map(([, code]) => code))).toEqual(new Set(codes));
  });
});

describe("of two faults the earlier check answers", () => {
  const unknown = "key_unknown";
  /** Each entry makes the request fail one more check; they are in the order of the checks. */
  const order = [
    ["signature_missing", (head: RequestHead) => ({ ...head, signatureInput: null })],
    ["signature_invalid", (head: RequestHead) => ({ ...head, host: "elsewhere.test" })],
    ["signature_expired", (head: RequestHead) => head],
    [unknown, (head: RequestHead) => head],
    ["digest_mismatch", (head: RequestHead) => head],
    [
      "signature_invalid",
      (head: RequestHead) => withSignature(head, (bytes) => bytes.set([(bytes[5] ?? 0) ^ 1], 5)),
    ],
    ["nonce_reused", (head: RequestHead) => head],
  ] as const;
  const pairs = order.flatMap((_, first) =>
    order.slice(first + 1).map((_, offset) => [first, first + 1 + offset] as const),
  );

  it.each(pairs)("check %i before check %i (counted from 0)", async (first, second) => {
    const has = (check: number): boolean => check === first || check === second;
    const nonce = nextNonce();
    await authenticate(region, await signedHead({ key, nonce }));
    const signer = has(3) ? await newKey() : key;
    let head = await signedHead({
      key: signer,
      body,
      nonce: has(6) ? nonce : nextNonce(),
      created: has(2) ? now - 600 : now,
    });
    for (const check of [0, 1, 5]) if (has(check)) head = order[check]?.[1](head) ?? head;
    expect(await codeOf(authenticate(region, head, has(4) ? utf8("other") : body))).toBe(order[first]?.[0]);
  });
});

describe("a nonce", () => {
  it("is not claimed by a request whose signature does not verify", async () => {
    const nonce = nextNonce();
    const head = await signedHead({ key, nonce });
    await authenticate(
      region,
      withSignature(head, (bytes) => bytes.fill(0)),
    );
    expect(await codeOf(authenticate(region, head))).toBe("authenticated");
  });

  it.each([16, 128])("may have %d printable characters", async (length) => {
    const nonce = `~${nextNonce()}`.padEnd(length, "!").slice(-length);
    expect(nonce).toHaveLength(length);
    expect(await codeOf(authenticate(region, await signedHead({ key, nonce })))).toBe("authenticated");
    expect(await codeOf(authenticate(region, await signedHead({ key, nonce })))).toBe("nonce_reused");
  });

  it("is another key's own", async () => {
    const nonce = nextNonce();
    await authenticate(region, await signedHead({ key, nonce }));
    const other = await registeredKey(region, "retrieval");
    expect(await codeOf(authenticate(region, await signedHead({ key: other, nonce })))).toBe("authenticated");
  });

  it("is still claimed in the last moment of its signature's life", async () => {
    const nonce = nextNonce();
    const head = await signedHead({ key, nonce, lifetimeSeconds: 300 });
    await authenticate(region, head);
    region.clock.nowMs += 299_999;
    await region.register([]);
    expect(await codeOf(authenticate(region, head))).toBe("nonce_reused");
  });
});

describe("a key's role", () => {
  it("is judged after the nonce was claimed", async () => {
    const integration = await registeredKey(region, "integration");
    const head = await signedHead({ key: integration });
    expect(await codeOf(authenticate(region, head))).toBe("role_not_allowed");
    expect(await codeOf(authenticate(region, head))).toBe("nonce_reused");
  });

  it.each([
    ["svc-push", "integration", "authenticated"],
    ["svc-business-read", "integration", "authenticated"],
    ["svc-push", "retrieval", "role_not_allowed"],
    ["svc-push", "hosted", "role_not_allowed"],
    ["svc-business-read", "sealing", "role_not_allowed"],
  ] as const)("with tag %s: a key of role %s is %s on the business surface", async (tag, role, expected) => {
    const signer = await registeredKey(region, role);
    const callers = { ...accepted, tags: [tag], roles: ["integration" as const] };
    expect(
      await codeOf(authenticate(region, await signedHead({ key: signer, tag }), new Uint8Array(), callers)),
    ).toBe(expected);
  });
});

it("a key revoked while it is kept is refused from the next refresh on", async () => {
  expect(await codeOf(authenticate(region, await signedHead({ key })))).toBe("authenticated");
  const facts = keyFacts(key.keyId, key.publicJwk, {
    role: "retrieval",
    party: companyUuid,
    revoked_at: "2026-03-01T11:00:00.000Z",
  });
  await region.register([entry("key", companyUuid, key.keyId, facts)]);
  expect(await codeOf(authenticate(region, await signedHead({ key })))).toBe("key_unknown");
});
