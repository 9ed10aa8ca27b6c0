// A port that is this node's before anything serves on it, so that its URLs are known, and nobody else's, while the node
// starts.
//   P1. From the first moment on the system gives the port to nobody else; 0 asks it for any that is free.
//   P2. Whoever connects before a surface serves is hung up on: there is nothing here yet.

import { type AddressInfo, createServer } from "node:net";
import type { FastifyInstance } from "fastify";

export interface HeldPort {
  readonly port: number;
  /** The surface serves on the port from now on, and gives it back when it closes. */
  giveTo(surface: FastifyInstance): Promise<void>;
  /** Gives the port back where no surface has it. */
  release(): Promise<void>;
}

/** Rejects when the port cannot be had. */
export async function holdPort(host: string, port: number): Promise<HeldPort> {
  const holder = createServer((connection) => connection.destroy());
  const listening = Promise.withResolvers<void>();
  holder.once("error", listening.reject);
  holder.listen(port, host, () => listening.resolve());
  await listening.promise;
  const held = (holder.address() as AddressInfo).port;
  let isGiven = false;
  return {
    port: held,
    giveTo: async (surface) => {
      isGiven = true;
      // A server listens on what another one listens on (`server.listen(handle)`). The member is not enumerable, so that
      // the second server that Fastify starts for the other address of «localhost» binds one of its own.
      const options = Object.defineProperty({ host, port: held }, "_handle", {
        value: (holder as unknown as { readonly _handle: object })._handle,
      });
      await surface.listen(options);
    },
    release: async () => {
      if (isGiven) return;
      await new Promise((resolve) => holder.close(resolve));
    },
  };
}
