// What the files of a node reveal: who may read its secrets, and until when its certificates are valid.

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import type { NodeConfig } from "../configuration/config.ts";
import { loadContentLists } from "../configuration/content-lists.ts";
import { tokenFault } from "../configuration/http-config.ts";
import { loadAsTable, loadBlockedUrls } from "../configuration/operator-files.ts";
import { loadPrices, loadTerms } from "../configuration/versioned-file.ts";
import { type Finding, findingsOf } from "./finding.ts";

const dayMs = 86_400_000;
/** A certificate that expires within this time is reported. */
export const soonMs = 30 * dayMs;
const groupAndWorld = 0o077;
const groupAndWorldWrite = 0o022;
/** Windows keeps access rights in lists that these bits do not show. */
const hasModes = process.platform !== "win32";

export async function fileFindings(config: NodeConfig, nowMs: number): Promise<readonly Finding[]> {
  return [
    ...(await modeFindings(config)),
    ...(await leftOverFindings(config)),
    ...(await tokenFindings(config)),
    ...(await listFindings(config)),
    ...(await certificateFindings(config, nowMs)),
  ];
}

/** A running node keeps the last good file, so that only this shows the fault of a newer one before the next start. */
async function listFindings({
  contentLists,
  blockedUrls,
  asTable,
  terms,
  prices,
}: NodeConfig): Promise<readonly Finding[]> {
  const files = [
    ["SVC_CONTENT_LISTS", contentLists, loadContentLists],
    ["SVC_BLOCKED_URLS", blockedUrls, loadBlockedUrls],
    ["SVC_AS_TABLE", asTable, loadAsTable],
    ["SVC_TERMS", terms, loadTerms],
    ["SVC_PRICES", prices, loadPrices],
  ] as const;
  const found = files.map(([setting, path, load]) =>
    findingsOf("file_unreadable", setting, async () => {
      if (path !== null) await load(path);
      return [];
    }),
  );
  return (await Promise.all(found)).flat();
}

async function modeFindings(config: NodeConfig) {
  const { home, keys, ops, issuance, cluster, contentLists, blockedUrls, asTable, terms, prices } = config;
  const keyFiles = (await namesIn(keys))
    .filter((name) => name.endsWith(".jwk"))
    .map((name) => join(keys, name));
  const secret = [
    home,
    keys,
    ...keyFiles,
    ops.tokenFile,
    issuance?.secretFile,
    cluster?.tls?.keyFile,
    cluster?.cassandra.tls?.client?.keyFile,
  ];
  return [
    ...(await openTo(secret, groupAndWorld, "can be read or changed by others on this machine")),
    ...(await openTo(
      [contentLists, blockedUrls, asTable, terms, prices],
      groupAndWorldWrite,
      "can be changed by others on this machine",
    )),
  ];
}

async function openTo(
  paths: readonly (string | null | undefined)[],
  bits: number,
  problem: string,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const path of paths) {
    const found = path === null || path === undefined ? null : await stat(path).catch(() => null);
    if (found === null || !hasModes || (found.mode & bits) === 0) continue;
    const mode = (found.mode & ~bits & 0o777).toString(8).padStart(3, "0");
    findings.push({
      code: "file_open",
      where: path ?? "",
      problem: `${problem} (mode ${(found.mode & 0o777).toString(8)})`,
      fix: `chmod ${mode} ${path}; if somebody has read a secret in it, replace the secret.`,
    });
  }
  return findings;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return await readdir(folder).catch(() => []);
}

/** Detects a folder that belonged to a sandbox, or a copy of one. */
async function leftOverFindings({ home, keys }: NodeConfig): Promise<readonly Finding[]> {
  const left = [
    ...(await namesIn(home)).filter((name) => name === "sandbox.json").map((name) => join(home, name)),
    ...(await namesIn(keys)).filter((name) => /^grant\b.*\.jwk$/.test(name)).map((name) => join(keys, name)),
  ];
  return left.map((where) => ({
    code: "sandbox_left",
    where,
    problem: "belongs to a sandbox, whose keys are in files that people share",
    fix: "Give the production node its own home and keys; remove this file.",
  }));
}

async function tokenFindings({ ops }: NodeConfig): Promise<readonly Finding[]> {
  const text = await readFile(ops.tokenFile, "utf8").catch(() => null);
  // If there is no token, the node creates one.
  const fault = text === null ? null : tokenFault(text.trim());
  if (fault === null) return [];
  return [
    {
      code: "secret_weak",
      where: ops.tokenFile,
      problem: fault,
      fix: "Remove it, and start the node, which creates a new one.",
    },
  ];
}

interface CertificateFile {
  readonly setting: string;
  readonly file: string;
  /** The setting and file of the private key, if the certificate is the node's own. */
  readonly key?: string;
  /** The host that the certificate must name. */
  readonly host?: string;
}

function certificatesOf({ cluster }: NodeConfig): readonly CertificateFile[] {
  if (cluster === null) return [];
  const { tls, cassandra, elasticsearch, address } = cluster;
  const files: CertificateFile[] = [];
  if (tls !== null) {
    const host = address.slice(0, address.lastIndexOf(":")).replaceAll(/[[\]]/g, "");
    files.push({ setting: "SVC_NODE_TLS_CERT_FILE", file: tls.certFile, key: tls.keyFile, host });
    files.push({ setting: "SVC_NODE_TLS_CA_FILE", file: tls.caFile });
  }
  if (cassandra.tls !== null) {
    files.push({ setting: "SVC_CASSANDRA_CA_FILE", file: cassandra.tls.caFile });
    const { client } = cassandra.tls;
    if (client !== null)
      files.push({ setting: "SVC_CASSANDRA_CERT_FILE", file: client.certFile, key: client.keyFile });
  }
  if (elasticsearch.caFile !== null)
    files.push({ setting: "SVC_ELASTICSEARCH_CA_FILE", file: elasticsearch.caFile });
  return files;
}

async function certificateFindings(config: NodeConfig, nowMs: number): Promise<readonly Finding[]> {
  const found = certificatesOf(config).map((each) =>
    findingsOf("file_unreadable", each.setting, () => judgeCertificate(each, nowMs)),
  );
  return (await Promise.all(found)).flat();
}

async function judgeCertificate(given: CertificateFile, nowMs: number): Promise<readonly Finding[]> {
  const { setting: where, file, key, host } = given;
  const certificate = new X509Certificate(await readFile(file));
  const findings: Finding[] = [];
  const untilMs = Date.parse(certificate.validTo);
  if (untilMs - nowMs < soonMs) {
    findings.push({
      code: "certificate_ends",
      where,
      problem: `names ${file}, which ${untilMs > nowMs ? "ends" : "ended"} on ${certificate.validTo}`,
      fix: "Put a new certificate there, and restart the nodes one after another.",
    });
  }
  if (key !== undefined && !certificate.checkPrivateKey(createPrivateKey(await readFile(key)))) {
    findings.push({
      code: "certificate_wrong",
      where,
      problem: `names ${file}, which is not for the key in ${key}`,
      fix: "Name a key and a certificate that match.",
    });
  }
  if (host !== undefined && !names(certificate, host)) {
    findings.push({
      code: "certificate_wrong",
      where,
      problem: `names ${file}, which does not name ${host}, at which other nodes reach this one`,
      fix: "Have a certificate issued with the host of SVC_NODE_ADDRESS as subject alternative name.",
    });
  }
  return findings;
}

function names(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}
