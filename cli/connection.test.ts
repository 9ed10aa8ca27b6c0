// Which service a command may call with `--config`.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import type { Call } from "./command.ts";
import { connect } from "./connection.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-connection-"));
  await writeFile(join(folder, "key.json"), JSON.stringify(generatePrivateJwk("Ed25519")), { mode: 0o600 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function connectBy(config: Readonly<Record<string, unknown>>): Promise<string> {
  const path = join(folder, "config.json");
  await writeFile(path, JSON.stringify({ version: 1, key: { file: "key.json" }, ...config }));
  const text = (name: string) => (name === "config" ? path : null);
  return await connect("ai_company", { text, cwd: folder, env: {} } as Call).then(
    ({ environment }) => environment,
    (error: Error) => error.message,
  );
}

it.each(["api_base_url", "business_base_url", "public_base_url"])(
  "speaks to production over https alone: %s",
  async (member) => {
    const clear = { [member]: "http://api.example" };
    const refusal = `${member} is "http://api.example"; in production use an https address, or set environment to sandbox.`;
    expect(await connectBy(clear)).toBe(refusal);
    expect(await connectBy({ environment: "production", ...clear })).toBe(refusal);
    expect(await connectBy({ environment: "sandbox", ...clear })).toBe("sandbox");
    expect(await connectBy({ [member]: "https://api.example" })).toBe("production");
    expect(await connectBy({ [member]: "api.example" })).toMatch(/use an https address/);
  },
);
