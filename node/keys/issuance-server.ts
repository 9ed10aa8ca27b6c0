// The issuance process: holds the issuance pair, so that no node has it in memory or on disk. It signs what nodes on this
// machine request, and only what it reads as a certificate or a custody statement of its environment, issued now. Where its folder has
// hosted.jwk it also seals by the keys of businesses that follow from it (hosted-keys.ts).
//   G1. No signature leaves before the audit log has a line about it: who asked, what was signed, by which keys.
//   G2. A caller that cannot present a node's secret learns only that; its request is not read.
//   G3. The pair signs only while the key set, verified under the anchors, lists it and it is valid.
//   G4. Bodies, connections and times are bounded: nobody who reaches the socket can block the process.
//   G5. A hosted key seals only what a node says a person confirmed: the line names the confirmation as the person's journal does.

import { createHash, timingSafeEqual } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { chmod, readdir, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { join } from "node:path";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { type Clock, type HostedKeys, hostedGenerationsMax } from "../../crypto/port.ts";
import { hashOf, parseBase64, utf8 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import { windowFault } from "../../protocol/keys/signatures.ts";
import { anyText, integer, matching, object, parseShaped, type Shape, uuid } from "../../protocol/shape.ts";
import { createIssuance, judgeIssuable } from "../../service/register/issuance.ts";
import type { Trust } from "../../verifier/trust.ts";
import { ConfigError } from "../configuration/config-error.ts";
import {
  hostedKeyPath,
  hostedSealPath,
  type IssuanceAddress,
  issuePath,
} from "../configuration/key-config.ts";
import { appendLine } from "../keeping/audit-log.ts";
import { loadPair } from "./ceremonies.ts";
import { createHostedKeys, secretIn } from "./hosted-keys.ts";
import type { Pair } from "./key-certificates.ts";
import { loadSecret } from "./secret-file.ts";
import { anchorsFile, keySetFile, loadAnchors, loadKeySet } from "./trusted-files.ts";

const bodyBytesMax = 32_768;
const connectionsMax = 64;
const requestMs = 10_000;
const secretExtension = ".secret";

export interface IssuanceProcess extends AsyncDisposable {
  readonly address: IssuanceAddress;
  /** The key_ids of the pair. */
  readonly keyIds: readonly string[];
}

export interface IssuanceProcessOptions {
  /** The folder of the pair, with the anchors and the key set. */
  readonly keys: string;
  /** The folder of the nodes' secrets, each in `NAME.secret`: the audit log uses that name. */
  readonly clients: string;
  readonly audit: string;
  readonly listen: IssuanceAddress;
  readonly environment: Anchors["environment"];
  readonly clock: Clock;
}

interface Client {
  readonly name: string;
  readonly digest: Buffer;
}

interface Office {
  readonly clients: readonly Client[];
  readonly audit: AuditLog;
  readonly pair: Pair;
  /** Null where hosted.jwk is missing: then no business has a hosted key. */
  readonly hosted: HostedKeys | null;
  readonly trust: Trust;
  readonly environment: Anchors["environment"];
  readonly clock: Clock;
}

/** Throws {@link ConfigError} for keys that cannot issue, indistinguishable nodes, or an address that is in use. */
export async function startIssuance(options: IssuanceProcessOptions): Promise<IssuanceProcess> {
  const { keys, environment, clock } = options;
  const anchors = await loadAnchors(join(keys, anchorsFile), environment);
  const { trust } = await loadKeySet(join(keys, keySetFile), anchors);
  const pair = await loadPair(keys, "issuance");
  const fault = pairFault(pair, trust, formatTimestamp(clock.now()));
  if (fault !== null) throw new ConfigError(join(keys, "issuance-p256.jwk"), `cannot issue: ${fault}`);
  const clients = await loadClients(options.clients);
  const audit = openAuditLog(options.audit);
  const secret = await hostedSecret(keys);
  const hosted = secret === null ? null : createHostedKeys({ secret, environment, clock });
  const office: Office = { clients, audit, pair, hosted, trust, environment, clock };
  const server = createServer(
    { requestTimeout: requestMs, headersTimeout: requestMs },
    (request, response) => {
      void attend(office, request, response);
    },
  );
  server.maxConnections = connectionsMax;
  await listen(server, options.listen);
  return {
    address: boundAddress(server, options.listen),
    keyIds: pair.map(({ keyId }) => keyId),
    [Symbol.asyncDispose]: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeIdleConnections();
      await closed.promise;
    },
  };
}

async function hostedSecret(keys: string): Promise<Uint8Array | null> {
  const jwk = await (await FileKeyStore.open(keys)).loadOfAlgorithm("hosted", "Ed25519");
  return jwk === null ? null : secretIn(jwk);
}

/** Why the pair may not issue at `at` (G3); null if it may. */
function pairFault(pair: Pair, trust: Trust, at: string): string | null {
  const [classical, postQuantum] = pair.map(({ keyId }) => trust.keys.get(keyId));
  if (classical?.use !== "issuance" || classical.pair !== postQuantum?.key_id)
    return "the pair is not in the key set as an issuance pair; issue a set with its certificate";
  const fault = windowFault(classical, at) ?? windowFault(postQuantum, at);
  if (fault === null && classical.compromised_from === null) return null;
  return fault?.detail ?? `The pair is compromised from ${classical.compromised_from} on.`;
}

async function loadClients(folder: string): Promise<readonly Client[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(
      folder,
      `cannot be read (${error.code}); it holds a file NAME.secret for each node`,
    );
  });
  const clients: Client[] = [];
  for (const name of names.filter((each) => each.endsWith(secretExtension)).sort()) {
    const digest = digestOf(await loadSecret(join(folder, name)));
    const twin = clients.find((each) => each.digest.equals(digest));
    if (twin !== undefined)
      throw new ConfigError(join(folder, name), `is also the secret of ${twin.name}; make one for each node`);
    clients.push({ name: name.slice(0, -secretExtension.length), digest });
  }
  if (clients.length > 0) return clients;
  throw new ConfigError(folder, "holds no secret of a node; make NAME.secret with `svc keys create-secret`");
}

function digestOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

async function attend(office: Office, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const client = clientOf(office, request.headers.authorization ?? "");
    if (client === null) return answer(response, 401, { code: "unknown_node" });
    const work = request.method === "POST" ? works.get(request.url ?? "") : undefined;
    if (work === undefined) answer(response, 404, { code: "not_found" });
    else await work(office, client, await readBody(request), response);
  } catch {
    // What the audit log did not record was not done (G1).
    answer(response, 503, { code: "unavailable" });
  }
}

/** Compares with every secret, so that the timing reveals nothing. */
function clientOf({ clients }: Office, authorization: string): Client | null {
  const given = digestOf(authorization.replace(/^Bearer /, ""));
  let found: Client | null = null;
  for (const client of clients) if (timingSafeEqual(client.digest, given)) found = client;
  return found;
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bodyBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

type Work = (office: Office, client: Client, body: string | null, response: ServerResponse) => Promise<void>;

const works: ReadonlyMap<string, Work> = new Map([
  [issuePath, issue],
  [hostedKeyPath, tellHostedKey],
  [hostedSealPath, sealHosted],
]);

async function issue(
  office: Office,
  client: Client,
  body: string | null,
  response: ServerResponse,
): Promise<void> {
  const { audit, pair, trust, environment, clock } = office;
  const document = body === null ? null : parseDocument(body);
  if (document === null) return answer(response, 400, { code: "request_invalid" });
  const { payloadType, payload } = document;
  const nowMs = clock.now();
  const at = formatTimestamp(nowMs);
  const entry = { at, asked_by: client.name, payload_type: payloadType, payload_hash: hashOf(payload) };
  const judged = judgeIssuable(document, { environment, nowMs });
  const fault = judged.ok ? pairFault(pair, trust, at) : judged.detail;
  if (!judged.ok || fault !== null) {
    audit.append({ ...entry, outcome: "refused", detail: fault ?? "" });
    return answer(response, 422, { code: "issuance_refused", detail: fault });
  }
  const { kind, subject, says, issued_at } = judged.value;
  const signed = await createIssuance(pair, { environment, clock }).issue(payloadType, payload);
  if (!signed.ok) return answer(response, 422, { code: signed.code, detail: signed.detail });
  const key_ids = pair.map(({ keyId }) => keyId);
  audit.append({ ...entry, outcome: "signed", kind, subject, says, issued_at, key_ids });
  answer(response, 200, signed.value);
}

const keyName = { business_uuid: uuid, generation: integer({ min: 0, max: hostedGenerationsMax }) };
const keyAsked = object(keyName);
const sealAsked = object({
  ...keyName,
  payload: anyText,
  confirmation: matching(/^[\w-]{43}$/, "the code of a confirmation"),
});

async function tellHostedKey(
  { hosted }: Office,
  _client: Client,
  body: string | null,
  response: ServerResponse,
): Promise<void> {
  const of = askedIn(keyAsked, body);
  if (of === null) return answer(response, 400, { code: "request_invalid" });
  if (hosted === null) return answer(response, 409, { code: "no_hosted_keys" });
  answer(response, 200, { public_key: await hosted.publicKey(of) });
}

/** See G5. */
async function sealHosted(
  { hosted, audit, clock }: Office,
  client: Client,
  body: string | null,
  response: ServerResponse,
): Promise<void> {
  const asked = askedIn(sealAsked, body);
  const payload = asked === null ? null : parseBase64(asked.payload);
  if (asked === null || payload === null) return answer(response, 400, { code: "request_invalid" });
  if (hosted === null) return answer(response, 409, { code: "no_hosted_keys" });
  const { confirmation, business_uuid: subject } = asked;
  const at = formatTimestamp(clock.now());
  const [payload_type, payload_hash] = [payloadTypes["seal.v2"], hashOf(payload)];
  const entry = { at, asked_by: client.name, payload_type, payload_hash, subject, confirmation };
  const sealed = await hosted.seal(asked, { payload, confirmation });
  if (!sealed.ok) {
    audit.append({ ...entry, outcome: "refused", detail: sealed.detail });
    return answer(response, 422, { code: sealed.code, detail: sealed.detail });
  }
  const key_ids = sealed.value.signatures.map(({ keyid }) => keyid);
  audit.append({ ...entry, outcome: "signed", kind: "hosted_seal", key_ids });
  answer(response, 200, sealed.value);
}

function askedIn<T>(shape: Shape<T>, body: string | null): T | null {
  return body === null ? null : parseShaped(shape, utf8(body));
}

function parseDocument(body: string): { readonly payloadType: string; readonly payload: Uint8Array } | null {
  try {
    const { payload_type: payloadType, payload } = JSON.parse(body) as Record<string, unknown>;
    const bytes = typeof payload === "string" ? parseBase64(payload) : null;
    const isShort = typeof payloadType === "string" && payloadType.length <= 256;
    return isShort && bytes !== null ? { payloadType, payload: bytes } : null;
  } catch {
    return null;
  }
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  if (response.headersSent || response.destroyed) return;
  response
    .writeHead(status, { "content-type": "application/json", connection: "close" })
    .end(JSON.stringify(body));
}

async function listen(server: Server, address: IssuanceAddress): Promise<void> {
  if ("socket" in address) await dropStale(address.socket);
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  if ("socket" in address) server.listen(address.socket, listening.resolve);
  else server.listen(address.port, address.host, listening.resolve);
  const name = "socket" in address ? address.socket : `${address.host}:${address.port}`;
  await listening.promise.catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError("--listen", `${name} cannot be listened on (${error.code}); name another address`);
  });
  // Its own user and its group: the group is the nodes', which run as another user. A secret is needed besides.
  if ("socket" in address) await chmod(address.socket, 0o660);
}

/** Removes a socket that a killed process left behind; one that answers stays. */
async function dropStale(path: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const probe = connect(path);
  probe.once("connect", () => resolve(false));
  probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  const isStale = await promise;
  probe.destroy();
  if (isStale) await rm(path, { force: true });
}

function boundAddress(server: Server, asked: IssuanceAddress): IssuanceAddress {
  if ("socket" in asked) return asked;
  return { host: asked.host, port: (server.address() as AddressInfo).port };
}

// An append-only log: one JSON line per entry, on the disk before its writer continues.
//   A1. `append` returns once its line is flushed. If a line cannot be written, it throws, and the caller does not act.
//   A2. Entries are in the order in which they were appended. A line that a crash cut off is terminated before the next
//       one.
//   A3. Each line opens the file by its name, so a file that log rotation moves away is recreated.

interface AuditLog {
  append(entry: Readonly<Record<string, string | readonly string[]>>): void;
}

/** Throws if the file cannot be created. */
function openAuditLog(path: string): AuditLog {
  closeSync(openSync(path, "a", 0o600));
  return { append: (entry) => appendLine(path, `${JSON.stringify(entry)}\n`) };
}
