// The commands of `svc keys`, in the order in which a new service needs them.

import { resolve } from "node:path";
import { namedAs, witnessedAs } from "../../verifier/log.ts";
import { type Arguments, type Call, type Command, exitCodes, UsageError, untilStopped } from "../command.ts";

// Options that the ceremonies share, and how they are parsed.

const dayMs = 86_400_000;
const daysMax = 36_500;

const environmentOption = "    --environment NAME  production (default) or sandbox";
const replaceOption = "    --replace  overwrite the output file if it exists";
const keysOption = "    --keys DIR  folder for the private halves, readable only by you";
const publicOption = "    --public FILE  file for the public halves, to be certified";

function windowOptions(days: number): string {
  return `
    --valid-from TIME  when it starts to sign, in UTC (default now)
    --days N           number of days for which it signs (default ${days})`;
}

/** The validity window of a new key. Throws {@link UsageError}. */
function windowOf(call: Call, daysDefault: number) {
  const from = call.text("valid-from");
  const fromMs = from === null ? call.now() : Date.parse(timestampOf("--valid-from", from));
  const days = call.integer("days", { min: 1, max: daysMax, fallback: daysDefault });
  return {
    valid_from: new Date(fromMs).toISOString(),
    valid_until: new Date(fromMs + days * dayMs).toISOString(),
  };
}

function environmentOf(args: Arguments): "production" | "sandbox" {
  const environment = args.text("environment") ?? "production";
  if (environment === "production" || environment === "sandbox") return environment;
  throw new UsageError(`--environment is ${JSON.stringify(environment)}; use production or sandbox.`);
}

/** The absolute path of a file or folder given by a required option. */
function pathOf(call: Call, name: string): string {
  const given = call.text(name);
  if (given === null) throw new UsageError(`--${name} is missing.`);
  return resolve(call.cwd, given);
}

function pathsOf(call: Call, name: string): readonly string[] {
  return call.texts(name).map((each) => resolve(call.cwd, each));
}

function outputOf(call: Call, name: string) {
  return { path: pathOf(call, name), replace: call.flag("replace") };
}

/** Converts a day, or an instant in UTC, to a timestamp with milliseconds. Throws {@link UsageError}. */
function timestampOf(option: string, text: string): string {
  const isInstant = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/.test(text);
  const ms = isInstant ? Date.parse(text) : Number.NaN;
  // The platform moves a day that does not exist in its month into the next one.
  if (Number.isFinite(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 10)))
    return new Date(ms).toISOString();
  throw new UsageError(
    `${option} is ${JSON.stringify(text)}; use a day such as 2027-01-31 or an instant such as 2027-01-31T08:00:00Z.`,
  );
}

/** Parses `KEY_ID` or `KEY_ID=TIME`; without a time it is now. Throws {@link UsageError}. */
function instantsOf(call: Call, name: string): ReadonlyMap<string, string> {
  const instants = new Map<string, string>();
  for (const text of call.texts(name)) {
    const [keyId = "", time] = text.split("=", 2);
    if (!/^[A-Za-z0-9_-]{43}$/.test(keyId))
      throw new UsageError(
        `--${name} is ${JSON.stringify(text)}; use KEY_ID or KEY_ID=TIME (svc keys id FILE).`,
      );
    const instant = time === undefined ? new Date(call.now()).toISOString() : timestampOf(`--${name}`, time);
    instants.set(keyId, instant);
  }
  return instants;
}

// `svc keys serve-issuance`: runs the process that holds the issuance pair.

const serveIssuance: Command = {
  name: "keys serve-issuance",
  usage: "",
  summary: "sign certificates and custody statements for the nodes of this machine",
  details: [
    "Signs nothing else, and writes a line to the audit log before each signature.",
    "The folder of the keys also contains anchors.json and key-set.json.",
  ],
  options: `
    --keys DIR        folder of the issuance pair
    --clients DIR     folder of the nodes' secrets, one NAME.secret for each node
    --audit FILE      audit log, with one line for each signature
    --listen ADDRESS  unix:/path/of.sock, or 127.0.0.1:PORT (default 127.0.0.1:7399)
${environmentOption}`,
  run: async (call) => {
    const [{ startIssuance }, { parseIssuanceAddress }] = await Promise.all([
      import("../../node/keys/issuance-server.ts"),
      import("../../node/configuration/key-config.ts"),
    ]);
    const issuance = await startIssuance({
      keys: pathOf(call, "keys"),
      clients: pathOf(call, "clients"),
      audit: pathOf(call, "audit"),
      listen: parseIssuanceAddress("--listen", call.text("listen") ?? "127.0.0.1:7399"),
      environment: environmentOf(call),
      clock: { now: call.now },
    });
    const { address } = issuance;
    const where = "socket" in address ? `unix:${address.socket}` : `${address.host}:${address.port}`;
    call.terminal.print(`Issuing with ${issuance.keyIds.join(" + ")} at ${where}`);
    return await untilStopped(call, issuance);
  },
};

// `svc keys create-…`: creates private keys of the service, each on the machine where it stays.

const rootDays = 7_300;
const issuanceDays = 1_095;
const workingDays = 730;

function pairCommand(use: "root" | "issuance", days: number, summary: string): Command {
  const command: Command = {
    name: `keys create-${use}`,
    usage: "",
    summary,
    options: `
${keysOption}
${publicOption}
${windowOptions(days)}
${replaceOption}`,
    run: async (call) => {
      const { createPair } = await import("../../node/keys/ceremonies.ts");
      const made = await createPair({
        use,
        keys: pathOf(call, "keys"),
        public: outputOf(call, "public"),
        window: windowOf(call, days),
      });
      say(call, [made]);
    },
  };
  return command;
}

const createRoot: Command = pairCommand(
  "root",
  rootDays,
  "make a root pair, on a machine that is never connected to a network",
);

const createIssuance: Command = pairCommand(
  "issuance",
  issuanceDays,
  "make an issuance pair, on the machine of the issuance process",
);

const createWorkingKeys: Command = {
  name: "keys create-working",
  usage: "",
  summary: "make the keys that nodes of a region sign with",
  details: [
    "Role serving: projection, receipt, sidecar and statement keys. Role log: the key of log checkpoints.",
    "They are added to the keys in the folder; --use makes only some of them.",
  ],
  options: `
    --region REGION  the nodes' region, such as eu-west1
    --role ROLE      serving (default) or log
    --use USE…       make only this key; may be given several times
${keysOption}
${publicOption}
${windowOptions(workingDays)}
${replaceOption}`,
  run: async (call) => {
    const { createWorking, roleUses } = await import("../../node/keys/ceremonies.ts");
    const region = call.text("region") ?? "";
    if (!/^[a-z]+-[a-z]+[0-9]+$/.test(region))
      throw new UsageError(`--region is ${JSON.stringify(region)}; use a name like eu-west1.`);
    const role = call.text("role") ?? "serving";
    if (role !== "serving" && role !== "log")
      throw new UsageError(`--role is ${JSON.stringify(role)}; use serving or log.`);
    const uses = call.texts("use");
    const all: readonly string[] = roleUses[role];
    const unknown = uses.find((use) => !all.includes(use));
    if (unknown !== undefined)
      throw new UsageError(`--use is ${JSON.stringify(unknown)}; role ${role} has ${all.join(", ")}.`);
    const made = await createWorking({
      role,
      region,
      ...(uses.length === 0 ? {} : { uses }),
      keys: pathOf(call, "keys"),
      public: outputOf(call, "public"),
      window: windowOf(call, workingDays),
      nowMs: call.now(),
    });
    say(call, made);
  },
};

const createRecordIdSecret: Command = {
  name: "keys create-record-id",
  usage: "",
  summary: "make the secret of record ids, once and for ever for the whole service",
  options: `
${keysOption}`,
  run: async (call) => {
    const { createRecordId } = await import("../../node/keys/ceremonies.ts");
    await createRecordId(pathOf(call, "keys"));
    call.terminal.note(
      `record-id.jwk is in ${call.text("keys")}. All nodes of all regions need this one; it never rotates.`,
    );
    return exitCodes.done;
  },
};

const createHostedSecret: Command = {
  name: "keys create-hosted",
  usage: "",
  summary:
    "make the secret of the keys that the issuance process holds for businesses, once for the whole service",
  options: `
${keysOption}`,
  run: async (call) => {
    const { createHosted } = await import("../../node/keys/ceremonies.ts");
    await createHosted(pathOf(call, "keys"));
    call.terminal.note(
      `hosted.jwk is in ${call.text("keys")}. Every issuance process needs this one, and no node may have it.`,
    );
    return exitCodes.done;
  },
};

const createSecret: Command = {
  name: "keys create-secret",
  usage: "",
  summary: "make a secret in a file, for the cluster or for a node that asks the issuance process",
  options: `
    --out FILE  file for the secret; it must not exist`,
  run: async (call) => {
    const { writeSecret } = await import("../../node/keys/secret-file.ts");
    await writeSecret(pathOf(call, "out"));
    call.terminal.note(`The secret is in ${call.text("out")}, readable only by you.`);
    return exitCodes.done;
  },
};

interface Made {
  readonly use: string;
  readonly region: string | null;
  readonly keys: readonly { readonly key_id: string; readonly alg: string }[];
  readonly valid_from: string;
  readonly valid_until: string | null;
}

function say(call: Call, made: readonly Made[]): void {
  const { terminal } = call;
  terminal.note(
    `The private halves are in ${call.text("keys")}, readable only by you; the public ones are in ${call.text("public")}.`,
  );
  for (const { use, region, keys, valid_from, valid_until } of made) {
    for (const { key_id, alg } of keys)
      terminal.print(
        [region === null ? use : `${use} ${region}`, key_id, alg, valid_from, valid_until].join("  "),
      );
  }
}

// `svc keys certify`, `issue`, `anchors`: what the holders of roots and of the issuance pair sign about keys.

const certify: Command = {
  name: "keys certify",
  usage: "",
  summary: "a root certifies itself, an issuance pair, or another root",
  details: [
    "Read what is printed before the file leaves the machine: the keys are then trusted as it says.",
    "Two roots that certify each other form a succession: a verifier that pins one accepts what the other certifies.",
  ],
  options: `
    --root DIR     folder of the root's private halves
    --public FILE  public halves to certify
    --until TIME   end them at this time, whatever their file says
${environmentOption}
    --out FILE     file for the certificates
${replaceOption}`,
  run: async (call) => {
    const { certifyRequests } = await import("../../node/keys/ceremonies.ts");
    const until = call.text("until");
    const certified = await certifyRequests({
      root: pathOf(call, "root"),
      requests: pathOf(call, "public"),
      environment: environmentOf(call),
      until: until === null ? null : timestampOf("--until", until),
      out: outputOf(call, "out"),
      nowMs: call.now(),
    });
    for (const { use, keys, valid_from, valid_until } of certified) {
      for (const { key_id, alg } of keys)
        call.terminal.print(
          `Certified as ${use}: ${key_id} (${alg}), valid from ${valid_from} until ${valid_until}.`,
        );
    }
  },
};

const issue: Command = {
  name: "keys issue",
  usage: "",
  summary: "issue the next key set, with everything that is needed to verify earlier signatures",
  details: [
    "The set is written only if it verifies under the anchors. A key of the previous set is never left out.",
    "A compromise is never withdrawn; of two instants the earlier one counts.",
  ],
  options: `
    --issuance DIR                folder of the issuance pair's private halves
    --anchors FILE                anchors that the set must verify under
    --previous FILE               previous set; --first says that there is none
    --first                       this is the first set of the service
    --public FILE…                working keys to certify
    --certificates FILE…          certificates that a root gave
    --retire KEY_ID[=TIME]…       end a working key, now or at a given time
    --compromised KEY_ID[=TIME]…  invalidate what the key signed from this time on (default now)
${environmentOption}
    --out FILE                    file for the set
${replaceOption}`,
  run: async (call) => {
    const isFirst = call.flag("first");
    if (isFirst === (call.text("previous") !== null))
      throw new UsageError("Name the previous set with --previous FILE, or use --first if there is none.");
    const { writeKeySet } = await import("../../node/keys/ceremonies.ts");
    const trust = await writeKeySet({
      issuance: pathOf(call, "issuance"),
      anchors: pathOf(call, "anchors"),
      environment: environmentOf(call),
      previous: isFirst ? null : pathOf(call, "previous"),
      requests: pathsOf(call, "public"),
      certificates: pathsOf(call, "certificates"),
      ends: instantsOf(call, "retire"),
      compromised: instantsOf(call, "compromised"),
      out: outputOf(call, "out"),
      nowMs: call.now(),
    });
    for (const line of keyLines(trust, call.now())) call.terminal.print(line);
  },
};

const anchors: Command = {
  name: "keys anchors",
  usage: "",
  summary: "write the public anchors that nodes and verifiers pin",
  options: `
    --root FILE…       public halves of a root to pin
    --rp-id ID…        relying party of the portal's passkeys
    --origin URL…      origin of the portal's passkeys
    --log-origin TEXT  first line of log checkpoints
${environmentOption}
    --out FILE         file for the anchors
${replaceOption}`,
  run: async (call) => {
    const { writeAnchors } = await import("../../node/keys/ceremonies.ts");
    const logOrigin = call.text("log-origin");
    if (logOrigin === null) throw new UsageError("--log-origin is missing.");
    const written = await writeAnchors({
      roots: pathsOf(call, "root"),
      environment: environmentOf(call),
      passkeys: { rp_ids: call.texts("rp-id"), origins: call.texts("origin") },
      logOrigin,
      out: outputOf(call, "out"),
    });
    for (const { key_id, alg } of written.roots) call.terminal.print(`Pinned: ${key_id} (${alg}).`);
  },
};

// `svc keys show`, `id`: shows a key set in plain words, as the public verifier judges it, and the ids of keys in a file.

const show: Command = {
  name: "keys show",
  usage: "FILE",
  summary: "verify a key set under anchors, and show its contents",
  options: `
    --anchors FILE  anchors to verify it under
${environmentOption}`,
  run: async (call) => {
    const { loadAnchors, loadKeySet } = await import("../../node/keys/trusted-files.ts");
    const file = resolve(call.cwd, call.argument);
    const anchors = await loadAnchors(pathOf(call, "anchors"), environmentOf(call));
    const { trust } = await loadKeySet(file, anchors);
    for (const line of keyLines(trust, call.now())) call.terminal.print(line);
    for (const log of witnessedAs(trust)) call.terminal.print(`svc witness --log '${log}'`);
    for (const key of namedAs(trust)) call.terminal.print(`log ${key}   (policy files)`);
  },
};

const id: Command = {
  name: "keys id",
  usage: "FILE",
  summary: "print the key_id of a private key, or of each of the public halves in a file",
  options: `
    --use USE  only of the keys with this use`,
  run: async (call) => {
    const { keyIdsIn } = await import("../../node/keys/exchange-files.ts");
    for (const keyId of await keyIdsIn(resolve(call.cwd, call.argument), call.text("use")))
      call.terminal.print(keyId);
    return exitCodes.done;
  },
};

interface ShownTrust {
  readonly anchors: { readonly environment: string; readonly roots: readonly { readonly key_id: string }[] };
  readonly keySet: { readonly issued_at: string };
  readonly keys: ReadonlyMap<string, ShownKey>;
}

interface ShownKey {
  readonly key_id: string;
  readonly use: string;
  readonly region: string | null;
  readonly alg: string;
  readonly valid_from: string;
  readonly valid_until: string | null;
  readonly compromised_from: string | null;
}

/** The lines for a verified key set, one per key. */
function keyLines(trust: ShownTrust, nowMs: number): readonly string[] {
  const { anchors, keySet, keys } = trust;
  const pinned = new Set(anchors.roots.map((root) => root.key_id));
  const at = new Date(nowMs).toISOString();
  return [
    `Issued at ${keySet.issued_at}; verifies under ${anchors.environment} anchors.`,
    ...[...keys.values()].map((key) => {
      const what = key.region === null ? key.use : `${key.use} ${key.region}`;
      const pin = pinned.has(key.key_id) ? ", pinned" : "";
      return `${what.padEnd(18)} ${key.key_id} ${key.alg.padEnd(9)} ${standing(key, at)}${pin}`;
    }),
  ];
}

function standing(key: ShownKey, at: string): string {
  if (key.compromised_from !== null) return `COMPROMISED from ${key.compromised_from}`;
  if (at < key.valid_from) return `valid from ${key.valid_from} until ${key.valid_until ?? "it is ended"}`;
  if (key.valid_until !== null && at >= key.valid_until) return `ended ${key.valid_until}`;
  return `valid until ${key.valid_until ?? "it is ended"}`;
}

export const keyCommands: readonly Command[] = [
  createRoot,
  createIssuance,
  createWorkingKeys,
  createRecordIdSecret,
  createHostedSecret,
  createSecret,
  certify,
  anchors,
  issue,
  show,
  id,
  serveIssuance,
];
