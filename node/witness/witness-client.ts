// Reaches a witness over HTTP (C2SP tlog-witness): P1 and P2 of the port.
//   C1. Only addresses of the public Internet are reached, and only by TLS, unless a setting allows others: what is entered as a
//       witness must not become a way into the operator's own network, whatever its name resolves to.
//   C2. Redirects are not followed.

import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { nativeCrypto } from "../../crypto/native.ts";
import {
  type AddCheckpoint,
  addCheckpointPath,
  formatAddCheckpoint,
  isTreeSizeType,
  type NoteKey,
  parseTreeSize,
  parseVerifierKey,
} from "../../protocol/log/note.ts";
import { isPublicAddress } from "../../std/ip-address.ts";
import {
  type ReachedWitness,
  type WitnessCall,
  type WitnessReply,
  witnessAnswerMax,
} from "../../transport/witness-port.ts";
import { ConfigError, type Env, parseSwitch } from "../configuration/config-error.ts";

export interface WitnessAddress {
  readonly key: NoteKey;
  /** Where `/add-checkpoint` is, without a slash at its end. */
  readonly url: string;
  /** Whether its address may be private, and the connection without TLS. */
  readonly mayBePrivate: boolean;
}

/** A connection that is used again. */
const agentOptions = { keepAlive: true, maxSockets: 2 };
const [plainAgent, tlsAgent] = [new PlainAgent(agentOptions), new TlsAgent(agentOptions)];

export function reachWitness({ key, url, mayBePrivate }: WitnessAddress): ReachedWitness {
  const target = new URL(url + addCheckpointPath);
  return {
    key,
    addCheckpoint: (request) => post(target, mayBePrivate, request),
  };
}

function post(target: URL, mayBePrivate: boolean, asked: AddCheckpoint): WitnessCall {
  const body = Buffer.from(formatAddCheckpoint(asked), "utf8");
  const { promise: reply, resolve, reject } = Promise.withResolvers<WitnessReply>();
  const isPlain = target.protocol === "http:";
  const host = target.hostname.replaceAll(/[[\]]/g, "");
  if (!mayBePrivate && (isPlain || !isPublicHost(host))) {
    reject(new Error("its address is private or without TLS"));
    return { reply, cancel: () => {} };
  }
  const options = {
    method: "POST",
    agent: isPlain ? plainAgent : tlsAgent,
    headers: { "content-type": "text/plain; charset=utf-8", "content-length": body.length },
    ...(mayBePrivate ? {} : { lookup: lookUpPublic }),
  };
  const request = isPlain ? plainRequest(target, options) : tlsRequest(target, options);
  request.once("error", reject);
  request.once("response", (response) => {
    const chunks: Buffer[] = [];
    let length = 0;
    response.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length <= witnessAnswerMax) return void chunks.push(chunk);
      // The rest may have arrived already, and would end the answer.
      reject(new Error("its answer is too long"));
      request.destroy();
    });
    response.once("error", reject);
    response.once("close", () => reject(new Error("its answer was cut off")));
    response.once("end", () => {
      const { statusCode: status = 0, headers } = response;
      resolve(readReply(status, headers["content-type"] ?? "", Buffer.concat(chunks).toString("utf8")));
    });
  });
  request.end(body);
  return { reply, cancel: () => void request.destroy(new Error("it did not answer in time")) };
}

function readReply(status: number, type: string, text: string): WitnessReply {
  if (status === 200) return { kind: "cosigned", lines: text };
  const size = status === 409 && isTreeSizeType(type) ? parseTreeSize(text) : null;
  return size === null ? { kind: "refused", status } : { kind: "at", size };
}

/** A name is judged by what it resolves to, when it is connected to. */
function isPublicHost(host: string): boolean {
  return isPublicAddress(host) ?? true;
}

type Found = (
  error: NodeJS.ErrnoException | null,
  address: string | LookupAddress[],
  family?: number,
) => void;

/** Like the platform's, without addresses that are not public. */
function lookUpPublic(host: string, options: LookupOptions, found: Found): void {
  lookup(host, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return found(error, []);
    const allowed = addresses.filter(({ address }) => isPublicAddress(address) === true);
    const [first] = allowed;
    if (first === undefined) return found(new Error("its address is private"), []);
    if (options.all === true) return found(null, allowed);
    found(null, first.address, first.family);
  });
}

// The witnesses of this deployment's log: who has to cosign a checkpoint before it is published.

export interface WitnessConfig {
  readonly witnesses: readonly WitnessAddress[];
  /** How many of them have to cosign. */
  readonly quorum: number;
  /** Whether anything was set: a sandbox that was told nothing runs witnesses of its own. */
  readonly isSet: boolean;
}

const setting = "SVC_LOG_WITNESSES";
const quorumSetting = "SVC_LOG_WITNESS_QUORUM";
const privateSetting = "SVC_LOG_WITNESS_PRIVATE";
const witnessesMax = 16;

/** Throws {@link ConfigError}. */
export function parseWitnesses(env: Env): WitnessConfig {
  const allowsPrivate = parseSwitch(env, privateSetting, "no");
  const text = env[setting]?.trim() ?? "";
  const witnesses =
    text === "" ? [] : text.split(",").map((each) => parseWitness(each.trim(), allowsPrivate));
  if (witnesses.length > witnessesMax)
    throw new ConfigError(setting, `names ${witnesses.length} witnesses; use at most ${witnessesMax}`);
  const twin = witnesses.find(({ key }, at) =>
    witnesses.slice(0, at).some(({ key: other }) => other.name === key.name || isSame(other, key)),
  );
  if (twin !== undefined)
    throw new ConfigError(setting, `names ${twin.key.name} or its key twice; a witness counts once`);
  return Object.freeze({ witnesses, quorum: parseQuorum(env, witnesses.length), isSet: setting in env });
}

function isSame(one: { readonly publicKey: Uint8Array }, other: { readonly publicKey: Uint8Array }): boolean {
  return one.publicKey.every((byte, at) => byte === other.publicKey[at]);
}

function parseWitness(text: string, mayBePrivate: boolean): WitnessAddress {
  const [verifierKey = "", address = "", ...more] = text.split(/\s+/);
  const key = parseVerifierKey(verifierKey, nativeCrypto.sha256);
  if (key?.kind !== "cosignature" || more.length > 0)
    throw new ConfigError(
      setting,
      `names ${JSON.stringify(text)}; use the key that the witness prints, a space and its URL, separated by commas`,
    );
  const url = URL.parse(address);
  const isPlainUrl = url !== null && url.username === "" && url.search === "" && url.hash === "";
  const isAllowed = url?.protocol === "https:" || (url?.protocol === "http:" && mayBePrivate);
  if (!isPlainUrl || !isAllowed)
    throw new ConfigError(
      setting,
      `names ${JSON.stringify(address)}; use an https URL, or set ${privateSetting}=yes for a private network`,
    );
  return { key, url: url.href.replace(/\/$/, ""), mayBePrivate };
}

/** All of them, unless it is set. */
function parseQuorum(env: Env, count: number): number {
  const text = env[quorumSetting];
  if (text === undefined) return count;
  const quorum = /^[0-9]{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (quorum <= count) return quorum;
  throw new ConfigError(
    quorumSetting,
    `is ${JSON.stringify(text)}; use a whole number from 0 to ${count}, the number of witnesses in ${setting}`,
  );
}
