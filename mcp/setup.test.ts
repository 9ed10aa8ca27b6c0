import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { generatePrivateJwk } from "../client/signing-key.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { loadSetup, type Setup } from "./setup.ts";

let folder = "";
const jwk = JSON.stringify(await generatePrivateJwk("Ed25519"));
const p256 = JSON.stringify(await generatePrivateJwk("ES256"));
const pemOf = (curve: string): string =>
  generateKeyPairSync("ec", { namedCurve: curve })
    .privateKey.export({ type: "pkcs8", format: "pem" })
    .toString();

const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-mcp-setup-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function setupOf(members: JsonObject, env: Readonly<Record<string, string>> = {}): Promise<Setup> {
  const document = { version: 1, environment: "sandbox", api_base_url: "http://127.0.0.1:1", ...members };
  await writeFile(join(folder, "mcp.json"), JSON.stringify(document));
  return await loadSetup({ configFile: "mcp.json", sandboxHome: null, env, cwd: folder });
}

describe("the key", () => {
  it.each<[string, string]>([
    ["a private JWK (Ed25519)", jwk],
    ["a private JWK (P-256)", p256],
    ["a PKCS #8 PEM (P-256)", pemOf("prime256v1")],
    [
      "a PKCS #8 PEM (Ed25519)",
      generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    ],
  ])("is %s, in a file or a variable", async (_name, text) => {
    await writeFile(join(folder, "key"), text);
    const [inFile, inVariable] = [
      await setupOf({ key: { file: "key" } }),
      await setupOf({ key: { env: "K" } }, { K: text }),
    ];
    expect(inFile.key.keyId).toBe(inVariable.key.keyId);
    expect((await setupOf({}, { MASTERDB_MCP_PRIVATE_KEY: text })).key.keyId).toBe(inFile.key.keyId);
  });

  it.each<[string, string, string]>([
    ["empty", "", "holds no private key"],
    ["text", "not a key at all", "is not JSON"],
    [
      "a public JWK",
      '{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}',
      "private member d",
    ],
    ["a key on another curve", pemOf("secp384r1"), "can be used"],
    ["a broken PEM", "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----", "PKCS #8 PEM"],
    ["an RSA key", rsa.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), "can be used"],
    ["a public key", rsa.publicKey.export({ type: "spki", format: "pem" }).toString(), "of a private key"],
    [
      "an encrypted key",
      rsa.privateKey
        .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" })
        .toString(),
      "unencrypted",
    ],
  ])("that is %s is refused without being shown", async (_name, text, said) => {
    const failure = await setupOf({}, { MASTERDB_MCP_PRIVATE_KEY: text }).catch((error: Error) => error);
    expect(failure).toMatchObject({ name: "SetupError", message: expect.stringMatching(said) });
    expect(String(failure)).toContain("Put a private JWK or PKCS #8 PEM of an Ed25519 or P-256 key there");
    if (text !== "") expect(String(failure)).not.toContain(text.slice(0, 60));
  });

  it("that is missing, or in a file that cannot be read, is refused", async () => {
    await expect(setupOf({})).rejects.toThrow("The variable MASTERDB_MCP_PRIVATE_KEY holds no private key");
    const wayOut = "name a readable file in key.file, or change its permissions.";
    const read = (file: string) => expect(setupOf({ key: { file } })).rejects;
    await read("none").toThrow(`none cannot be read (ENOENT). There is no such file: ${wayOut}`);
    await read(".").toThrow(`cannot be read (EISDIR). It is a folder: ${wayOut}`);
    await symlink("loop", join(folder, "loop"));
    await read("loop").toThrow(`loop cannot be read (ELOOP). The system does not read it: ${wayOut}`);
  });

  // The superuser may read everything.
  it.skipIf(process.getuid?.() === 0)("in a file of which this user has no right is refused", async () => {
    await writeFile(join(folder, "closed"), jwk, { mode: 0o000 });
    await expect(setupOf({ key: { file: "closed" } })).rejects.toThrow("(EACCES). This user may not read it");
  });
});

describe("files", () => {
  const env = { MASTERDB_MCP_PRIVATE_KEY: jwk };

  it("that are missing or not JSON are refused by name", async () => {
    const load = (configFile: string) => loadSetup({ configFile, sandboxHome: null, env, cwd: folder });
    await expect(load("nothing.json")).rejects.toThrow(
      /nothing.json cannot be read \(ENOENT\).*in --config or MASTERDB_MCP_CONFIG/,
    );
    await writeFile(join(folder, "bad.json"), "{");
    await expect(load("bad.json")).rejects.toThrow(/bad.json is not JSON.*--print-config-schema/);
  });

  it("are named by the variable where no option does", async () => {
    await setupOf({ country: "DE" }, env);
    const own = { ...env, MASTERDB_MCP_CONFIG: "mcp.json" };
    const { config } = await loadSetup({ configFile: null, sandboxHome: null, env: own, cwd: folder });
    expect(config.country).toBe("DE");
  });

  it("are not needed", async () => {
    const own = { ...env, MASTERDB_MCP_API_BASE_URL: "https://api.example" };
    const { config } = await loadSetup({ configFile: null, sandboxHome: null, env: own, cwd: folder });
    expect(config.apiBaseUrl).toBe("https://api.example");
  });

  it("are asked for where nothing says which service is meant", async () => {
    const load = loadSetup({ configFile: null, sandboxHome: null, env, cwd: folder });
    await expect(load).rejects.toThrow("Use --sandbox with a node on this machine, or name a configuration");
  });

  it("with anchors that are not anchors are refused", async () => {
    await writeFile(join(folder, "anchors.json"), '{"v":1}');
    await expect(setupOf({ anchors_file: "anchors.json" }, env)).rejects.toThrow(
      "anchors_file: These are not valid anchors",
    );
    await expect(setupOf({ anchors_file: "none.json" }, env)).rejects.toThrow("cannot be read");
  });
});

describe("the bearer token", () => {
  const transport = { type: "http", host: "0.0.0.0", bearer_token_env: "TOKEN" };
  it.each([16, 512])("may have %d characters", async (length) => {
    const env = { MASTERDB_MCP_PRIVATE_KEY: jwk, TOKEN: "x".repeat(length) };
    expect(await setupOf({ transport }, env)).toMatchObject({ bearerToken: env.TOKEN });
  });

  it.each([undefined, "", "x".repeat(15), "x".repeat(513), `has spaces ${"x".repeat(20)}`])(
    "%j is refused",
    async (TOKEN) => {
      const env = { MASTERDB_MCP_PRIVATE_KEY: jwk, ...(TOKEN === undefined ? {} : { TOKEN }) };
      await expect(setupOf({ transport }, env)).rejects.toThrow(
        "The variable TOKEN must hold the bearer token",
      );
    },
  );
});

describe("the sandbox of a node", () => {
  const load = (sandboxHome: string, configFile: string | null = null) =>
    loadSetup({ configFile, sandboxHome, env: {}, cwd: folder });

  it("is refused where there is none, beside a configuration, and where its file is another's", async () => {
    await expect(load("nowhere")).rejects.toThrow("Start a node with: npm start");
    await expect(load("nowhere", "mcp.json")).rejects.toThrow("leave out --config");
    await writeFile(join(folder, "sandbox.json"), '{"ai_companies":[]}');
    await expect(load(".")).rejects.toThrow("is not the file of a sandbox");
  });
});
