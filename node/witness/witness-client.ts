// Reaches a witness over HTTP (C2SP tlog-witness): P1 and P2 of the port.
//   C1. Only addresses of the public Internet are reached, and only by TLS, unless a setting allows others: what is entered as a
//       witness must not become a way into the operator's own network, whatever its name resolves to.
//   C2. Redirects are not followed.

import { type LookupAddress, type LookupOptions, lookup } from "node:dns";
import { Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import type { NoteKey } from "../../protocol/log/note.ts";
import {
  type AddCheckpoint,
  addCheckpointPath,
  formatAddCheckpoint,
  isTreeSizeType,
  parseTreeSize,
} from "../../protocol/log/witness-request.ts";
import { isPublicAddress } from "../../std/ip-address.ts";
import {
  type ReachedWitness,
  type WitnessCall,
  type WitnessReply,
  witnessAnswerMax,
} from "../../transport/witness-port.ts";

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
    ...{ method: "POST", agent: isPlain ? plainAgent : tlsAgent },
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
