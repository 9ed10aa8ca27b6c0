// The OpenAPI 3.1 document of the operations surface: every address, what it takes and what it answers.

import examples from "../api/examples.json" with { type: "json" };
import { type Examples, openApi, platformProblems, type SurfaceTerms } from "../api/open-api.ts";
import type { Operation } from "../api/route.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { hostCookieName, neededRight, opsRights } from "./guard.ts";

const rightWords = Object.entries(opsRights)
  .map(([right, words]) => `\`${right}\`: ${words}.`)
  .join(" ");

const openAddresses = ["/healthz", "/readyz", "/ops/session"];

const terms: SurfaceTerms = {
  securitySchemes: {
    readersToken: {
      type: "http",
      scheme: "bearer",
      description: "A token of the operators without a name, which is for reading.",
    },
    operatorsToken: {
      type: "http",
      scheme: "basic",
      description: `The name of the person who acts, and the token of the operators. ${rightWords}`,
    },
    operatorsSession: {
      type: "apiKey",
      in: "cookie",
      name: hostCookieName,
      description: "A browser's session; on loopback the name has no prefix.",
    },
  },
  // Both name the right that is needed (OpenAPI 3.1, Security Requirement Object).
  security: ({ method, path }) => {
    const right = neededRight(method, path);
    return {
      security: openAddresses.includes(path)
        ? []
        : [
            ...(right === "read" ? [{ readersToken: [right] }] : []),
            { operatorsToken: [right] },
            { operatorsSession: [right] },
          ],
    };
  },
  problems: () => [
    ...(["token_invalid", "right_missing", "origin_not_allowed", "host_not_allowed"] as const),
    ...platformProblems,
    "unavailable",
  ],
  headers: () => ({ required: ["Request-Id", "Cache-Control"], optional: [] }),
  examples: examples as Examples,
};

const info = {
  title: "Operations",
  description:
    "Health, state, revocations, accounts, blocks, brands and takedowns, for the operators of a node.",
  servers: [],
};

export function openApiOf(operations: readonly Operation[]): JsonObject {
  return openApi(info, operations, terms);
}
