// TLS to Cassandra. The driver takes any certificate unless it is told not to, and it connects to addresses that its
// peers name, so what a certificate is compared with is decided here.
//   T1. A server whose certificate the given authority did not issue gets nothing, not even a password.
//   T2. Its certificate names the address that was connected to, or the one name that the operator gave all servers.

import { type ConnectionOptions, checkServerIdentity } from "node:tls";

export interface CassandraTls {
  /** PEM: the authority that issues the servers' certificates. */
  readonly ca: string;
  /** The name in every server's certificate; absent where each names its own addresses. */
  readonly serverName?: string;
  /** PEM, for servers that ask for a client's certificate. */
  readonly client?: { readonly key: string; readonly cert: string };
}

export function tlsOptions({ ca, serverName, client }: CassandraTls): ConnectionOptions {
  return {
    ca: [ca],
    rejectUnauthorized: true,
    minVersion: "TLSv1.2",
    checkServerIdentity: (host, certificate) => checkServerIdentity(serverName ?? host, certificate),
    ...(serverName === undefined ? {} : { servername: serverName }),
    ...(client === undefined ? {} : client),
  };
}
