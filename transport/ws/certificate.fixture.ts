// A self-signed certificate for tests, made anew each time: X.509 v3 (RFC 5280 §4.1) in DER, ECDSA with SHA-256 on P-256.

import { generateKeyPairSync, sign } from "node:crypto";
import type { MutualTls } from "./wire.ts";

/** A certificate that is its own authority. */
export function makeCertificate(name: string): MutualTls {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(der(0x06, Buffer.from("2a8648ce3d040302", "hex")));
  const commonName = sequence(der(0x06, Buffer.from("550403", "hex")), der(0x0c, Buffer.from(name)));
  const subject = sequence(der(0x31, commonName));
  const validity = sequence(
    ...["20200101000000Z", "21200101000000Z"].map((time) => der(0x18, Buffer.from(time))),
  );
  const signed = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    algorithm,
    subject,
    validity,
    subject,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = der(0x03, Buffer.of(0), sign("sha256", signed, privateKey));
  const cert = pem("CERTIFICATE", sequence(signed, algorithm, signature));
  return { key: privateKey.export({ type: "pkcs8", format: "pem" }) as string, cert, ca: cert };
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

/** Tag, length and value (ITU-T X.690 §8.1). */
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
