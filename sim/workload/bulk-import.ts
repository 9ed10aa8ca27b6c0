// A business's system publishes a batch as a file: it asks for an upload, sends the file until it is taken, sometimes twice
// at once, and requests the import. What it never hears of is sent again later like any batch.

import { toBase64, utf8 } from "../../protocol/bytes.ts";
import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import type { FileValidation } from "../../protocol/wire/validation.ts";
import type { Random } from "../kernel/random.ts";
import type { World } from "../world/world.ts";
import type { SentBatch } from "./batch.ts";
import type { Client, Heard } from "./client.ts";
import { productBytes } from "./product.ts";
import type { SimRequest } from "./signed-request.ts";

const attemptsMax = 4;
const retryMs = 200;

export interface ImportDeps {
  readonly world: World;
  readonly client: Client;
  readonly random: Random;
  readonly region: string;
  /** Signs a request with this body; each time with a nonce and an Idempotency-Key of its own. */
  readonly sign: (route: "upload" | "import" | "validate-import", body: Uint8Array) => SimRequest;
}

/** The file that has the records of a batch. */
export function fileOf(batch: SentBatch): Uint8Array {
  return utf8(batch.leaves.map(({ choice }) => `${toBase64(productBytes(choice))}\n`).join(""));
}

/** The answer to the import; null if it came to none. */
export async function importBatch(deps: ImportDeps, batch: SentBatch): Promise<Heard | null> {
  const { world, client, random, region } = deps;
  const asked = await client.send(deps.sign("upload", utf8('{"record_type":"products"}')), region);
  if (asked?.status !== 201) return null;
  const upload = asked.body as BulkUpload;
  if (!(await isUploaded(deps, upload, fileOf(batch)))) return null;
  world.observed.mark("bulk.uploaded");
  const { batch_seal } = JSON.parse(new TextDecoder().decode(batch.body)) as { readonly batch_seal: unknown };
  const body = utf8(JSON.stringify({ upload_id: upload.upload_id, batch_seal }));
  if (random.chance(0.25)) await validate(deps, batch, body);
  for (let attempt = 1; ; attempt += 1) {
    const heard = await client.send(deps.sign("import", body), region);
    if (heard !== null || attempt === attemptsMax) return heard;
    await client.pause(random.between(1, retryMs));
  }
}

/** The file stays what it is for its import. */
async function validate({ world, client, region, sign }: ImportDeps, batch: SentBatch, body: Uint8Array) {
  const heard = await client.send(sign("validate-import", body), region);
  if (heard === null) return;
  world.observed.mark(`validate-import.${heard.code}`);
  if (heard.status !== 200) return;
  const { results, known } = heard.body as FileValidation;
  if (results.length !== batch.leaves.length || known)
    world.observed.violate(
      "validation-is-whole",
      `the file of ${batch.pushId} was validated with ${results.length} results of ${batch.leaves.length}`,
    );
}

async function isUploaded(deps: ImportDeps, upload: BulkUpload, file: Uint8Array): Promise<boolean> {
  const { client, random, region } = deps;
  const send = (): Promise<Heard | null> => client.sendFile(upload, file, region);
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const heard = random.chance(0.2) ? await Promise.all([send(), send()]) : [await send()];
    if (heard.filter((each) => each?.status === 201).length > 1)
      deps.world.observed.violate("uploaded-once", `${upload.upload_id} took two files`);
    const problems = heard.map((each) =>
      each?.outcome.kind === "problem" ? each.outcome.problem.reason : null,
    );
    if (heard.some((each) => each?.status === 201) || problems.includes("already_uploaded")) return true;
    await client.pause(random.between(1, retryMs));
  }
  return false;
}
