// A sender that loses its claim on an upload while it sends is told so at the next renewal, and leaves nothing.

import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { bulkUploadRef } from "../../actors/messages/refs.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { toHex, utf8 } from "../../protocol/bytes.ts";
import { type FormEvent, receiveFile } from "../../service/publishing/bulk-file.ts";
import { newBusiness, openAttackNode } from "../retrieval/attack.fixture.ts";
import { newUpload } from "./bulk.fixture.ts";

it("a file whose upload was taken over is refused before it ends, and its draft is removed", async () => {
  const node = await openAttackNode();
  try {
    const { services, urls } = node.running;
    const business = await newBusiness(node);
    const { upload_id: uploadId, fields } = await newUpload(urls, business);
    const upload = bulkUploadRef(business.party.uuid, uploadId);
    const random = new Uint8Array(8);
    const attempt = `${business.party.uuid}.${uploadId}.${toHex(random)}`;
    let skippedMs = 0;
    let isReadOn = false;
    const form = async function* (): AsyncGenerator<FormEvent, void> {
      for (const [name, value] of Object.entries(fields)) {
        yield { kind: "part", name };
        yield { kind: "bytes", bytes: utf8(value) };
      }
      yield { kind: "part", name: "file" };
      yield { kind: "bytes", bytes: utf8("YQ==\n") };
      await services.actors.ask(upload, { type: "upload.abort", attempt, is_refused: false });
      await services.actors.ask(upload, { type: "upload.begin", attempt: "another" });
      skippedMs = 20_000;
      yield { kind: "bytes", bytes: utf8("YQ==\n") };
      isReadOn = true;
    };
    const deps = {
      ...services,
      clock: { now: () => services.clock.now() + skippedMs },
      crypto: { ...nativeCrypto, randomBytes: () => random },
    };
    const hash = createHash("sha256");
    const outcome = await receiveFile(deps, { uploadId, form: form(), hash, takeRoom: () => () => {} });
    expect(outcome).toMatchObject({ problem: { code: "upload_conflict", reason: "in_progress" } });
    expect(isReadOn).toBe(false);
    await expect(
      services.staging?.create(attempt).then((writer) => writer.discard()),
    ).resolves.toBeUndefined();
    // The other sender still has the upload.
    const other = await services.actors.ask(upload, { type: "upload.begin", attempt: "another" });
    expect(other).toMatchObject({ status: "begun" });
  } finally {
    await node.close();
  }
});
