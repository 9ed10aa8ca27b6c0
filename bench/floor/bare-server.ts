// The bare signed HTTP server that the floors of requests share. For every request it verifies one signature over a base of the
// same length as ours and makes one signature of a receipt of the same length: what no implementation could leave out. What else
// has to be done, and with what it answers, each floor says. Both use the library for Ed25519 that the service would use. Verifying is on
// the main thread; signing as well with libsodium, as that takes less of it than a job for the thread pool, where OpenSSL signs.

import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { type Ed25519Verifier, ed25519Library } from "../../crypto/ed25519.ts";
import { parseBase64Url } from "../../protocol/bytes.ts";

/** How much work an answer is, and what the answers are. */
export interface AnswerPlan {
  readonly signatureBaseLength: number;
  /** Lengths of the receipt's signed bytes and of its envelope as it is stored. */
  readonly receiptLength: number;
  readonly envelopeLength: number;
  readonly bodies: readonly Uint8Array[];
}

const nonceOf = /;nonce="([^"]{16,128})"/;
export const nonceLifeMs = 120_000;
export const keyId = "k".repeat(43);
const signInPool = promisify<null, Uint8Array, KeyObject, Buffer>(sign);

export function newRetrievalId(nowMs: number): string {
  return `ret_${nowMs.toString(16).padStart(12, "0")}${randomBytes(10).toString("hex")}`;
}

/** Answers a request whose signature is verified, with bytes or, to refuse it, with a status. */
type Answer = (asked: {
  readonly request: IncomingMessage;
  readonly body: Buffer;
  readonly nonce: string;
}) => Promise<Uint8Array | number>;

export class BareServer {
  readonly envelope: string;
  readonly #answer: Answer;
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.once("end", () => void this.#take(request, Buffer.concat(chunks), response));
  });
  readonly #isGenuine: () => boolean;
  /** Makes the signature of a receipt. */
  readonly sign: () => Promise<unknown>;
  readonly #bodies: readonly Uint8Array[];
  #next = 0;

  constructor(plan: AnswerPlan, answer: Answer) {
    const [caller, region] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
    const library = ed25519Library();
    const base = randomBytes(plan.signatureBaseLength);
    const signature = library.signerOf(caller.privateKey)(base);
    const isBy = verifierOf(caller.publicKey);
    this.#isGenuine = () => isBy(base, signature);
    const message = randomBytes(plan.receiptLength);
    const signHere = library.signerOf(region.privateKey);
    this.sign =
      library.name === "openssl"
        ? () => signInPool(null, message, region.privateKey)
        : async () => signHere(message);
    this.envelope = "e".repeat(plan.envelopeLength);
    this.#bodies = plan.bodies;
    this.#answer = answer;
  }

  nextBody(): Uint8Array {
    const body = this.#bodies[this.#next % this.#bodies.length] ?? new Uint8Array();
    this.#next += 1;
    return body;
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close().closeAllConnections();
  }

  async #take(request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<void> {
    const nonce = nonceOf.exec(String(request.headers["signature-input"]))?.[1];
    if (nonce === undefined || !this.#isGenuine()) return refuse(response, 401);
    try {
      const answer = await this.#answer({ request, body, nonce });
      if (typeof answer === "number") return refuse(response, answer);
      response.writeHead(200, { "content-type": "application/json", "content-length": answer.length });
      response.end(answer);
    } catch (error) {
      console.error(error);
      refuse(response, 500);
    }
  }
}

function verifierOf(key: KeyObject): Ed25519Verifier {
  const x = parseBase64Url(key.export({ format: "jwk" }).x ?? "");
  if (x === null) throw new Error("An Ed25519 key has an x.");
  return ed25519Library().verifierOf(x);
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-length": 0 }).end();
}
