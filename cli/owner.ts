// The owner of a business of one's own in a sandbox: `svc grant` makes a passkey for it in a file beside the configuration,
// and `svc hold` decides with it.

import { basename, dirname, join, relative, resolve } from "node:path";
import { askForOwnedBusiness, type GrantAsker, type SandboxGrantAnswer } from "../client/sandbox-grant.ts";
import { generatePrivateJwk, parseSigningKey } from "../client/signing-key.ts";
import { ownersPasskey, type Sealer } from "../node/sandbox/sealer.ts";
import { type CommandContext, UsageError } from "./command.ts";
import { loadConfig, type OwnerConfig, parseJson, readText } from "./connection.ts";

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

/** The owner's passkey of the configuration; throws {@link UsageError} where it has none. */
export async function loadOwner(
  name: string,
  context: CommandContext,
): Promise<Sealer & { readonly businessUuid: string }> {
  const path = resolve(context.cwd, name);
  const { environment, owner } = await loadConfig(path);
  if (owner === undefined) {
    const elsewhere = "People of a business decide in their portal; send its document with --document FILE.";
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
