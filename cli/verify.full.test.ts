// `svc verify` on what anyone can save of the public verification surface.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ownersPasskey } from "../node/sandbox/sealer.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { holdDecisionPayload } from "../protocol/withdrawal.ts";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

let sandbox: RunningSandbox;

const path = (name: string): string => join(sandbox.home, name);

/** Saves an answer of the verification surface as a tool would that knows nothing about it. */
async function save(name: string, route: string, body?: object): Promise<void> {
  const { verify_url: url } = JSON.parse(await readFile(path("sandbox.json"), "utf8"));
  const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const answer = await fetch(`${url}${route}`, init);
  expect(answer.status, route).toBe(200);
  await writeFile(path(name), new Uint8Array(await answer.arrayBuffer()));
}

const verify = (name: string, ...more: readonly string[]) =>
  sandbox.svc("verify", path(name), "--sandbox", "--key-set", path("keys.json"), ...more);

beforeAll(async () => {
  sandbox = await startSandbox();
  const recordId = /fetch (\S+) --save/.exec(sandbox.tour)?.[1] ?? "";
  const saved = await sandbox.svc("fetch", recordId, "--save", path("evidence.json"));
  expect(saved.code, saved.output).toBe(0);
  const evidence = JSON.parse(await readFile(path("evidence.json"), "utf8"));
  const { seal, provenance } = evidence.fetched;
  const bytes = Buffer.from(String(evidence.record_base64), "base64");
  await writeFile(path("record.bin"), bytes);
  await save("keys.json", "/.well-known/keys");
  await save("directory.json", "/.well-known/svc-keys");
  const page = new URL(/verify=(\S+)$/.exec(String(provenance.source_line))?.[1] ?? "");
  await save("page.json", `${page.pathname}${page.search}`);
  await save("statement.json", "/v1/verify", { record_base64: bytes.toString("base64"), seal });
}, 120_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

it("finds a verify statement, a verify page and the key directory genuine", async () => {
  for (const name of ["statement.json", "page.json"]) {
    const { code, output } = await verify(name, "--record", path("record.bin"));
    expect(output).toMatch(/^Valid\.$/m);
    expect(output).toMatch(/^ok +record$/m);
    expect(code, output).toBe(0);
  }
  expect(await verify("directory.json")).toMatchObject({
    code: 0,
    output: expect.stringMatching(/^ok +key_directory +Of /m),
  });
});

it("refuses each of them by name when a word of the answer was changed", async () => {
  for (const [name, from, to] of [
    ["statement.json", '"valid":true', '"valid":false'],
    ["page.json", '"status":"current"', '"status":"deleted"'],
    ["directory.json", '"companies":', '"company":'],
  ] as const) {
    const text = await readFile(path(name), "utf8");
    expect(text).toContain(from);
    await writeFile(path("changed.json"), text.replace(from, to));
    expect(await verify("changed.json"), name).toMatchObject({
      code: 1,
      output: expect.stringContaining("payload_malformed"),
    });
  }
});

it("judges a record of a business's own catalogue by whose keys they are", async () => {
  const { fetched } = JSON.parse(await readFile(path("evidence.json"), "utf8"));
  const { record_id, business_uuid } = fetched;
  const { businesses } = JSON.parse(await readFile(path("sandbox.json"), "utf8"));
  const number =
    businesses.findIndex((each: { readonly business_uuid: string }) => each.business_uuid === business_uuid) +
    1;
  const shown = await sandbox.svc("catalogue", record_id, "--json", "--business", String(number));
  expect(shown.code, shown.output).toBe(0);
  await writeFile(path("own.json"), shown.output.trim());
  await save("business-keys.json", `/v1/certificates/${business_uuid}/keys`);
  await save("certificate.json", `/v1/certificates/${business_uuid}`);
  const files = ["--business-keys", path("business-keys.json"), "--certificate", path("certificate.json")];
  const found = await verify("own.json", ...files);
  expect(found.output).toMatch(/^Valid\. Some checks could not be made\.$/m);
  expect(found).toMatchObject({ code: 0, output: expect.stringMatching(/^ok +seal +Sealed at /m) });
  const changed = shown.output.trim().replace('"business_product_id":"', "$&other ");
  await writeFile(path("own-changed.json"), changed);
  expect(await verify("own-changed.json", ...files)).toMatchObject({
    code: 1,
    output: expect.stringContaining("hash_mismatch"),
  });
  expect(await verify("own.json")).toMatchObject({
    code: 2,
    output: expect.stringContaining("--business-keys"),
  });
});

it("says in words what the owner of a business sealed, and not what somebody else did", async () => {
  const { businesses, anchors } = JSON.parse(await readFile(path("sandbox.json"), "utf8"));
  const [{ business_uuid, owner }, other] = businesses;
  const decision = holdDecisionPayload({
    v: 1,
    business_uuid,
    push_id: `bat_${"0a".repeat(12)}`,
    decision: "reject",
    at: new Date().toISOString(),
  });
  const type = payloadTypes["hold-decision.v1"];
  const sealAs = async (name: string, jwk: object) =>
    writeFile(path(name), JSON.stringify(await ownersPasskey(jwk, anchors.passkeys).seal(type, decision)));
  await sealAs("decision.json", owner.private_jwk);
  await sealAs("others.json", other.owner.private_jwk);
  await save("business-keys.json", `/v1/certificates/${business_uuid}/keys`);
  const words = `The held push bat_${"0a".repeat(12)} of the business ${business_uuid} is rejected: nothing of it is published.`;
  const keys = ["--business-keys", path("business-keys.json")];
  const found = await verify("decision.json", ...keys);
  expect(found, found.output).toMatchObject({ code: 0 });
  expect(found.output).toContain(words);
  expect(await verify("others.json", ...keys)).toMatchObject({
    code: 1,
    output: expect.stringContaining("key_unknown"),
  });
  expect(await verify("decision.json")).toMatchObject({
    code: 2,
    output: expect.stringContaining("--business-keys"),
  });
});

it("says what it needs: a key set for an answer, and nothing beside evidence", async () => {
  const alone = await sandbox.svc("verify", path("page.json"), "--sandbox");
  expect(alone).toMatchObject({ code: 2, output: expect.stringContaining("--key-set FILE") });
  const evidence = await verify("evidence.json");
  expect(evidence).toMatchObject({ code: 2, output: expect.stringContaining("evidence carries its own") });
  expect(await verify("page.json", "--record", path("keys.json"))).toMatchObject({
    code: 1,
    output: expect.stringContaining("hash_mismatch"),
  });
});

it("judges the bare answers of a search, a fetch and a pool by a saved key set, and what a search saved by itself", async () => {
  const recordId = /fetch (\S+) --save/.exec(sandbox.tour)?.[1] ?? "";
  const asked = {
    "search.json": ["search", "products", "--country", "US", "--limit", "2", "--json"],
    "fetched.json": ["fetch", recordId, "--json"],
    "pool.json": ["ads", "pool", "diamonds", "--json"],
  };
  for (const [name, words] of Object.entries(asked)) {
    const { output } = await sandbox.svc(...words);
    await writeFile(path(name), output.trim());
    const found = await verify(name);
    expect(found.output, name).toMatch(/^Valid\./m);
    expect(found.code, found.output).toBe(0);
    await writeFile(path("changed.json"), output.trim().replace(/"(?:retrieval|record)_id":"/, "$&x"));
    expect(await verify("changed.json"), name).toMatchObject({ code: 1 });
    expect(await sandbox.svc("verify", path(name), "--sandbox"), name).toMatchObject({
      code: 2,
      output: expect.stringContaining("--key-set FILE"),
    });
  }
  const saved = await sandbox.svc(...asked["search.json"].slice(0, -1), "--save", path("searched.json"));
  expect(saved.output).toContain(`svc verify ${path("searched.json")} --sandbox`);
  const found = await sandbox.svc("verify", path("searched.json"), "--sandbox");
  expect(found.output).toMatch(/^ok +rows\/1 /m);
  expect(found.code, found.output).toBe(0);
});

it("proves one shown price to a reader with anchors, or with a key set, and says first what that discloses", async () => {
  const kept = ["search", "products", "--country", "US", "--limit", "3", "--save", path("kept.json")];
  expect((await sandbox.svc(...kept)).code).toBe(0);
  const { search } = JSON.parse(await readFile(path("kept.json"), "utf8"));
  await save("of-row.json", `/v1/certificates/${search.rows[1].business_uuid}`);
  const words = ["prove-price", path("kept.json"), "--row", "2", "--certificate", path("of-row.json")];
  const told = await sandbox.svc(...words, "--sandbox");
  expect(told.output).toContain("Nothing was written");
  for (const at of [0, 2]) expect(told.output).toContain(search.rows[at].record_id);
  expect(told.output).not.toContain(search.rows[1].record_id);
  const made = await sandbox.svc(...words, "--sandbox", "--save", path("price.json"));
  expect(made.output).toContain(`svc verify ${path("price.json")} --sandbox`);
  const found = await sandbox.svc("verify", path("price.json"), "--sandbox");
  expect(found, found.output).toMatchObject({ code: 0 });
  expect(found.output).toMatch(
    /^Business ".+" \([A-Z]{2}\), .+\nProduct ".+\n(?:Price .+\n)*Price in US: [0-9.]+ USD\.$/m,
  );
  expect(found.output).toMatch(/^Valid\. Some checks could not be made\.$/m);
  await sandbox.svc(...words, "--sandbox", "--save", path("bare.json"), "--without-keys");
  expect(await verify("bare.json")).toMatchObject({ code: 0, output: expect.stringMatching(/^Valid\.$/m) });
  expect(await sandbox.svc("verify", path("bare.json"), "--sandbox")).toMatchObject({ code: 1 });
  const wrong = [
    [["--row", "2"], "--anchors FILE"],
    [["--row", "2", "--anchors", path("kept.json"), "--verify-url", "x"], "not valid anchors"],
    [["--row", "2", "--anchors", path("kept.json")], "--verify-url URL"],
    [["--sandbox"], "--row N"],
    [["--sandbox", "--row", "4"], "no row 4"],
  ] as const;
  for (const [options, detail] of wrong)
    expect(await sandbox.svc("prove-price", path("kept.json"), ...options), detail).toMatchObject({
      code: 2,
      output: expect.stringContaining(detail),
    });
});
