// What each member of a read that is the same for everybody changes.

import { codeOf, type Effect, type EffectsWorld, type Proof } from "../contract/request-effects.fixture.ts";

/** Reads with a tag, by an address of each. */
const tagged: Readonly<Record<string, string>> = {
  "/v1/projections/{type}/{version}": "/v1/projections/products/1",
  "/v1/schemas/{type}/{version}": "/v1/schemas/products/1",
  "/v1/payloads/{kind}/{version}": "/v1/payloads/seal/2",
  "/v1/envelope-specification": "/v1/envelope-specification",
  "/v1/ai-policy-key": "/v1/ai-policy-key",
  "/v1/vocabularies": "/v1/vocabularies",
  "/.well-known/keys": "/.well-known/keys",
  "/.well-known/svc-keys": "/.well-known/svc-keys",
  "/.well-known/http-message-signatures-directory": "/.well-known/http-message-signatures-directory",
  "/v1/vocabularies/{name}": "/v1/vocabularies/languages",
};

const vectorFile: Proof = {
  shownBy: "api/published-reads.test.ts: are listed, and served byte for byte to those who do not hold them",
};

export function publishedProofs(world: () => EffectsWorld): Readonly<Record<string, Proof>> {
  const reads =
    (first: string, second: string): Effect =>
    async () => [codeOf(await world().get(first)), codeOf(await world().get(second))];
  const texts =
    (first: string, second: string): Effect =>
    async () => [(await world().get(first)).text, (await world().get(second)).text];
  const conditional =
    (path: string): Effect =>
    async () => {
      const etag = (await world().get(path)).headers.get("etag") ?? "";
      const ask = async (value: string) => (await world().get(path, { "if-none-match": value })).status;
      return [await ask(etag), await ask('"other"')];
    };
  const conditions = Object.entries(tagged).map(
    ([route, path]) => [`GET ${route} header If-None-Match`, conditional(path)] as const,
  );
  return {
    ...Object.fromEntries(conditions),
    "GET /v1/projections/{type}/{version} path type": texts(
      "/v1/projections/products/1",
      "/v1/projections/events/1",
    ),
    "GET /v1/projections/{type}/{version} path version": reads(
      "/v1/projections/products/1",
      "/v1/projections/products/999",
    ),
    "GET /v1/schemas/{type}/{version} path type": texts("/v1/schemas/products/1", "/v1/schemas/ai_policy/1"),
    "GET /v1/schemas/{type}/{version} path version": reads(
      "/v1/schemas/products/1",
      "/v1/schemas/products/999",
    ),
    "GET /v1/payloads/{kind}/{version} path kind": texts("/v1/payloads/seal/2", "/v1/payloads/sidecar/2"),
    "GET /v1/payloads/{kind}/{version} path version": texts("/v1/payloads/seal/2", "/v1/payloads/seal/1"),
    "GET /v1/envelope-specification query format": texts(
      "/v1/envelope-specification?format=json",
      "/v1/envelope-specification?format=markdown",
    ),
    "GET /v1/vocabularies/{name} path name": texts(
      "/v1/vocabularies/languages",
      "/v1/vocabularies/countries",
    ),
    "GET /v1/vocabularies/{name} query version": reads(
      "/v1/vocabularies/languages?version=1",
      "/v1/vocabularies/languages?version=999",
    ),
    "GET /v1/test-vectors query format": {
      shownBy:
        "service/verification/test-vectors.test.ts: gives the words about the vectors as a text, and no other format",
    },
    "GET /v1/test-vectors header If-None-Match": vectorFile,
    "GET /v1/test-vectors/{path} header If-None-Match": vectorFile,
    "GET /v1/test-vectors/{path} path path": vectorFile,
    "GET /v1/test-vectors/{path} query sha256": vectorFile,
  };
}
