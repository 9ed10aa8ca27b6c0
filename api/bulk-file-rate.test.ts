import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bulkUploadRef } from "../actors/messages/refs.ts";
import { boundary, formOf } from "../stories/publishing/bulk.fixture.ts";
import { openBusiness, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import { openSurfaces, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
beforeAll(async () => {
  const limits = { bodyGraceMs: 200, bodyBytesPerSecondMin: 1_000_000, fileBytesPerSecondMin: 20_000 };
  surfaces = await openSurfaces(limits);
  business = await openBusiness(surfaces.services);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

/** The answer to a file that arrives at this rate for a second. */
async function answerAt(bytesPerSecond: number, upload_id: string): Promise<string> {
  const { actors, uploadTokens } = surfaces.services;
  const { uuid } = business.party;
  await actors.ask(bulkUploadRef(uuid, upload_id), {
    type: "upload.issue",
    record_type: "products",
    valid_ms: 60_000,
    key_id: business.key.key_id,
  });
  const upload_token = uploadTokens.tokenOf(uuid, upload_id);
  const file = "YQ==\n".repeat(bytesPerSecond / 5);
  const form = formOf([
    ["upload_id", upload_id],
    ["upload_token", upload_token],
    ["file", file],
  ]);
  const { port, host } = new URL(surfaces.businessUrl);
  const socket = connect(Number(port), "127.0.0.1");
  let text = "";
  socket.on("data", (chunk) => {
    text += String(chunk);
  });
  socket.on("error", () => {});
  socket.write(
    `POST /v1/bulk-uploads/${upload_id}/file HTTP/1.1\r\nhost: ${host}\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\ncontent-length: ${form.length}\r\n\r\n`,
  );
  for (let step = 0; step < 20 && text === ""; step += 1) {
    socket.write(form.subarray((form.length * step) / 20, (form.length * (step + 1)) / 20));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await expect.poll(() => text, { timeout: 5_000 }).not.toBe("");
  socket.destroy();
  return text;
}

describe("a bulk file", () => {
  it("may arrive more slowly than other bodies, at a rate of its own", async () => {
    expect(await answerAt(60_000, `bup_${"1".repeat(24)}`)).toMatch(/^HTTP\/1.1 201 /);
  });

  it("that arrives more slowly than that is given up", async () => {
    expect(await answerAt(5_000, `bup_${"2".repeat(24)}`)).toMatch(/^HTTP\/1.1 408 /);
  });
});
