// `svc grant`: obtains a key of one's own in a sandbox. The configuration that it writes suits every command's --config.

import { existsSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import {
  askForGrant,
  askToJoin,
  type GrantAsker,
  type GrantRole,
  type SandboxGrantAnswer,
} from "../client/sandbox-grant.ts";
import { generatePrivateJwk, parseSigningKey, type SigningKey } from "../client/signing-key.ts";
import { type Arguments, type Call, type Command, UsageError } from "./command.ts";
import {
  type Config,
  homeOf,
  loadConfig,
  loadKey,
  loadSandbox,
  type OwnerConfig,
  readText,
} from "./connection.ts";
import { algorithmOf, writePrivate } from "./keygen.ts";
import { giveOwner, ownerFileOf, sameOwner } from "./owner.ts";
import { visible } from "./terminal.ts";

const roles = { business: "integration", "ai-company": "retrieval" } as const satisfies Record<
  string,
  GrantRole
>;

export const grant: Command = {
  name: "grant",
  usage: "",
  summary: "get a key of your own into a sandbox, as a new business or AI company",
  details: [
    "Writes a configuration for the other commands: svc push FILE --config business.json",
    "A new business gets an owner too, whose passkey is in a file beside the configuration; svc hold decides with it.",
    "The command makes a key beside the configuration, or uses the one that --key names. The same key always gets the same party.",
    "The addresses are those of the sandbox in the home folder, or those of --config. With --join, the key becomes a further",
    "key of the party that --config acts as.",
  ],
  options: `
    --as ROLE       business (default) or ai-company
    --name NAME     legal name of the new party
    --country CC    country of the new party, for example GB
    -o, --out FILE  the configuration to write; it must not exist
    --key FILE      a private key that you have (JWK or PKCS #8 PEM)
    --alg ALG       algorithm of a new key: Ed25519 (default) or ES256
    --join          make the key a further key of the party of --config
    --config FILE   configuration for the same sandbox
    --home DIR      home folder of the sandbox's node`,
  run: async (call) => {
    const role = roleOf(call);
    const out = resolve(call.cwd, needed(call, "out", "Name the configuration to write with --out FILE."));
    const keyFile = keyFileOf(call, out);
    const ownerFile = ownerFileOf(out);
    const anchorsFile = besideOf(out, "anchors");
    const newFiles = [
      ...(call.text("key") === null ? [out, keyFile] : [out]),
      ...(role === "integration" && !call.flag("join") ? [ownerFile] : []),
      ...(role === "retrieval" ? [anchorsFile] : []),
    ];
    const taken = newFiles.find((path) => existsSync(path));
    if (taken !== undefined)
      throw new UsageError(`${taken} exists and is not overwritten. Choose another name.`);
    const { addresses, anchors } = await targetOf(call);
    const baseUrl = role === "integration" ? addresses.business_base_url : addresses.api_base_url;
    if (baseUrl === undefined) throw new UsageError("The configuration has no address for this role.");
    const { key, made } = await keyOf(call, keyFile);
    const asker: GrantAsker = { fetch: (url, init) => fetch(url, init), baseUrl, role, key };
    const granted = call.flag("join")
      ? await joinParty(asker, call, out)
      : await newParty(asker, call, ownerFile);
    const { grant: text, party } = granted.answer;
    if (made !== null) await writePrivate(keyFile, `${JSON.stringify(made)}\n`);
    if (granted.ownersJwk !== null) await writePrivate(ownerFile, `${JSON.stringify(granted.ownersJwk)}\n`);
    const config: Config = {
      version: 1,
      environment: "sandbox",
      ...(role === "integration" ? addresses : await forCompany(addresses, anchors, anchorsFile)),
      key: { file: relative(dirname(out), keyFile) || basename(keyFile) },
      country: party.country,
      sandbox_key_grant: text,
      ...(granted.owner === undefined ? {} : { owner: granted.owner }),
    };
    await writePrivate(out, `${JSON.stringify(config, null, 2)}\n`);
    const { terminal } = call;
    terminal.print(`${visible(party.legal_name)}, ${party.country}, ${party.uuid}`);
    terminal.note(`The key ${key.keyId} is in ${keyFile}, the configuration in ${out}. Try:`);
    terminal.note(nextStep(role, call.text("out") ?? ""));
  },
};

type Addresses = Pick<Config, "api_base_url" | "business_base_url" | "public_base_url">;

/** The sandbox that gives the grant. */
interface Target {
  readonly addresses: Addresses;
  /** The text of its anchors; null if the configuration that names the sandbox names none. */
  readonly anchors: string | null;
}

/** What an AI company needs instead of the address for businesses: the tool server takes the same file, and verifies by anchors. */
async function forCompany(
  { api_base_url = "", public_base_url = api_base_url }: Addresses,
  anchors: string | null,
  anchorsFile: string,
): Promise<Partial<Config>> {
  if (anchors === null) return { api_base_url, public_base_url };
  await writePrivate(anchorsFile, anchors);
  return { api_base_url, public_base_url, anchors_file: basename(anchorsFile) };
}

interface Granted {
  readonly answer: SandboxGrantAnswer;
  readonly owner: OwnerConfig | undefined;
  /** The private half of a newly made owner's passkey. */
  readonly ownersJwk: object | null;
}

async function newParty(asker: GrantAsker, args: Arguments, ownerFile: string): Promise<Granted> {
  const names = {
    legal_name: needed(args, "name", "Name the new party with --name NAME."),
    country: needed(args, "country", "Name its country with --country CC."),
  };
  const answer = await askForGrant(asker, names);
  const given = await giveOwner(asker, answer, { names, file: ownerFile });
  return {
    answer: given?.answer ?? answer,
    owner: given?.config,
    ownersJwk: given?.privateJwk ?? null,
  };
}

function nextStep(role: GrantRole, config: string): string {
  return role === "integration"
    ? `  svc push FILE --config ${config}`
    : `  svc search products --sort published_at:desc --config ${config}`;
}

function needed(args: Arguments, option: string, help: string): string {
  const text = args.text(option);
  if (text === null) throw new UsageError(help);
  return text;
}

function roleOf(args: Arguments): GrantRole {
  const as = args.text("as") ?? "business";
  if (as === "business" || as === "ai-company") return roles[as];
  throw new UsageError(`--as is ${JSON.stringify(as)}; use business or ai-company.`);
}

/** The key's file: the one given, or one next to the configuration. */
function keyFileOf(call: Call, out: string): string {
  const named = call.text("key");
  if (named !== null) return resolve(call.cwd, named);
  return besideOf(out, "key");
}

function besideOf(out: string, what: string): string {
  return join(dirname(out), `${basename(out, ".json")}.${what}.json`);
}

async function targetOf(call: Call): Promise<Target> {
  const config = call.text("config");
  if (config === null) {
    if (call.flag("join")) throw new UsageError("Name the configuration of the party with --config FILE.");
    const sandbox = await loadSandbox(homeOf(call));
    const { base_url, business_url, verify_url } = sandbox;
    return {
      addresses: { api_base_url: base_url, business_base_url: business_url, public_base_url: verify_url },
      anchors: `${JSON.stringify(sandbox.anchors, null, 2)}\n`,
    };
  }
  const path = resolve(call.cwd, config);
  const { environment, ...members } = await loadConfig(path);
  if (environment !== "sandbox")
    throw new UsageError(`${config} is not for a sandbox; only a sandbox gives grants.`);
  const names = ["api_base_url", "business_base_url", "public_base_url"] as const;
  return {
    addresses: Object.fromEntries(names.flatMap((name) => (members[name] ? [[name, members[name]]] : []))),
    anchors: members.anchors_file ? await readText(resolve(dirname(path), members.anchors_file)) : null,
  };
}

/** `made` is the private JWK of a newly created key. */
async function keyOf(
  call: Call,
  keyFile: string,
): Promise<{ readonly key: SigningKey; readonly made: object | null }> {
  const named = call.text("key");
  const made = named === null ? await generatePrivateJwk(algorithmOf(call)) : null;
  const jwk = made ?? (await loadKey({ version: 1, key: { file: keyFile } }, keyFile, call));
  const key = await parseSigningKey(jwk);
  if (!key.ok) throw new UsageError(`The private key cannot be used: ${key.detail}`);
  return { key: key.value, made };
}

async function joinParty(asker: GrantAsker, call: Call, out: string): Promise<Granted> {
  const path = resolve(call.cwd, call.text("config") ?? "");
  const config = await loadConfig(path);
  const member = await parseSigningKey(await loadKey(config, path, call));
  if (!member.ok) throw new UsageError(`The private key of ${path} cannot be used: ${member.detail}`);
  // A registered key gets its existing grant again, which names its party.
  const { party } = await askForGrant({ ...asker, key: member.value }, {});
  const answer = await askToJoin(asker, { uuid: party.uuid, member: member.value });
  const owner = config.owner && sameOwner(config.owner, path, out);
  return { answer, owner, ownersJwk: null };
}
