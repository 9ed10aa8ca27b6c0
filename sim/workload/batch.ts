// A sealed batch, with everything needed to send exactly the same batch again.

import { hashOf, toBase64, utf8 } from "../../protocol/bytes.ts";
import { makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp, pushIdOf } from "../../protocol/identifiers.ts";
import { leafHash, merkleRoot } from "../../protocol/merkle.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { BulkUpload, FileValidation } from "../../protocol/wire/bulk.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import type { Random } from "../kernel/random.ts";
import type { SimBusiness } from "../world/setup.ts";
import type { World } from "../world/world.ts";
import type { WorldParts } from "../world/world-parts.ts";
import { type Client, type Heard, passing } from "./client.ts";
import type { Journal } from "./journal.ts";
import type { Moment } from "./key-changes.ts";
import { type ProductChoice, productBytes } from "./product.ts";
import type { SimRequest } from "./signed-request.ts";

export interface SentLeaf {
  readonly choice: ProductChoice;
  readonly recordId: string;
  readonly hash: string;
}

export interface SentBatch {
  readonly pushId: string;
  readonly business: SimBusiness;
  readonly key: SimSigner;
  readonly seq: number;
  readonly body: Uint8Array;
  readonly leaves: readonly SentLeaf[];
  readonly idempotencyKey: string;
  /** Position in the world's events when it was first sent. */
  readonly sentAt: number;
  readonly sealedAtMs: number;
  /** When it was first sent, which may be long after it was sealed. */
  firstSent: Moment;
  /** Position at which a 200 or 202 was received; null before. */
  acknowledgedAt: number | null;
  /** Results of the first 200 that was received. */
  results: readonly HeardResult[] | null;
  /** Reported as complete, held or failed. */
  settled: boolean;
  /** The code of a refusal that a retry does not change. */
  refused: string | null;
}

export interface HeardResult {
  readonly leaf_index: number;
  readonly outcome: string;
  readonly record_id: string | null;
  readonly version: number | null;
}

export function sealBatch(
  parts: WorldParts,
  given: {
    readonly business: SimBusiness;
    readonly key: SimSigner;
    readonly seq: number;
    readonly products: readonly ProductChoice[];
    readonly policyVersion: number;
    readonly idempotencyKey: string;
  },
): SentBatch {
  const { business, key, seq, products } = given;
  const { crypto, kernel } = parts;
  const records = products.map(productBytes);
  const leaves = records.map((record) => leafHash(record, crypto.sha256));
  const payload = sealPayload({
    v: 2,
    key_id: key.keyId,
    cert_id: business.certId,
    root: `sha256:${merkleRoot(leaves, crypto.sha256).toHex()}`,
    tree_size: records.length,
    seq,
    sealed_at: formatTimestamp(kernel.now()),
    record_type: "products",
    ai_policy_version: given.policyVersion,
  });
  const type = payloadTypes["batch-seal.v2"];
  const seal = makeEnvelope(type, payload, [{ keyid: key.keyId, sig: key.signNow(pae(type, payload)) }]);
  const items = records.map((record) => `"${toBase64(record)}"`).join(",");
  return {
    business,
    key,
    seq,
    idempotencyKey: given.idempotencyKey,
    pushId: pushIdOf(business.uuid, payload, crypto.sha256),
    body: utf8(`{"batch_seal":${JSON.stringify(seal)},"records":[${items}]}`),
    leaves: products.map((choice, index) => ({
      choice,
      recordId: parts.recordIdOf(business.uuid, "products", choice.id),
      hash: hashOf(records[index] as Uint8Array, crypto.sha256),
    })),
    sentAt: kernel.events,
    sealedAtMs: kernel.now(),
    firstSent: { at: kernel.events, ms: kernel.now() },
    acknowledgedAt: null,
    results: null,
    settled: false,
    refused: null,
  };
}

/** Whether an answer has come that ends the business's interest in it. */
export const isDone = ({ acknowledgedAt, refused }: SentBatch): boolean =>
  acknowledgedAt !== null || refused !== null;

// What the answer to a batch must be, and what its business remembers of it.

interface Sender {
  readonly world: World;
  readonly journal: Journal;
  readonly key: SimSigner;
}

/** `sent` is when the request was sent. */
export function noteAnswer(
  { world, journal, key }: Sender,
  batch: SentBatch,
  heard: Heard,
  { name, sent }: { readonly name: string; readonly sent: Moment },
): void {
  const sentAt = sent.at;
  const { observed, parts } = world;
  observed.mark(`publish.${heard.code}`);
  if (heard.status === 200 || heard.status === 202) {
    const revokedAt = journal.revocations.get(key.keyId)?.doneAt ?? Number.POSITIVE_INFINITY;
    // An earlier acceptance may be reported again; a new batch may not be accepted.
    if (batch.sentAt > revokedAt && sentAt > revokedAt)
      observed.violate("revocation-holds", `${batch.pushId} was accepted although its key had been revoked`);
    if (batch.key !== key) observed.mark("publish.resumed");
    batch.acknowledgedAt ??= parts.kernel.events;
    if (heard.status === 200) noteOutcomes({ world, journal }, batch, heard, name);
  } else if (!passing.has(heard.code)) {
    const isWithout = heard.code === "mandate_missing";
    // A replayed refusal says what was in force when it was first given.
    const isNew = heard.outcome.kind === "problem";
    if (
      isWithout &&
      isNew &&
      !world.mayReadOld &&
      journal.standing.isCovered(key.keyId, sent, parts.kernel.now())
    )
      observed.violate("in-force-publishes", `${batch.pushId} was refused although a mandate is in force`);
    // A request in flight in parallel with the accepted one may have been judged before it.
    const wasAcknowledged = batch.acknowledgedAt !== null && sentAt > batch.acknowledgedAt;
    const isLost = wasAcknowledged && heard.code !== "idempotency_key_reused" && !isWithout;
    if (isLost && !world.mayReadOld)
      observed.violate(
        "acknowledged-is-kept",
        `${batch.pushId} was acknowledged, then refused: ${heard.code}`,
      );
    batch.refused ??= heard.code;
  }
}

function noteOutcomes(
  { world: { observed }, journal }: Omit<Sender, "key">,
  batch: SentBatch,
  heard: Heard,
  name: string,
): void {
  const { results, batch_id, held } = heard.body as {
    results: HeardResult[];
    batch_id: string;
    held: boolean;
  };
  if (batch_id !== batch.pushId)
    observed.violate("answers-fit", `${batch.pushId} was answered as ${batch_id}`);
  if (held) observed.mark("publish.held");
  if (held) return;
  journal.compareResults(observed, batch, results, name);
  batch.results ??= results;
  batch.settled = true;
}

// A business's system publishes a batch as a file: it asks for an upload, sends the file until it is taken, sometimes twice
// at once, and requests the import. What it never hears of is sent again later like any batch.

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
