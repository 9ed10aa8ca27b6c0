// Certificates for tests, generated each time: X.509 v3 (RFC 5280 §4.1) in DER, ECDSA with SHA-256 on P-256.

import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { isIPv4 } from "node:net";
import type { MutualTls } from "./wire.ts";

/** A self-signed certificate for these hosts (IPv4 addresses and names), to be used as its own authority. */
export function makeCertificate(name: string, hosts: readonly string[] = []): MutualTls {
  const { key, cert } = certificate({ name, hosts });
  return { key, cert, ca: cert };
}

/** An authority that issues certificates for hosts. */
export function makeAuthority(name: string): (name: string, hosts: readonly string[]) => MutualTls {
  const { cert: ca, privateKey } = certificate({ name, hosts: [], isAuthority: true });
  return (subject, hosts) => {
    const { key, cert } = certificate({ name: subject, hosts, issuer: { name, privateKey } });
    return { key, cert, ca };
  };
}

interface Wanted {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly isAuthority?: boolean;
  /** The issuer; by default the certificate is self-signed. */
  readonly issuer?: { readonly name: string; readonly privateKey: KeyObject };
}

let serial = 0;

function certificate({ name, hosts, isAuthority = false, issuer }: Wanted) {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid("2a8648ce3d040302"));
  const validity = sequence(
    ...["20200101000000Z", "21200101000000Z"].map((time) => der(0x18, Buffer.from(time))),
  );
  serial += 1;
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(serial)),
    algorithm,
    nameOf(issuer?.name ?? name),
    validity,
    nameOf(name),
    publicKey.export({ type: "spki", format: "der" }),
    ...extensions(hosts, isAuthority),
  );
  const signature = der(0x03, Buffer.of(0), sign("sha256", signed, issuer?.privateKey ?? privateKey));
  return {
    privateKey,
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    cert: pem("CERTIFICATE", sequence(signed, algorithm, signature)),
  };
}

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(commonName)))));
}

/** The certificate's extensions (RFC 5280 §4.2.1.6 and §4.2.1.9). */
function extensions(hosts: readonly string[], isAuthority: boolean): readonly Buffer[] {
  const names = hosts.map((host) =>
    isIPv4(host) ? der(0x87, Buffer.from(host.split(".").map(Number))) : der(0x82, Buffer.from(host)),
  );
  const all = [
    ...(names.length === 0 ? [] : [sequence(oid("551d11"), der(0x04, sequence(...names)))]),
    ...(isAuthority
      ? [sequence(oid("551d13"), der(0x01, Buffer.of(0xff)), der(0x04, sequence(der(0x01, Buffer.of(0xff)))))]
      : []),
  ];
  return all.length === 0 ? [] : [der(0xa3, sequence(...all))];
}

function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

/** Encodes a tag, length and value (ITU-T X.690 §8.1). */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  const { length } = value;
  const head = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), value]);
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
