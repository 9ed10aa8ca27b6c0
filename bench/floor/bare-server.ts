// The bare signed HTTP server that the floors of requests share. For every request it verifies one signature over a base of the
// same length as ours and makes one signature of a receipt of the same length: what no implementation could leave out. What else
// has to be done, and with what it answers, each floor says. Verifying is on the main thread and signing on the thread pool.

import { generateKeyPairSync, type KeyObject, randomBytes, sign, verify } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";

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
const signAsync = promisify<null, Uint8Array, KeyObject, Buffer>(sign);

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
  readonly #request: { readonly key: KeyObject; readonly base: Uint8Array; readonly signature: Uint8Array };
  readonly #receipt: { readonly key: KeyObject; readonly message: Uint8Array };
  readonly #bodies: readonly Uint8Array[];
  #next = 0;

  constructor(plan: AnswerPlan, answer: Answer) {
    const [caller, region] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
    const base = randomBytes(plan.signatureBaseLength);
    this.#request = { key: caller.publicKey, base, signature: sign(null, base, caller.privateKey) };
    this.#receipt = { key: region.privateKey, message: randomBytes(plan.receiptLength) };
    this.envelope = "e".repeat(plan.envelopeLength);
    this.#bodies = plan.bodies;
    this.#answer = answer;
  }

  async sign(): Promise<void> {
    await signAsync(null, this.#receipt.message, this.#receipt.key);
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
    const { key, base, signature } = this.#request;
    const nonce = nonceOf.exec(String(request.headers["signature-input"]))?.[1];
    if (nonce === undefined || !verify(null, base, key, signature)) return refuse(response, 401);
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

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-length": 0 }).end();
}
