// Has images of ads decoded, in processes of their own (decoder-process.ts), which are started when they are needed.
//   D2. At most two images are decoded at once, and one of each business, so that nobody's images wait for all of another's. A
//       bounded number waits; beyond that the answer is 503, for the business that has most waiting.
//   D4. An image that takes longer than `decodeMs` is refused, and its process killed.
//   D6. A process that has had nothing to do for `idleMs` ends, and with its node each does.

import { type ChildProcess, fork } from "node:child_process";
import { refuse } from "../../protocol/result.ts";
import type { DecodeImage } from "../../service/ad-images.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { DecodeReply, DecodeRequest } from "./decoder-process.ts";
import { createDecodingTurns } from "./decoding-turns.ts";

const decodeMs = 10_000;
const idleMs = 30_000;
const retrySeconds = 2;
const program = new URL("./decoder-process.ts", import.meta.url);

interface DecoderLimits {
  readonly waitingMax?: number;
  readonly decodeMs?: number;
  /** What the processes run. */
  readonly program?: URL;
}

export function createImageDecoder(limits: DecoderLimits = {}): DecodeImage {
  const turns = createDecodingTurns(limits.waitingMax);
  const idle: Decoder[] = [];
  return async (bytes, type, owner) => {
    const endTurn = await turns(owner);
    if (endTurn === null) throw overloaded();
    try {
      const decoder = takeIdle(idle) ?? new Decoder(limits.program ?? program);
      const reply = await decoder.decode({ bytes, type }, limits.decodeMs ?? decodeMs);
      if (reply === null) return refuse("image_invalid", "The image cannot be decoded as a whole.");
      idle.push(decoder);
      decoder.rest(() => void idle.splice(idle.indexOf(decoder), 1));
      return reply;
    } finally {
      endTurn();
    }
  };
}

function takeIdle(idle: Decoder[]): Decoder | null {
  for (;;) {
    const decoder = idle.pop();
    if (decoder === undefined || decoder.isAlive) return decoder ?? null;
  }
}

/** A process, which decodes one image at a time and keeps nobody from ending. */
class Decoder {
  readonly #child: ChildProcess;
  #idle: NodeJS.Timeout | null = null;

  constructor(path: URL) {
    this.#child = fork(path, { serialization: "advanced", stdio: "ignore", execArgv: [] });
    // Between images nobody listens for one.
    this.#child.on("error", () => {});
    this.#child.unref();
    this.#child.channel?.unref();
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  /** Null if a signal ended the process over it, be it that of the time. Throws `Unavailable` if there is no process to decode it. */
  async decode(request: DecodeRequest, withinMs: number): Promise<DecodeReply | null> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    const { promise, resolve, reject } = Promise.withResolvers<DecodeReply | null>();
    const onMessage = (reply: unknown): void => resolve(reply as DecodeReply);
    const onExit = (_code: number | null, signal: NodeJS.Signals | null): void =>
      signal === null ? reject(noDecoder()) : resolve(null);
    const onError = (): void => reject(noDecoder());
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), withinMs);
    this.#child.once("message", onMessage).once("exit", onExit).once("error", onError);
    // What cannot be sent is to a process that ends, which is told of by itself.
    this.#child.send(request, () => {});
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#child.off("message", onMessage).off("exit", onExit).off("error", onError);
    }
  }

  /** Ends it if it is not asked again for a while. */
  rest(ended: () => void): void {
    this.#idle = setTimeout(() => {
      ended();
      this.#child.kill();
    }, idleMs);
    this.#idle.unref();
  }
}

function unavailable(message: string, reason: string): Unavailable {
  return new Unavailable(message, { reason, effect: "not_applied", retryAfterSeconds: retrySeconds });
}

const overloaded = () => unavailable("too many images wait to be decoded", "images_in_decoding");
const noDecoder = () => unavailable("no process decodes images", "image_decoder");
