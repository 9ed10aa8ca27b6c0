// What a node takes and answers images of ads by, built from its services.

import { type ChildProcess, fork } from "node:child_process";
import type { LogEntry } from "../../actors/system/ports.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { refuse } from "../../protocol/result.ts";
import {
  createAcceptImage,
  createImageRate,
  createUploadImage,
  type DecodeImage,
  type UploadImage,
} from "../../service/ads/ad-images.ts";
import {
  createImageLinks,
  createReadImage,
  ImageCache,
  type ImageLinks,
  type ReadImage,
} from "../../service/ads/image-read.ts";
import { type ForgettingDeps, forgetFromTimeToTime } from "../../service/ads/unneeded-images.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { Keys, NodeServices, Process, Registering, Stores } from "../composition/capabilities.ts";
import type { DecodeReply, DecodeRequest } from "./decoder-process.ts";
import { createDecodingTurns } from "./decoding-turns.ts";

export function uploadImageOf(services: NodeServices): UploadImage {
  const { imageStore: store } = services;
  const accept = createAcceptImage({ store, decode: createImageDecoder(), sha256: nativeCrypto.sha256 });
  return createUploadImage(accept, createImageRate(services));
}

export function readImageOf(services: NodeServices, baseUrl: string): ReadImage {
  const links = imageLinksOf(services, baseUrl);
  return createReadImage({ store: services.imageStore, links, cache: new ImageCache(services) });
}

/** `baseUrl` is the public address of the retrieval surface. */
export function imageLinksOf({ imageLinkKey: secret, clock }: Keys & Process, baseUrl: string): ImageLinks {
  return createImageLinks({ crypto: nativeCrypto, secret, baseUrl, now: clock.now });
}

// Has images of ads decoded, in processes of their own (decoder-process.ts), which are started when they are needed.
//   D2. At most two images are decoded at once, and one of each business, so that nobody's images wait for all of another's. A
//       bounded number waits; beyond that the answer is 503, for the business that has most waiting.
//   D4. An image that takes longer than `decodeMs` is refused, and its process killed.
//   D6. A process that has had nothing to do for `idleMs` ends, and with its node each does.

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

// Forgets images of ads that nothing needs, for as long as a node runs, and says in the log how that went.

/** The interval between two looks. */
const everyMs = 6 * 3_600_000;

/** In a cluster, every node looks: what one of them finds needed is renewed for all. The returned function stops it. */
export function forgetImages(
  { imageStore: images, records, register, clock }: Stores & Process & Pick<Registering, "register">,
  platform: Pick<ForgettingDeps, "timers"> & { readonly log: (entry: LogEntry) => void },
): () => Promise<void> {
  const note = (level: LogEntry["level"], event: string, detail: string): void =>
    platform.log({ level, event, actor: "", detail });
  return forgetFromTimeToTime({
    images,
    book: register.ads,
    records,
    clock,
    timers: platform.timers,
    everyMs,
    forgotten: (count) => note("info", "image.forgotten", `${count} images of ads were named by no live ad`),
    failed: (error) => note("warn", "image.forgetting_failed", String(error)),
  });
}
