// Whose entries `svc log audit` lists, and what the business can account for: the keys of its configurations, the seals that this
// program made with the home folder, and the leaves that a person looked at.

import { resolve } from "node:path";
import type { OwnActs } from "../client/log-account.ts";
import type { ReadLog } from "../client/log-reader.ts";
import { custodyLeaves } from "../client/own-leaves.ts";
import { parseSigningKey } from "../client/signing-key.ts";
import type { Arguments, CommandContext } from "./command.ts";
import { homeOf, loadConfig, loadKey, readText } from "./connection.ts";
import { UsageError } from "./exit-codes.ts";
import { leavesIn, ownSeals } from "./own-seals.ts";
import { loadOwner } from "./owner.ts";

export interface LogAccount {
  readonly businessUuid: string | null;
  /** The verification host that the configurations name. */
  readonly url: string | null;
  /** Null without a configuration: then nothing is known of what the business did. */
  readonly own: OwnActs | null;
}

/** Throws {@link UsageError} for configurations that are not of one business. */
export async function accountOf(args: Arguments, context: CommandContext): Promise<LogAccount> {
  const named = args.text("business");
  const files = args.texts("config");
  if (files.length === 0) {
    if (args.texts("leaves").length > 0) throw new UsageError("--leaves goes with --config FILE.");
    return { businessUuid: named, url: null, own: null };
  }
  const read = await Promise.all(files.map((file) => accountIn(file, context)));
  const owned = read.flatMap(({ businessUuid }) => businessUuid ?? []);
  const businessUuid = named ?? owned[0] ?? null;
  if (businessUuid === null)
    throw new UsageError(
      "The configuration does not say of which business it is. Name it with --business UUID.",
    );
  const other = read.findIndex((each) => each.businessUuid !== null && each.businessUuid !== businessUuid);
  if (other >= 0) throw new UsageError(`${files[other]} is not of the business ${businessUuid}.`);
  const seals = await ownSeals(homeOf(args, context));
  const lists = await Promise.all(args.texts("leaves").map((file) => readText(resolve(context.cwd, file))));
  return {
    businessUuid,
    url: read.find((each) => each.url !== null)?.url ?? null,
    own: {
      businessUuid,
      keyIds: read.flatMap(({ keyIds }) => keyIds),
      leaves: new Set([...seals, ...lists.flatMap(leavesIn)]),
    },
  };
}

/** The account with the custody statements about the business's keys, which the service publishes. */
export async function withCustody(
  account: LogAccount,
  log: Pick<ReadLog, "keyCustody">,
): Promise<LogAccount> {
  const { own } = account;
  if (own === null) return account;
  const custody = custodyLeaves(await log.keyCustody(own.businessUuid), own);
  return {
    ...account,
    own: { ...own, leaves: new Set([...own.leaves, ...custody.own]), hosted: new Set(custody.hosted) },
  };
}

async function accountIn(file: string, context: CommandContext) {
  const path = resolve(context.cwd, file);
  const config = await loadConfig(path);
  const key = await parseSigningKey(await loadKey(config, path, context));
  if (!key.ok) throw new UsageError(`The private key of ${file} cannot be used: ${key.detail}`);
  const owner = config.owner === undefined ? null : await loadOwner(file, context);
  return {
    businessUuid: owner?.businessUuid ?? null,
    url: config.public_base_url ?? null,
    keyIds: [key.value.keyId, ...(owner === null ? [] : [owner.keyId])],
  };
}
