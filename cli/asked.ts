// `svc keys register` and `svc mandate request`: a link by which an owner of the business does on a page what the terminal asks for.

import { type Asked, mandateDaysMax, mandateTypes, portalLink } from "../client/portal-link.ts";
import { type Call, type Command, onlyArgument, UsageError } from "./command.ts";
import { provenParty } from "./keygen.ts";

const portalOption = "    --portal URL           address of the portal";

export const keysRegister: Command = {
  name: "keys register",
  usage: "KEY_FILE --business UUID | --company UUID --certificate CERT_ID --portal URL",
  summary: "ask an owner to register a key, by a link",
  details: [
    "  An owner, admin or developer of the party opens the link, compares the key, and confirms with a passkey.",
  ],
  options: `
    --business UUID        the business whose pushes and reads the key will sign
    --company UUID         the AI company whose searches and fetches the key will sign
    --certificate CERT_ID  the party's certificate in force, sha256:…
${portalOption}`,
  run: async (call) => {
    const file = onlyArgument(call, keysRegister);
    const origin = portalOf(call);
    const proven = await provenParty(call, file);
    call.terminal.note(`The key is ${proven.keyId}. Its owner compares it with what the page shows.`);
    print(call, origin, { ask: "key.register", proven: proven.printed });
  },
};

const defaults = { records: 10_000, bytes: 1_000_000_000 };

export const mandateRequest: Command = {
  name: "mandate request",
  usage: "--business UUID --key KEY_ID --country CC… --portal URL",
  summary: "ask an owner for a mandate of a key, by a link",
  details: [
    "  An owner or admin with a sealing passkey opens the link, reads the mandate word by word, and seals it.",
  ],
  options: `
    --business UUID        the business that the key is to publish for
    --key KEY_ID           the key, which is registered already
    --type TYPE…           what it may publish (default products)
    --country CC…          where
    --records-per-hour N   at most so many records an hour (default ${defaults.records})
    --bytes-per-day N      at most so many bytes a day (default ${defaults.bytes})
    --days N               for so long (default ${mandateDaysMax})
    --from RANGE…          from these networks alone, such as 203.0.113.0/24
${portalOption}`,
  run: async (call) => {
    const types = call.texts("type");
    const sources = call.texts("from");
    const most = { min: 1, max: Number.MAX_SAFE_INTEGER };
    print(call, portalOf(call), {
      ask: "mandate",
      uuid: call.text("business") ?? "",
      key_id: call.text("key") ?? "",
      days: call.integer("days", { min: 1, max: mandateDaysMax, fallback: mandateDaysMax }),
      scope: {
        record_types: types.length === 0 ? ["products"] : types.map(typeNamed),
        countries: [...new Set(call.texts("country"))],
        directions: ["publish"],
        caps: {
          records_per_hour: call.integer("records-per-hour", { ...most, fallback: defaults.records }),
          bytes_per_day: call.integer("bytes-per-day", { ...most, fallback: defaults.bytes }),
        },
        source_ip_allow_list: sources.length === 0 ? null : [...new Set(sources)],
      },
    });
  },
};

function typeNamed(text: string): string {
  const known = mandateTypes.find((each) => each === text);
  if (known === undefined)
    throw new UsageError(`--type is ${JSON.stringify(text)}; use one of ${mandateTypes.join(", ")}.`);
  return known;
}

/** The origin of the portal; a link to it is confidential on its way where it is elsewhere. */
function portalOf(call: Call): string {
  const text = call.text("portal") ?? "";
  const url = URL.parse(text);
  const isLocal = url?.protocol === "http:" && url.hostname === "localhost";
  if (url === null || !(url.protocol === "https:" || isLocal))
    throw new UsageError(
      `--portal is ${JSON.stringify(text)}; use its address, such as https://portal.example.`,
    );
  return url.origin;
}

/** What the page would not read is refused here already. */
function print(call: Call, origin: string, asked: Asked): void {
  const link = portalLink(origin, asked);
  if (link === null)
    throw new UsageError(
      "This asks for nothing that a page can show: look at the UUID, the key id, the countries and the networks.",
    );
  call.terminal.print(link);
}
