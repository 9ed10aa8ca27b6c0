// Files where they cannot be taken, and files that change after they were taken.

import { mkdir, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshNonce } from "../../api/surfaces.fixture.ts";
import { type AttackNode, awaitPush, newBusiness, openAttackNode } from "../retrieval/attack.fixture.ts";
import { askUpload, fileOf, newUpload, requestImport, sendFile, stageRecords } from "./bulk.fixture.ts";
import { product } from "./publishing.fixture.ts";

let node: AttackNode;

beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const urls = () => node.running.urls;
const folder = (): string => join(node.running.config.home, "bulk");

describe("a file", () => {
  it("that cannot be written is refused as unavailable, and taken once it can be", async () => {
    const business = await newBusiness(node);
    const upload = await newUpload(urls(), business);
    await rename(folder(), `${folder()}-away`);
    await writeFile(folder(), "no folder");
    const refused = await sendFile(upload, fileOf([product("a")]));
    expect(refused).toMatchObject({
      status: 503,
      json: { code: "unavailable", reason: "staging_unavailable", retry_after_seconds: 60 },
    });
    expect(refused.headers.get("retry-after")).toBe("60");
    await rm(folder());
    await rename(`${folder()}-away`, folder());
    expect(await sendFile(upload, fileOf([product("a")]))).toMatchObject({ status: 201 });
  });

  it("that has not reached the node's store yet is refused as unavailable to a validation, and validated once it has", async () => {
    const business = await newBusiness(node);
    const { body } = await stageRecords(node, business, [product("a"), product("b")], { seq: 1 });
    const names = (await readdir(folder())).filter((each) => each.includes(body.upload_id));
    expect(names.length).toBeGreaterThan(0);
    const away = join(node.running.config.home, "away");
    await mkdir(away);
    for (const name of names) await rename(join(folder(), name), join(away, name));
    const path = "/v1/bulk-imports?validate_only=true";
    const refused = await requestImport(urls(), business, body, { path });
    expect(refused).toMatchObject({
      status: 503,
      json: { code: "unavailable", reason: "staging_unavailable", retry_after_seconds: 60 },
    });
    expect(refused.headers.get("retry-after")).toBe("60");
    for (const name of names) await rename(join(away, name), join(folder(), name));
    expect(await requestImport(urls(), business, body, { path })).toMatchObject({
      status: 200,
      json: { counts: { accepted: 2 } },
    });
  });

  it("that has no room beside the other files is refused as unavailable, leaves nothing, and is taken once it has", async () => {
    const business = await newBusiness(node);
    const other = join(folder(), "other.records");
    await writeFile(other, "");
    await truncate(other, 512 * 1_048_576);
    await node.restart(() => {
      process.env["SVC_BULK_FOLDER_MEBIBYTES"] = "512";
    });
    delete process.env["SVC_BULK_FOLDER_MEBIBYTES"];
    const upload = await newUpload(urls(), business);
    const before = await readdir(folder());
    expect(before).toContain("other.records");
    expect(await sendFile(upload, fileOf([product("a")]))).toMatchObject({
      status: 503,
      json: { code: "unavailable", reason: "staging_unavailable", retry_after_seconds: 60 },
    });
    expect(await readdir(folder())).toEqual(before);
    await node.restart();
    await rm(other);
    expect(await sendFile(upload, fileOf([product("a")]))).toMatchObject({ status: 201 });
  });

  it("that changes on the disk after it was taken ends its push, and publishes nothing", async () => {
    const business = await newBusiness(node);
    const { body, pushId } = await stageRecords(node, business, [product("a"), product("b")], { seq: 1 });
    const [name] = (await readdir(folder())).filter((each) => each.includes(body.upload_id));
    const path = join(folder(), name ?? "");
    const bytes = await readFile(path);
    const at = bytes.indexOf("business_product_id");
    expect(at).toBeGreaterThan(0);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    await writeFile(path, bytes);
    expect(await requestImport(urls(), business, body)).toMatchObject({ status: 202 });
    expect(await awaitPush(node, business, pushId)).toMatchObject({
      state: "failed",
      error: { code: "seal_invalid" },
      counts: { accepted: 0, updated: 0 },
    });
  });
});

describe("a node that takes no files", () => {
  it("says so, with a longer time to wait, and takes them again after a restart", async () => {
    const business = await newBusiness(node);
    const accepted = await stageRecords(node, business, [product("b")], { seq: 1 });
    const { body } = await stageRecords(node, business, [product("a")], { seq: 2 });
    const headers = { "idempotency-key": freshNonce() };
    const importing = (changes = {}) => requestImport(urls(), business, accepted.body, changes);
    expect(await importing({ headers })).toMatchObject({ status: 202 });
    await awaitPush(node, business, accepted.pushId);
    await node.restart(() => {
      process.env["SVC_BULK_IMPORT"] = "no";
    });
    delete process.env["SVC_BULK_IMPORT"];
    const unavailable = {
      status: 503,
      json: { code: "unavailable", reason: "bulk_import_unavailable", retry_after_seconds: 3_600 },
    };
    expect(await askUpload(urls(), business)).toMatchObject(unavailable);
    const refused = await requestImport(urls(), business, body);
    expect(refused).toMatchObject(unavailable);
    expect(refused.headers.get("retry-after")).toBe("3600");
    // What was accepted before is answered, under the same Idempotency-Key and under another.
    const known = { status: 202, json: { push_id: accepted.pushId, state: "complete" } };
    expect(await importing({ headers })).toMatchObject(known);
    expect(await importing()).toMatchObject(known);
    await node.restart();
    expect(await requestImport(urls(), business, body)).toMatchObject({ status: 202 });
  });
});
