// A port that this node reserves before anything serves on it, so that its URLs are known, and cannot be taken by others,
// while the node starts.
//   P1. From the first moment on, the operating system gives the port to nobody else; 0 asks it for any free port.
//   P2. Connections that arrive before a surface serves are closed: there is nothing here yet.

import { type AddressInfo, createServer } from "node:net";
import type { FastifyInstance } from "fastify";

export interface HeldPort {
  readonly port: number;
  /** From now on the surface serves on the port, and releases it when it closes. */
  giveTo(surface: FastifyInstance): Promise<void>;
  /** Releases the port if no surface has taken it over. */
  release(): Promise<void>;
}

/** Rejects if the port cannot be bound. */
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
      // A server can share another one's listening socket (`server.listen(handle)`). The member is not enumerable, so that
      // the second server that Fastify starts for the other address of «localhost» binds a socket of its own.
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
