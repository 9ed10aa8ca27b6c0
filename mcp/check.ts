// `--check`: says what was read and whether the service answers, and for everything that is wrong how to mend it. It sends
// two requests that are never billed: a read of the key set, and a signed read of the terms.

import { SvcConnectionError, SvcProblemError } from "../client/errors.ts";
import { createSvcClient } from "../client/service-client.ts";
import { utf8 } from "../protocol/bytes.ts";
import { algorithmOf } from "../protocol/jwk.ts";
import { createVerifier } from "../verifier/verifier.ts";
import { httpFetch } from "./http-fetch.ts";
import type { Setup } from "./setup.ts";

/** Writes its lines; true if nothing is wrong. */
export async function checkSetup(setup: Setup, write: (line: string) => void): Promise<boolean> {
  const { config, key, anchors } = setup;
  const client = createSvcClient({
    ...{ baseUrl: config.apiBaseUrl, businessUrl: null, verifyUrl: config.publicBaseUrl },
    ...{ fetch: httpFetch, key, grant: config.grant },
    ...{ timeoutMs: config.timeoutMs, retry: { ...config.retry, maxAttempts: 1 } },
  });
  write(
    `ok      configuration  ${config.environment}, ${config.transport.type}, country ${config.country ?? "not set"}`,
  );
  write(`ok      key            ${algorithmOf(key.publicJwk)} ${key.keyId}`);
  const isSigned = await attempt("service", write, async () => {
    const { body } = await client.terms();
    return `${config.apiBaseUrl} accepts the key; terms of version ${body.version}`;
  });
  const isTrusted = await attempt("key set", write, async () => {
    const { text } = await client.verificationRead("/.well-known/keys");
    if (anchors === null) return `${config.publicBaseUrl} answers; it is not verified`;
    const verifier = createVerifier({ anchors, keySet: utf8(text) });
    if (!verifier.ok) throw new CheckError(`${verifier.detail} (${verifier.code}) Look at anchors_file.`);
    return `verified under the anchors, issued at ${verifier.value.trust.keySet.issued_at}`;
  });
  if (anchors === null)
    write(
      "note    anchors        None are configured, so verify claims nothing. Name a file in anchors_file.",
    );
  return isSigned && isTrusted;
}

class CheckError extends Error {}

async function attempt(
  name: string,
  write: (line: string) => void,
  work: () => Promise<string>,
): Promise<boolean> {
  try {
    write(`ok      ${name.padEnd(13)}  ${await work()}`);
    return true;
  } catch (error) {
    write(`WRONG   ${name.padEnd(13)}  ${mendingOf(error)}`);
    return false;
  }
}

const advice: Readonly<Record<string, string>> = {
  key_unknown:
    "Register the key's public half, or in the sandbox set sandbox_key_grant; a sandbox that was made again has new keys.",
  signature_expired: "Set this machine's clock.",
  signature_invalid: "api_base_url must be the address that the service knows itself by.",
  not_found: "No terms are published yet, or api_base_url is the address of another surface.",
  role_not_allowed: "Use a key of an AI company.",
};

function mendingOf(error: unknown): string {
  if (error instanceof CheckError) return error.message;
  if (error instanceof SvcConnectionError)
    return `${error.message} Is the address right, and the service running?`;
  if (error instanceof SvcProblemError)
    return printable(`${error.status} ${error.code}: ${error.detail} ${advice[error.code] ?? ""}`.trim());
  throw error;
}

/** What the service writes must not reach the terminal as commands. */
function printable(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, "?");
}
