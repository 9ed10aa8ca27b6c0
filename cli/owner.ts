// The owner of a business in a sandbox, who seals with a passkey in a file: that of sandbox.json for a sample business, and for one of
// one's own that which `svc grant` made beside the configuration. Elsewhere people seal in their portal.

import { readFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import type { Envelope } from "../client/business-answers.ts";
import { askForOwnedBusiness, type GrantAsker, type SandboxGrantAnswer } from "../client/sandbox-grant.ts";
import { generatePrivateJwk, parseSigningKey } from "../client/signing-key.ts";
import { ownersPasskey, type Sealer } from "../node/sandbox/sealer.ts";
import { type Call, type CommandContext, UsageError } from "./command.ts";
import { homeOf, loadConfig, loadSandbox, type OwnerConfig, parseJson, readText } from "./connection.ts";

/** The owner's file beside the configuration `out`. */
export function ownerFileOf(out: string): string {
  return join(dirname(out), `${basename(out, ".json")}.owner.json`);
}

interface NewOwner {
  readonly answer: SandboxGrantAnswer;
  readonly privateJwk: object;
  /** For the configuration, which is beside the file of the passkey. */
  readonly config: OwnerConfig;
}

/**
 * Makes the owner of a new business and asks for the grant that names it. Null where there is none to make: the business
 * exists, it is an AI company, or the sandbox is of a release without owners.
 */
export async function giveOwner(
  asker: GrantAsker,
  { party, registered, passkeys }: SandboxGrantAnswer,
  { names, file }: { readonly names: { legal_name: string; country: string }; readonly file: string },
): Promise<NewOwner | null> {
  const [rp_id, origin] = [passkeys?.rp_ids[0], passkeys?.origins[0]];
  if (party.kind !== "business" || registered || rp_id === undefined || origin === undefined) return null;
  const privateJwk = await generatePrivateJwk("ES256");
  const owner = passkeyOf(privateJwk, { rp_id, origin });
  const answer = await askForOwnedBusiness(asker, { uuid: party.uuid, owner, ...names });
  return { answer, privateJwk, config: { business_uuid: party.uuid, file: basename(file), rp_id, origin } };
}

/** The owner of the configuration at `path`, for another configuration of the same business at `out`. */
export function sameOwner(owner: OwnerConfig, path: string, out: string): OwnerConfig {
  return { ...owner, file: relative(dirname(out), resolve(dirname(path), owner.file)) };
}

/** The owner's passkey of the business that the command acts as; throws {@link UsageError} where there is none. */
export async function ownerOf(
  call: Call,
  businessUuid: string,
): Promise<Sealer & { readonly businessUuid: string }> {
  const config = call.text("config");
  if (config !== null) return loadOwner(config, call);
  const { anchors, businesses } = await loadSandbox(homeOf(call));
  const owner = businesses.find((each) => each.business_uuid === businessUuid)?.owner;
  if (owner === undefined)
    throw new UsageError(
      "sandbox.json has no passkey of this business; start the node again to have it written.",
    );
  return { ...ownersPasskey(owner.private_jwk, anchors.passkeys), businessUuid };
}

/** The owner's passkey of the configuration; throws {@link UsageError} where it has none. */
export async function loadOwner(
  name: string,
  context: CommandContext,
): Promise<Sealer & { readonly businessUuid: string }> {
  const path = resolve(context.cwd, name);
  const { environment, owner } = await loadConfig(path);
  if (owner === undefined) {
    const elsewhere =
      "People of a business seal in their portal; --seal FILE or --document FILE sends what was sealed there.";
    if (environment !== "sandbox") throw new UsageError(elsewhere);
    throw new UsageError(
      `${name} names no owner's passkey: svc grant makes one with each new business, and a business that exists gets none later. ${elsewhere}`,
    );
  }
  const jwk = parseJson(owner.file, await readText(resolve(dirname(path), owner.file)));
  const key = await parseSigningKey(jwk);
  if (!key.ok) throw new UsageError(`The passkey in ${owner.file} cannot be used: ${key.detail}`);
  if (key.value.publicJwk.kty !== "EC")
    throw new UsageError(`The passkey in ${owner.file} is not a P-256 key.`);
  return { ...passkeyOf(jwk as object, owner), businessUuid: owner.business_uuid };
}

function passkeyOf(jwk: object, { rp_id, origin }: Pick<OwnerConfig, "rp_id" | "origin">): Sealer {
  return ownersPasskey(jwk, { rp_ids: [rp_id], origins: [origin] });
}

/** An envelope that was sealed elsewhere, in a file. */
export async function envelopeIn(file: string, context: CommandContext): Promise<Envelope> {
  try {
    return JSON.parse(new TextDecoder().decode(await bytesOf(file, context))) as Envelope;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${file} is not a sealed document as JSON.`);
  }
}

/** The exact bytes of a file. */
export async function bytesOf(file: string, { cwd }: Pick<CommandContext, "cwd">): Promise<Uint8Array> {
  const bytes = await readFile(resolve(cwd, file)).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code ?? error.message}).`);
  });
  return new Uint8Array(bytes);
}
