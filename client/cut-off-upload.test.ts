// An upload whose connection is reset ends with an error that a caller can catch, and nothing goes on writing behind its back.

import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bulkFileBytesMax, bulkRecordsMax } from "../protocol/limits.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import type { BulkUpload } from "../protocol/wire/bulk.ts";
import { businessMethods } from "./business-client.ts";
import { SvcConnectionError } from "./errors.ts";
import { createSender } from "./sender.ts";

let server: Server;
beforeAll(async () => {
  // Takes the beginning of every request, and resets its connection.
  server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => setTimeout(() => socket.resetAndDestroy(), 5));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  server.close();
});

it("rejects, each time, and leaves no error to nobody", async () => {
  const sender = createSender({ fetch, key: null });
  const client = businessMethods(() => Promise.reject(new Error("is not asked for")), sender);
  const file = new Blob(Array.from({ length: 400 }, () => "YQ==\n".repeat(20_000)));
  const upload: BulkUpload = {
    upload_id: "bup_1",
    record_type: "products",
    content_type: "application/x-ndjson",
    max_bytes: bulkFileBytesMax,
    max_records: bulkRecordsMax,
    expires_at: "2026-01-01T00:00:00.000Z",
    upload_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`,
    fields: { upload_id: "bup_1", upload_token: "token" },
  };
  for (let attempt = 0; attempt < 10; attempt += 1)
    await expect(client.sendFile(upload, file)).rejects.toBeInstanceOf(SvcConnectionError);
  // What would go on writing does so now; an error that nobody catches fails this file.
  await new Promise((resolve) => setTimeout(resolve, 200));
});

it("refuses a field that would break the form", async () => {
  const client = businessMethods(
    () => Promise.reject(new Error("is not asked for")),
    () => Promise.reject(new Error("is not sent")),
  );
  const upload = { upload_url: "http://127.0.0.1/", content_type: "application/x-ndjson", max_bytes: 9 };
  for (const fields of [{ upload_id: "a\r\nb" }, { 'a"b': "c" }])
    await expect(client.sendFile(rubbish({ ...upload, fields }), new Blob(["a"]))).rejects.toThrow(TypeError);
});
