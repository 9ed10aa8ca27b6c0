// A client across a network: sends a request to some node of a region and receives an answer, or nothing.

import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import type { Outcome } from "../../service/answer.ts";
import type { Random } from "../kernel/random.ts";
import { codeOf, serve, serveFile, statusOf } from "../world/serve.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";
import type { SimRequest } from "./signed-request.ts";

const timeoutMs = 8_000;
const delayedMaxMs = 1_500;

export interface Heard {
  readonly status: number;
  /** `ok`, or the problem's code. */
  readonly code: string;
  readonly body: unknown;
  readonly outcome: Outcome;
}

export class Client {
  readonly name: string;
  readonly #world: World;
  #random: Random;

  constructor(world: World, name: string, random: Random) {
    this.#world = world;
    this.name = name;
    this.#random = random;
  }

  /** Draws from `random` from now on. */
  draw(random: Random): void {
    this.#random = random;
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#world.parts.kernel.after(ms, "client waits", resolve));
  }

  /** Null when no answer came: the outcome of the request is unknown. */
  send(request: SimRequest, region: string): Promise<Heard | null> {
    const { kernel, faults } = this.#world.parts;
    const node = this.#world.nodeOf(region, this.#random);
    const label = `${this.name} ${request.route}`;
    kernel.tell(
      `${label} → ${node?.incarnation ?? "nobody"}`,
      () => `${request.subject} nonce ${request.nonce}`,
    );
    return new Promise((resolve) => {
      let isOpen = true;
      const settle = (heard: Heard | null): void => {
        if (!isOpen) return;
        isOpen = false;
        kernel.tell(
          `${label} ← ${heard === null ? "nothing" : `${heard.status} ${heard.code}`}`,
          () => `${request.subject} ${heard?.outcome.kind === "problem" ? heard.outcome.problem.detail : ""}`,
        );
        resolve(heard);
      };
      if (node === null) {
        kernel.after(5, `${label} finds nobody`, () => settle(null));
        return;
      }
      kernel.after(timeoutMs, `${label} gives up`, () => settle(null));
      if (faults.meets("request_lost")) return;
      node.life.onEnd(() => kernel.after(2, `${label} is cut off`, () => settle(null)));
      node.life.after(this.#delayMs(), `${label} arrives`, () => {
        void serve(node, request, this.#witness()).then((outcome) => {
          if (outcome === null || faults.meets("response_lost")) return;
          node.life.after(this.#delayMs(), `${label} is answered`, () => settle(heardOf(outcome)));
        });
      });
    });
  }

  /** The same for the file of an upload, which is not signed. */
  sendFile(upload: BulkUpload, file: Uint8Array, region: string): Promise<Heard | null> {
    const { kernel, faults } = this.#world.parts;
    const node = this.#world.nodeOf(region, this.#random);
    const label = `${this.name} file ${upload.upload_id}`;
    return new Promise((resolve) => {
      const settle = (heard: Heard | null): void => {
        kernel.tell(`${label} ← ${heard === null ? "nothing" : `${heard.status} ${heard.code}`}`);
        resolve(heard);
      };
      kernel.after(timeoutMs, `${label} gives up`, () => resolve(null));
      if (node === null || faults.meets("request_lost")) return;
      node.life.after(this.#delayMs(), `${label} arrives`, () => {
        void serveFile(node, upload, file).then((outcome) => {
          if (faults.meets("response_lost")) return;
          node.life.after(this.#delayMs(), `${label} is answered`, () => settle(heardOf(outcome)));
        });
      });
    });
  }

  #delayMs(): number {
    if (this.#world.parts.faults.meets("client_delayed")) return this.#random.between(20, delayedMaxMs);
    return 1 + this.#random.below(4);
  }

  #witness() {
    const { observed } = this.#world;
    return {
      begun: (node: SimNode, request: SimRequest) => observed.served(node.slot.region, request, "begun"),
      refused: (node: SimNode, request: SimRequest) => observed.served(node.slot.region, request, "refused"),
      nonceAccepted: (node: SimNode, request: SimRequest) =>
        observed.nonceAccepted(node.slot.region, request, node.incarnation),
      servedRecords: (node: SimNode, request: SimRequest) => {
        if (node.lease() === null && !node.life.isOver)
          observed.violate(
            "served-under-lease",
            `${node.incarnation} answered a ${request.route} without a lease`,
          );
      },
      bug: (node: SimNode, request: SimRequest, error: unknown) => {
        if (node.life.isOver) return;
        const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
        observed.violate("no-internal-error", `${request.route} at ${node.incarnation}: ${detail}`);
      },
    };
  }
}

function heardOf(outcome: Outcome): Heard {
  const text = outcome.kind === "answer" && typeof outcome.body === "string" ? outcome.body : null;
  const body = text === null ? null : (JSON.parse(text) as unknown);
  const status = statusOf(outcome);
  // A refusal that is replayed under its Idempotency-Key is an answer like any other.
  const { code = codeOf(outcome) } = (status >= 400 && body !== null ? body : {}) as {
    readonly code?: string;
  };
  return { status, code, body, outcome };
}

/** Answers that a retry of the same batch may change. */
export const passing: ReadonlySet<string> = new Set([
  "rate_limited",
  "unavailable",
  "idempotency_in_progress",
  "nonce_reused",
  "internal_error",
  "signature_expired",
  "key_unknown",
]);

/** Whether a cap of the mandate was used up. */
export function isCapped({ outcome }: Heard): boolean {
  const reason = outcome.kind === "problem" ? outcome.problem.reason : undefined;
  return reason === "records_per_hour" || reason === "bytes_per_day";
}
