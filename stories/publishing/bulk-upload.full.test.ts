// What is refused of an upload, by name, and that nothing is left behind, over HTTP on a real node.

import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bulkUploadRef } from "../../actors/messages/refs.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import { type AttackNode, newBusiness, openAttackNode } from "../retrieval/attack.fixture.ts";
import {
  boundary,
  type FormPart,
  fileOf,
  formOf,
  newUpload,
  partsOf,
  sendFile,
  sendForm,
  type UploadAnswer,
} from "./bulk.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
let business: TestBusiness;

beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const ask = (): Promise<BulkUpload> => newUpload(node.running.urls, business);
/** A business may have few open uploads, and each test leaves some. */
beforeEach(async () => {
  business = await newBusiness(node);
});
const staged = (): Promise<readonly string[]> =>
  readdir(join(node.running.config.home, "bulk")).catch(() => []);
const stateOf = ({ upload_id }: BulkUpload) =>
  node.running.services.actors.ask(bulkUploadRef(business.party.uuid, upload_id), { type: "upload.read" });
const line = toBase64(utf8('{"a":1}'));
const good = fileOf([product("a"), product("b")]);

/** Nothing is left of the upload, and a right one is taken at once. */
async function expectNothingLeft(upload: BulkUpload, before: readonly string[]): Promise<void> {
  expect(await staged()).toEqual(before);
  expect(await stateOf(upload)).toMatchObject({ state: "issued", file: null });
  expect(await sendFile(upload, good)).toMatchObject({ status: 201, json: { records: 2 } });
}

/** Sends what the test says, and expects the refusal and nothing left. */
async function expectRefused(
  sent: (upload: BulkUpload) => Promise<UploadAnswer>,
  refusal: Readonly<Record<string, unknown>>,
): Promise<void> {
  const upload = await ask();
  const before = await staged();
  const answer = await sent(upload);
  expect(answer.json).toMatchObject(refusal);
  expect(answer.status).toBe(answer.json["status"]);
  await expectNothingLeft(upload, before);
}

describe("a file", () => {
  it.each([
    ["an empty one", "", "file_empty", 0],
    ["CRLF", `${line}\r\n${line}\r\n`, "line_crlf", 0],
    ["a last line that was cut off", `${line}\n${line.slice(0, -1)}`, "line_not_base64", 1],
    ["an empty line", `${line}\n\n${line}\n`, "line_empty", 1],
    ["a line that is no base64", `${line}\n${line}\n{}\n`, "line_not_base64", 2],
  ])("with a fault (%s) is refused with its line's index", async (_what, file, reason, index) => {
    const refusal = { code: "request_invalid", reason, pointer: `/file/${index}` };
    await expectRefused((upload) => sendFile(upload, file), refusal);
  });

  it("is the same with and without the LF of its last line", async () => {
    const answers = await Promise.all(
      [good, good.slice(0, -1)].map(async (each) => (await sendFile(await ask(), each)).json),
    );
    const [whole, bare] = answers;
    expect(bare).toMatchObject({ records: 2, root: whole?.["root"] });
    expect(bare?.["bytes"]).toBe(Number(whole?.["bytes"]) - 1);
  });

  it("with a record of 204,801 characters is refused", async () => {
    const file = `${line}\n${"A".repeat(204_801)}\n`;
    const refusal = { status: 413, code: "record_too_large", reason: "line_too_long", pointer: "/file/1" };
    await expectRefused((upload) => sendFile(upload, file), refusal);
  });

  it("of 100,001 records is refused", async () => {
    const refusal = { code: "request_invalid", reason: "too_many_records", pointer: "/file/100000" };
    await expectRefused((upload) => sendFile(upload, "YQ==\n".repeat(100_001)), refusal);
  });

  it("whose declared length is over 256 MiB is refused before it is read", async () => {
    const upload = await ask();
    const head = `POST /v1/bulk-uploads/${upload.upload_id}/file HTTP/1.1\r\nhost: ${new URL(upload.upload_url).host}\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\ncontent-length: 268566529\r\n\r\n`;
    expect(await raw(upload, head)).toMatch(/^HTTP\/1.1 413 .*"code":"record_too_large"/s);
  });

  it("that grows over 256 MiB while it arrives is refused", { timeout: 120_000 }, async () => {
    // Lines of the longest records: 1,311 of them are 256 MiB and some bytes more.
    const longest = Buffer.from(`${"A".repeat(204_800)}\n`);

    await expectRefused(
      (upload) => {
        const head = formOf(partsOf(upload, "")).subarray(0, -(boundary.length + 8));
        let sent = -1;
        const pull = (stream: ReadableStreamDefaultController<Uint8Array>): void => {
          sent += 1;
          stream.enqueue(sent === 0 ? head : longest);
          if (sent > 1_320) stream.close();
        };
        return sendForm(upload, new ReadableStream({ pull }));
      },
      { status: 413, code: "record_too_large", reason: "file_too_long", pointer: "/file" },
    );
  });
});

describe("a form", () => {
  const form = (parts: (upload: BulkUpload) => readonly FormPart[]) => (upload: BulkUpload) =>
    sendForm(upload, formOf(parts(upload)));

  it("with the file before its fields is refused", async () => {
    await expectRefused(
      form((upload) => partsOf(upload, good).toReversed()),
      { code: "request_invalid", reason: "field_missing", pointer: "/upload_id" },
    );
  });

  it("without the file, or without a field, is refused", async () => {
    await expectRefused(
      form((upload) => partsOf(upload, good).slice(0, 2)),
      { code: "request_invalid", reason: "file_missing", pointer: "/file" },
    );
    await expectRefused(
      form((upload) => partsOf(upload, good).filter(([name]) => name !== "upload_token")),
      { reason: "field_missing", pointer: "/upload_token" },
    );
  });

  it("with a part of another name is refused, before the file and behind it", async () => {
    await expectRefused(
      form((upload) => [["more", "1"], ...partsOf(upload, good)]),
      { reason: "part_unknown", allowed: ["upload_id", "upload_token", "file"] },
    );
    await expectRefused(
      form((upload) => [...partsOf(upload, good), ["more", "1"]]),
      { reason: "part_after_file", pointer: "/file" },
    );
  });

  it("with a part twice is refused", async () => {
    await expectRefused(
      form((upload) => [["upload_id", upload.upload_id], ...partsOf(upload, good)]),
      { reason: "field_repeated", pointer: "/upload_id" },
    );
    await expectRefused(
      form((upload) => [...partsOf(upload, good), ["file", good]]),
      { reason: "field_repeated", pointer: "/file" },
    );
  });

  it("with a field of another upload, or one that is too long, is refused", async () => {
    const other = await ask();
    await expectRefused(
      form((upload) =>
        partsOf({ ...upload, fields: { ...upload.fields, upload_id: other.upload_id } }, good),
      ),
      { reason: "field_invalid", pointer: "/upload_id" },
    );
    await expectRefused(
      form((upload) =>
        partsOf({ ...upload, fields: { ...upload.fields, upload_token: "x".repeat(300) } }, good),
      ),
      { reason: "field_invalid", pointer: "/upload_token" },
    );
  });

  it("with the token of another upload, or a forged one, is answered like an unknown upload", async () => {
    const other = await ask();
    const { uuid } = business.party;
    for (const upload_token of [other.fields.upload_token, "x", `${uuid}.${"A".repeat(43)}`, ""]) {
      await expectRefused(
        form((upload) => partsOf({ ...upload, fields: { ...upload.fields, upload_token } }, good)),
        { status: 404, code: "not_found" },
      );
    }
  });

  it("with a boundary inside the data is refused", async () => {
    const inside = (bytes: string) => form((upload) => partsOf(upload, `${line}\n${bytes}${line}\n`));
    await expectRefused(inside(`\r\n--${boundary}`), { reason: "form_malformed" });
    await expectRefused(inside(`\r\n--${boundary}--\r\n`), { reason: "form_malformed" });
    await expectRefused(inside(`\n--${boundary}\n`), { reason: "line_empty", pointer: "/file/1" });
  });

  it("that is cut off is refused", async () => {
    const cut = (bytes: number) => (upload: BulkUpload) =>
      sendForm(upload, formOf(partsOf(upload, good)).subarray(0, -bytes));
    for (const bytes of [4, 30, 900]) await expectRefused(cut(bytes), { reason: "form_malformed" });
  });

  it("of another media type, or without a boundary, is refused", async () => {
    for (const type of ["application/x-ndjson", "multipart/form-data", "multipart/mixed; boundary=a"])
      await expectRefused((upload) => sendForm(upload, good, type), {
        status: 415,
        code: "media_type_unsupported",
        pointer: "/headers/content-type",
      });
  });

  it("whose connection ends in the middle of the file leaves nothing behind", async () => {
    const upload = await ask();
    const before = await staged();
    const whole = formOf(
      partsOf(upload, fileOf(Array.from({ length: 300 }, (_, index) => product(`${index}`)))),
    );
    const head = `POST ${new URL(upload.upload_url).pathname} HTTP/1.1\r\nhost: ${new URL(upload.upload_url).host}\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\ncontent-length: ${whole.length}\r\n\r\n`;
    const socket = connect(Number(new URL(upload.upload_url).port), "127.0.0.1");
    socket.write(head);
    socket.write(whole.subarray(0, whole.length / 2));
    await expect.poll(staged).toHaveLength(before.length + 1);
    socket.destroy();
    await expect.poll(staged).toEqual(before);
    await expectNothingLeft(upload, before);
  });
});

describe("an upload", () => {
  it("takes no file that begins after it has expired", async () => {
    const upload = await ask();
    const { actors, uploadTokens } = node.running.services;
    const { uuid } = business.party;
    const upload_id = "bup_0123456789abcdef01234567";
    const ref = bulkUploadRef(uuid, upload_id);
    await actors.ask(ref, { type: "upload.issue", record_type: "products", valid_ms: 0, key_id: "k" });
    const fields = { upload_id, upload_token: uploadTokens.tokenOf(uuid, upload_id) };
    const upload_url = upload.upload_url.replace(upload.upload_id, upload_id);
    const before = await staged();
    expect(await sendFile({ ...upload, upload_id, upload_url, fields }, good)).toMatchObject({
      status: 409,
      json: { code: "upload_conflict", reason: "expired" },
    });
    expect(await staged()).toEqual(before);
  });

  it("takes one file: a second one is refused, and changes nothing", async () => {
    const upload = await ask();
    expect(await sendFile(upload, good)).toMatchObject({ status: 201 });
    const before = await staged();
    expect(await sendFile(upload, fileOf([product("c")]))).toMatchObject({
      status: 409,
      json: { code: "upload_conflict", reason: "already_uploaded" },
    });
    expect(await staged()).toEqual(before);
    expect(await stateOf(upload)).toMatchObject({ state: "uploaded", file: { records: 2 } });
  });

  it("takes one file at a time: a second sender is refused while the first one sends", async () => {
    const upload = await ask();
    const before = await staged();
    const form = formOf(partsOf(upload, good));
    const goOn = Promise.withResolvers<void>();
    const slowly = new ReadableStream<Uint8Array>({
      start: async (stream) => {
        stream.enqueue(form.subarray(0, -100));
        await goOn.promise;
        stream.enqueue(form.subarray(-100));
        stream.close();
      },
    });
    const first = sendForm(upload, slowly);
    await expect.poll(staged).toHaveLength(before.length + 1);
    expect(await sendFile(upload, good)).toMatchObject({
      status: 409,
      json: { code: "upload_conflict", reason: "in_progress" },
    });
    goOn.resolve();
    expect(await first).toMatchObject({ status: 201, json: { records: 2 } });
    expect(await staged()).toHaveLength(before.length + 1);
  });

  it("that was never issued is unknown, whatever its token", async () => {
    const { uploadTokens } = node.running.services;
    const upload_id = `bup_${"0".repeat(24)}`;
    const upload = { ...(await ask()), upload_id };
    const upload_url = upload.upload_url.replace(/bup_[0-9a-f]+/, upload_id);
    const upload_token = uploadTokens.tokenOf(business.party.uuid, upload_id);
    expect(
      await sendFile({ ...upload, upload_url, fields: { upload_id, upload_token } }, good),
    ).toMatchObject({
      status: 404,
      json: { code: "not_found" },
    });
  });
});

async function raw(upload: BulkUpload, head: string): Promise<string> {
  const socket = connect(Number(new URL(upload.upload_url).port), "127.0.0.1");
  socket.write(head);
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}
