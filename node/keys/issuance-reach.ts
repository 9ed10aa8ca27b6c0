// Whether anything listens where the issuance process should. It is asked nothing: only a document would show more.

import { connect } from "node:net";
import type { IssuanceAddress } from "../key-config.ts";

/** Rejects if nobody takes the connection. */
export async function reachIssuance(address: IssuanceAddress): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect("socket" in address ? { path: address.socket } : address);
  socket.once("connect", resolve);
  socket.once("error", (error) => reject(new Error(`it cannot be reached (${error.message})`)));
  await promise.finally(() => socket.destroy());
}
