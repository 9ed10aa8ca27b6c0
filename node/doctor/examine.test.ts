// Each unsafe setting on its own, in an otherwise safe configuration.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sha256 } from "../../protocol/bytes.ts";
import { verifierKeyOf } from "../../protocol/log/note.ts";
import { noteKey } from "../../protocol/log/signed-log.fixture.ts";
import { limitPresets } from "../configuration/http-config.ts";
import { dayMs, makeProductionKeys } from "../keys/production-keys.fixture.ts";
import { examine } from "./examine.ts";

type Env = Readonly<Record<string, string | undefined>>;

const secret = (digit: string): string => `${digit}f3c8a1e5b7d92046-${digit}0b1c2d3e4f5a6978`;
const nowMs = Date.now();
let made: string;
let home: string;
const at = (name: string): string => join(home, name);

beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), "svc-doctor-made-"));
  await makeProductionKeys(join(made, "ceremonies"), {
    region: "eu-west1",
    nowMs: nowMs - dayMs,
    hasLog: true,
  });
  makeCertificate("node", "IP:10.0.1.7", 365);
  makeCertificate("ending", "IP:10.0.1.7", 20);
  makeCertificate("elsewhere", "IP:10.0.1.8", 365);
});
afterAll(() => rmSync(made, { recursive: true, force: true }));

beforeEach(() => {
  home = mkdtempSync(join(made, "home-"));
  cpSync(join(made, "ceremonies", "node"), at("keys"), { recursive: true });
  chmodSync(at("keys"), 0o700);
  for (const name of ["node", "ending", "elsewhere"]) {
    cpSync(join(made, `${name}.key`), at(`${name}.key`));
    cpSync(join(made, `${name}.pem`), at(`${name}.pem`));
    chmodSync(at(`${name}.key`), 0o600);
  }
  writeFileSync(at("lists.json"), '{"protected_names":[],"blocked_hosts":[]}', { mode: 0o644 });
  chmodSync(at("lists.json"), 0o644);
});

function makeCertificate(name: string, subjectAltName: string, days: number): void {
  const [key, out] = [join(made, `${name}.key`), join(made, `${name}.pem`)];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-x509"];
  const named = [
    "-subj",
    `/CN=${name}`,
    "-addext",
    `subjectAltName=${subjectAltName}`,
    "-days",
    String(days),
  ];
  execFileSync("openssl", ["req", ...curve, ...named, "-keyout", key, "-out", out], { stdio: "ignore" });
}

function safe(): Record<string, string | undefined> {
  return {
    SVC_ENVIRONMENT: "production",
    SVC_STORE: "cassandra",
    SVC_REGION: "eu-west1",
    SVC_REGIONS: "eu-west1,us-east1",
    SVC_HOME: home,
    SVC_KEYS: at("keys"),
    SVC_CASSANDRA: "10.0.0.1,10.0.0.2",
    SVC_CASSANDRA_USERNAME: "svc_node",
    SVC_CASSANDRA_PASSWORD: secret("1"),
    SVC_CASSANDRA_CA_FILE: at("node.pem"),
    SVC_ELASTICSEARCH: "https://10.0.0.4:9200",
    SVC_ELASTICSEARCH_USERNAME: "svc_node",
    SVC_ELASTICSEARCH_PASSWORD: secret("2"),
    SVC_ELASTICSEARCH_CA_FILE: at("node.pem"),
    SVC_NODE_LISTEN: "10.0.1.7:7390",
    SVC_NODE_ADDRESS: "10.0.1.7:7390",
    SVC_NODE_TLS_KEY_FILE: at("node.key"),
    SVC_NODE_TLS_CERT_FILE: at("node.pem"),
    SVC_NODE_TLS_CA_FILE: at("node.pem"),
    SVC_RETRIEVAL_URL: "https://api.example",
    SVC_BUSINESS_URL: "https://business.example",
    SVC_VERIFY_URL: "https://verify.example",
    SVC_TRUSTED_PROXIES: "10.0.2.0/24",
    SVC_KEY_REQUESTS_PER_SECOND: "50",
    SVC_KEY_QUERY_COST_PER_MINUTE: "6000",
    SVC_CONTENT_LISTS: at("lists.json"),
    SVC_LOG_WITNESSES: witness,
  };
}

const witness = `${verifierKeyOf(noteKey("witness.example/w1", "cosignature", 1), sha256)} https://witness.example`;

const withoutNodeTls: Env = {
  SVC_NODE_TLS_KEY_FILE: undefined,
  SVC_NODE_TLS_CERT_FILE: undefined,
  SVC_NODE_TLS_CA_FILE: undefined,
};

/** The findings, as «code where». */
async function found(changes: Env = {}, now = nowMs): Promise<readonly string[]> {
  const findings = await examine({
    env: { ...safe(), ...changes },
    now: () => now,
    engines: false,
    node: null,
  });
  for (const { problem, fix } of findings) {
    expect(problem).not.toMatch(/[.;]$/);
    expect(fix).toMatch(/^[A-Zc].*\.$/s);
  }
  return findings.map(({ code, where }) => `${code} ${where.replace(home, "HOME")}`);
}

describe("a production configuration that is safe", () => {
  it("has no findings", async () => {
    expect(await found()).toEqual([]);
  });

  it.each<readonly [finding: string, changes: Env]>([
    ["not_production SVC_ENVIRONMENT", { SVC_ENVIRONMENT: "sandbox" }],
    ["not_production SVC_ENVIRONMENT", { SVC_ENVIRONMENT: undefined }],
    ["plain_text_allowed SVC_CASSANDRA_INSECURE", { SVC_CASSANDRA_INSECURE: "yes" }],
    ["plain_text_allowed SVC_ELASTICSEARCH_INSECURE", { SVC_ELASTICSEARCH_INSECURE: "yes" }],
    ["setting_refused SVC_CASSANDRA_INSECURE", { SVC_CASSANDRA_CA_FILE: undefined }],
    ["setting_refused SVC_ELASTICSEARCH_INSECURE", { SVC_ELASTICSEARCH: "http://10.0.0.4:9200" }],
    ["setting_refused SVC_CASSANDRA", { SVC_CASSANDRA: undefined }],
    ["setting_refused SVC_REGIONS", { SVC_REGIONS: "us-east1" }],
    ["tls_unverified NODE_TLS_REJECT_UNAUTHORIZED", { NODE_TLS_REJECT_UNAUTHORIZED: "0" }],
    ["debugger_open NODE_OPTIONS", { NODE_OPTIONS: "--max-old-space-size=2048 --inspect=0.0.0.0" }],
    ["sandbox_left SVC_SAMPLES", { SVC_SAMPLES: "no" }],
    ["url_missing SVC_RETRIEVAL_URL", { SVC_RETRIEVAL_URL: undefined }],
    ["url_missing SVC_VERIFY_URL", { SVC_VERIFY_URL: undefined }],
    ["url_plain SVC_BUSINESS_URL", { SVC_BUSINESS_URL: "http://business.example" }],
    ["url_plain SVC_TOOLS_URL", { SVC_TOOLS_URL: "http://tools.example" }],
    ["proxies_missing SVC_TRUSTED_PROXIES", { SVC_TRUSTED_PROXIES: undefined }],
    ["lists_missing SVC_CONTENT_LISTS", { SVC_CONTENT_LISTS: undefined }],
    ["log_unwitnessed SVC_LOG_WITNESSES", { SVC_LOG_WITNESSES: undefined }],
    ["log_unwitnessed SVC_LOG_WITNESS_QUORUM", { SVC_LOG_WITNESS_QUORUM: "0" }],
    ["file_unreadable SVC_CONTENT_LISTS", { SVC_CONTENT_LISTS: "/nowhere/lists.json" }],
    ["file_unreadable SVC_BLOCKED_URLS", { SVC_BLOCKED_URLS: "/nowhere/urls.txt" }],
    ["file_unreadable SVC_AS_TABLE", { SVC_AS_TABLE: "/nowhere/as.txt" }],
    ["ops_hosts_missing SVC_OPS_HOSTS", { SVC_OPS_LISTEN: "10.0.1.7:7304" }],
    ["secret_weak SVC_CASSANDRA_PASSWORD", { SVC_CASSANDRA_PASSWORD: "changeme" }],
    ["secret_weak SVC_ELASTICSEARCH_PASSWORD", { SVC_ELASTICSEARCH_PASSWORD: "aaaaaaaaaaaaaaaaaaaaaaa" }],
    ["setting_refused SVC_CLUSTER_SECRET", { SVC_CLUSTER_SECRET: secret("3") }],
    ["setting_refused SVC_CLUSTER_SECRET_ALSO", { SVC_CLUSTER_SECRET_ALSO: secret("4") }],
    ["setting_refused SVC_CASSANDRA_PASSWORD", { SVC_CASSANDRA_PASSWORD: undefined }],
    [
      "secret_shared SVC_CASSANDRA_PASSWORD, SVC_ELASTICSEARCH_PASSWORD",
      { SVC_CASSANDRA_PASSWORD: secret("2") },
    ],
    ["setting_refused SVC_NODE_TLS_CERT_FILE", withoutNodeTls],
    ["default_user SVC_CASSANDRA_USERNAME", { SVC_CASSANDRA_USERNAME: "cassandra" }],
    ["default_user SVC_ELASTICSEARCH_USERNAME", { SVC_ELASTICSEARCH_USERNAME: "elastic" }],
    [
      "no_password SVC_CASSANDRA_USERNAME",
      { SVC_CASSANDRA_USERNAME: undefined, SVC_CASSANDRA_PASSWORD: undefined },
    ],
    ["file_unreadable SVC_ELASTICSEARCH_CA_FILE", { SVC_ELASTICSEARCH_CA_FILE: "/nowhere/ca.pem" }],
    ["keys_refused /nowhere/keys", { SVC_KEYS: "/nowhere/keys" }],
    ["setting_refused SVC_AUDIT_TO", { SVC_AUDIT_TO: "nowhere" }],
    ["setting_refused SVC_LOG_LEVEL", { SVC_LOG_LEVEL: "loud" }],
    ["setting_refused SVC_RECEIPT_RETENTION_DAYS", { SVC_RECEIPT_RETENTION_DAYS: "forever" }],
  ])("%s is named, and nothing else", async (finding, changes) => {
    const others = await found(changes);
    // A missing password also means a user who cannot be distinguished from a stranger.
    expect(others.filter((each) => each !== finding)).toEqual([]);
    expect(others).toContain(finding);
  });

  it.each(Object.entries(limitPresets))(
    "has limits unless they are taken away: %s",
    async (setting, preset) => {
      expect(await found({ [setting]: undefined })).toEqual([]);
      for (const none of ["0", "00"]) {
        const findings = await examine({
          env: { ...safe(), [setting]: none },
          now: () => nowMs,
          engines: false,
          node: null,
        });
        expect(findings).toMatchObject([
          { code: "limit_missing", where: setting, fix: expect.stringContaining(`the limit is ${preset}`) },
        ]);
      }
    },
  );

  it("is told of a name with a slip in it, and of the right one", async () => {
    const env = { ...safe(), SVC_AUDITTO: "file", SVC_SOMETHING_ELSE_ALTOGETHER: "1", OTHERS_NAME: "x" };
    const findings = await examine({ env, now: () => nowMs, engines: false, node: null });
    expect(findings.map(({ code, where }) => `${code} ${where}`)).toEqual([
      "setting_unknown SVC_AUDITTO",
      "setting_unknown SVC_SOMETHING_ELSE_ALTOGETHER",
    ]);
    expect(findings[0]?.fix).toMatch(/SVC_AUDIT_TO is one/);
  });

  it("names every fault, not the first", async () => {
    const all = await found({
      SVC_ENVIRONMENT: "sandbox",
      SVC_REGIONS: "us-east1",
      SVC_CLUSTER_SECRET: "short",
      SVC_CASSANDRA: "",
      SVC_NODE_TLS_CERT_FILE: undefined,
      SVC_RETRIEVAL_URL: "http://api.example",
    });
    expect(all).toEqual(
      expect.arrayContaining([
        "not_production SVC_ENVIRONMENT",
        "setting_refused SVC_REGIONS",
        "setting_refused SVC_CASSANDRA",
        "setting_refused SVC_NODE_TLS_CERT_FILE",
      ]),
    );
  });
});

describe("files of a production node", () => {
  it.each<readonly [finding: string, change: () => void]>([
    ["file_open HOME", () => chmodSync(home, 0o755)],
    ["file_open HOME/node.key", () => chmodSync(at("node.key"), 0o640)],
    ["file_open HOME/lists.json", () => chmodSync(at("lists.json"), 0o666)],
    ["file_open HOME/ops-token", () => writeFileSync(at("ops-token"), `${secret("5")}\n`, { mode: 0o644 })],
    ["secret_weak HOME/ops-token", () => writeFileSync(at("ops-token"), "hello\n", { mode: 0o600 })],
    ["sandbox_left HOME/sandbox.json", () => writeFileSync(at("sandbox.json"), "{}", { mode: 0o600 })],
    ["keys_refused HOME/keys/anchors.json", () => rmSync(at("keys/anchors.json"))],
    ["keys_refused HOME/keys/key-set.json", () => writeFileSync(at("keys/key-set.json"), "{}")],
  ])("%s is named, and nothing else", async (finding, change) => {
    change();
    expect(await found()).toEqual([finding]);
  });

  it.each<readonly [finding: string, settings: () => Env]>([
    [
      "certificate_ends SVC_NODE_TLS_CERT_FILE",
      () => ({ SVC_NODE_TLS_CERT_FILE: at("ending.pem"), SVC_NODE_TLS_KEY_FILE: at("ending.key") }),
    ],
    [
      "certificate_wrong SVC_NODE_TLS_CERT_FILE",
      () => ({ SVC_NODE_TLS_CERT_FILE: at("elsewhere.pem"), SVC_NODE_TLS_KEY_FILE: at("elsewhere.key") }),
    ],
    ["certificate_wrong SVC_NODE_TLS_CERT_FILE", () => ({ SVC_NODE_TLS_KEY_FILE: at("elsewhere.key") })],
    ["certificate_ends SVC_CASSANDRA_CA_FILE", () => ({ SVC_CASSANDRA_CA_FILE: at("ending.pem") })],
  ])("%s is named, and nothing else", async (finding, settings) => {
    expect(await found(settings())).toEqual([finding]);
  });

  it("name a folder or file of keys that others may read, and a root among them", async () => {
    chmodSync(at("keys"), 0o750);
    expect(await found()).toContain("file_open HOME/keys");
    chmodSync(at("keys"), 0o700);
    chmodSync(at("keys/record-id.jwk"), 0o644);
    expect(await found()).toContain("file_open HOME/keys/record-id.jwk");
    chmodSync(at("keys/record-id.jwk"), 0o600);
    cpSync(join(made, "ceremonies", "root"), at("keys"), { recursive: true });
    expect((await found()).join()).toMatch(/^keys_refused HOME\/keys\/root-/);
  });

  it("name the key of the log, where it is missing in its home, or in a region that may have to take it over", async () => {
    for (const name of readdirSync(at("keys"))) if (name.startsWith("log")) rmSync(at(`keys/${name}`));
    const look = (changes: Env) =>
      examine({ env: { ...safe(), ...changes }, now: () => nowMs, engines: false, node: null });
    const [inHome] = await look({});
    expect(inHome).toMatchObject({ code: "log_key_missing", where: "log key", warning: true });
    expect(inHome?.problem).toContain("nothing is logged");
    const [elsewhere] = await look({ SVC_REGIONS: "us-east1,eu-west1" });
    expect(elsewhere?.problem).toContain("cannot take the transparency log over");
  });

  it("name keys that end within a month, and those that ended", async () => {
    const days = (count: number): number => nowMs + count * dayMs;
    expect(await found({}, days(300))).toEqual([]);
    const uses = ["projection", "receipt", "sidecar", "statement"];
    const ending = (await found({}, days(340))).filter((each) => each.startsWith("key_ends"));
    expect(ending).toEqual(uses.map((use) => `key_ends ${use} key`));
    expect((await found({}, days(366))).join()).toMatch(/keys_refused HOME\/keys\/projection/);
  });

  it("are not made or changed", async () => {
    mkdirSync(at("empty"));
    const changes = { SVC_HOME: at("empty/home"), SVC_KEYS: at("empty/keys") };
    expect(await found(changes)).toEqual(["keys_refused HOME/empty/keys"]);
    expect(readdirSync(at("empty"))).toEqual([]);
  });
});
