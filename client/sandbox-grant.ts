// Asks a sandbox for a grant for one's own key (POST /v1/sandbox/grants). The request is signed by the key the grant is for.
// To add a key to an existing party, a registered key of that party signs instead, and the new key proves possession of
// itself.

import { toBase64Url, utf8 } from "../protocol/bytes.ts";
import { type Envelope, payloadTypes } from "../protocol/dsse.ts";
import type { PublicJwk } from "../protocol/keys/jwk.ts";
import { keyPossessionPayload } from "../protocol/keys/key-directory.ts";
import type { GrantAnswer } from "../protocol/wire/grant.ts";
import { createSender, type Fetch } from "./sender.ts";
import { provePossession, type SigningKey } from "./signing-key.ts";

export type { GrantAnswer as SandboxGrantAnswer } from "../protocol/wire/grant.ts";
export type GrantRole = GrantAnswer["role"];

export interface GrantAsker {
  readonly fetch: Fetch;
  /** URL of the business surface for `integration` or the retrieval surface for `retrieval`; without trailing slash. */
  readonly baseUrl: string;
  readonly role: GrantRole;
  readonly key: SigningKey;
}

/**
 * Asks for a grant for a new party with the given name or, when the key is already registered, for the key's own party,
 * which needs no name. Rejects as {@link createSender} does.
 */
export function askForGrant(
  asker: GrantAsker,
  party: { readonly legal_name?: string; readonly country?: string },
): Promise<GrantAnswer> {
  const { key, role } = asker;
  return send(asker, key, { public_key: key.publicJwk, role, ...party });
}

/** The passkey of a business's owner. */
export interface OwnersPasskey {
  readonly keyId: string;
  readonly publicJwk: PublicJwk;
  seal(payloadType: string, payload: Uint8Array): Promise<Envelope>;
}

/** Asks once more for the grant of a new business, whose uuid is known now, with its owner's passkey. */
export async function askForOwnedBusiness(
  asker: GrantAsker,
  {
    uuid: party_uuid,
    owner,
    ...names
  }: {
    readonly uuid: string;
    readonly legal_name: string;
    readonly country: string;
    readonly owner: OwnersPasskey;
  },
): Promise<GrantAnswer> {
  const { key, role } = asker;
  const random = crypto.getRandomValues(new Uint8Array(32));
  const possession = await owner.seal(
    payloadTypes["key-possession.v1"],
    keyPossessionPayload({
      v: 1,
      party_uuid,
      key_id: owner.keyId,
      role: "sealing",
      challenge: toBase64Url(random),
    }),
  );
  const proven = { public_key: owner.publicJwk, possession };
  return send(asker, key, { public_key: key.publicJwk, role, ...names, owner: proven }, random);
}

/** Asks for a grant for the party to which `member`, a registered key, belongs. */
export async function askToJoin(
  asker: GrantAsker,
  party: { readonly uuid: string; readonly member: SigningKey },
): Promise<GrantAnswer> {
  const { key, role } = asker;
  const random = crypto.getRandomValues(new Uint8Array(32));
  const possession = await provePossession(key, {
    uuid: party.uuid,
    role,
    challenge: toBase64Url(random),
  });
  return send(asker, party.member, { public_key: key.publicJwk, role, possession }, random);
}

/** `random` is used as the nonce. */
async function send(
  { fetch, baseUrl, role }: GrantAsker,
  signer: SigningKey,
  question: object,
  random?: Uint8Array,
): Promise<GrantAnswer> {
  const sender = createSender({
    fetch,
    key: signer,
    ...(random === undefined ? {} : { randomBytes: () => random }),
  });
  const { text } = await sender({
    method: "POST",
    url: `${baseUrl}/v1/sandbox/grants`,
    tag: role === "integration" ? "svc-push" : "svc-retrieval",
    body: utf8(JSON.stringify(question)),
  });
  return JSON.parse(text) as GrantAnswer;
}
