// TLS to Cassandra. The driver accepts any certificate by default, and it connects to addresses that its peers name, so
// what a certificate is checked against is decided here.
//   T1. A server whose certificate the given authority did not issue receives nothing, not even a password.
//   T2. A server's certificate names the address that was connected to, or the one name that the operator gave all
//       servers.

import { type ConnectionOptions, checkServerIdentity } from "node:tls";

export interface CassandraTls {
  /** PEM of the authority that issues the servers' certificates. */
  readonly ca: string;
  /** The name in every server's certificate; absent if each certificate names its server's own addresses. */
  readonly serverName?: string;
  /** PEM, for servers that request a client certificate. */
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
