// The machines of all kinds: the system runs them exactly as XState does, and commands reach every resting state.

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BulkUploadEvent } from "../machines/bulk-upload.ts";
import type { BusinessEvent } from "../machines/business.ts";
import type { IntegrationKeyEvent } from "../machines/integration-key.ts";
import type { KeyLimitsEvent } from "../machines/key-limits.ts";
import type { LogSequencerEvent } from "../machines/log-sequencer.ts";
import type { PushEvent } from "../machines/push.ts";
import type { RegionEvent } from "../machines/region.ts";
import type { WebhookEvent } from "../machines/webhook.ts";
import type { CertificateStatus } from "../protocol/keys/certificate.ts";
import { dose } from "../tools/test-dose.ts";
import { driveActor } from "./actor.fixture.ts";
import { bulkUploadActor } from "./bulk-upload/definition.ts";
import { businessActor } from "./business/definition.ts";
import { certificateFacts, holdDecided, keyFacts, partyFacts, pushFacts } from "./facts.fixture.ts";
import { integrationKeyActor } from "./integration-key/definition.ts";
import { keyLimitsActor } from "./key-limits/definition.ts";
import { logSequencerActor } from "./log-sequencer/definition.ts";
import { compare, restingStates, timer } from "./machines.fixture.ts";
import type { ActorProtocols, KindOf } from "./messages/kinds.ts";
import type { Commands } from "./messages/protocol.ts";
import { pushActor } from "./push/definition.ts";
import { regionActor } from "./region/definition.ts";
import type { ActorDefinition, Message } from "./system/definition.ts";
import { webhookActor } from "./webhook/definition.ts";

/**
 * The release of XState with which the driver was last compared. The driver fakes the parts of XState's internal scope
 * that a machine reads.
 */
const heldTo = "5.33.3";

const id = fc.constantFrom("a", "b", "c");
const small = fc.integer({ min: 0, max: 3 });
const at_ms = fc.integer({ min: 0, max: 10 ** 12 });
const constant = <const T>(value: T) => fc.constant(value);
const party = partyFacts();
const { envelope: _envelope, uuid: _uuid, ...certificate } = certificateFacts();
const status = fc.constantFrom<CertificateStatus>("active", "revoked", "closed", "withdrawn");

const nextWork = fc.record({ at_ms, in_ms: fc.integer({ min: 1, max: 1_000 }) });

const businessEvents: fc.Arbitrary<BusinessEvent> = fc.oneof(
  constant({ type: "party.opened", party } as const),
  status.map((each) => ({
    type: "certificate.issued" as const,
    certificate: { ...certificate, status: each },
  })),
  fc.record({
    type: constant("policy.accepted"),
    policy: fc.record({ version: small, record_id: fc.option(id), live_from: fc.option(id) }),
  }),
  fc.record({
    type: constant("policy.fell"),
    policy: fc.record({ version: small, record_id: fc.option(id), live_from: fc.option(id) }),
  }),
  constant({ type: "standing.ended" } as const),
  fc.record({ type: constant("records.fell"), records: small, listings: small, live: small }),
  fc.record({ type: constant("register.changed"), keys: fc.array(id), change: small }),
  fc.record({ type: constant("key.revoked"), key_id: id }),
  fc.record({ type: constant("directory.chosen"), listed: fc.boolean() }),
  fc.record({
    type: constant("terms.agreed"),
    agreements: fc.array(fc.record({ version: small, sha256: id, agreed_at: id })),
  }),
  fc.record({ type: fc.constantFrom("group.blocked", "group.unblocked"), group: id }),
  fc.record({ type: constant("group.joined"), group: id, former_groups: fc.array(id) }),
  fc.record({ type: constant("push.admitted"), push_id: id, number: small, held: fc.boolean() }),
  fc.record({ type: constant("push.held"), push_id: id }),
  fc.record({
    type: constant("hold.settled"),
    push_id: id,
    confirmed: fc.boolean(),
    position: small,
    decision: constant(holdDecided),
  }),
  fc.record({ type: constant("chunk.assigned"), listings: small, live: small }),
  fc.record({ type: constant("push.finished"), push_id: id }),
  fc.record({
    type: constant("record.removed"),
    record_id: id,
    collection: constant("products"),
    change: small,
    number: small,
    generation: small,
    hash: id,
    listings: small,
    live: small,
    timer: nextWork,
  }),
  fc.record({
    type: constant("records.purged"),
    purged: constant([]),
    from_ms: at_ms,
    timer: fc.option(nextWork),
  }),
  fc.record({ type: constant("push.cancelled"), push_id: id }),
  fc.record({ type: constant("deletion.held"), document_hash: id }),
  fc.record({ type: constant("deletion.decided"), document_hash: id, released: fc.boolean() }),
  fc.record({ type: constant("business.taken_down"), taken_down: fc.boolean() }),
  fc.record({ type: constant("serving.changed"), records: constant([]) }),
  fc.record({ type: constant("reminder.owed"), timer: nextWork }),
  fc.record({ type: constant("reminders.given"), timer: fc.option(nextWork) }),
  fc.record({ type: constant("domains.named"), timer: nextWork }),
  fc.record({
    type: constant("domains.probed"),
    probed: small,
    confirmed: small,
    suspended: small,
    timer: fc.option(nextWork),
  }),
);

const keyEvents: fc.Arbitrary<IntegrationKeyEvent> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: constant("push.charged"),
      seq: small,
      push_id: id,
      records: small,
      bytes: small,
      at_ms,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: constant("push.uncharged"),
      push_id: id,
      records: small,
      bytes: small,
      at_ms,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: constant("key.retired"), at_ms }) },
);

const limitEvents: fc.Arbitrary<KeyLimitsEvent> = fc.record({
  type: constant("limit.leased"),
  limit: id,
  account: fc.record({ at_ms, parts: small }),
});

const pushEvents: fc.Arbitrary<PushEvent> = fc.oneof(
  fc.record({
    type: constant("push.accepted"),
    facts: fc.constantFrom(
      ...[1, 200, 401].map((records) => pushFacts({ records })),
      pushFacts({ records: 200, source: "bulk", file: { upload_id: "u", name: "n", root: "r" } }),
    ),
    held_reasons: fc.constantFrom([], [{ code: "price_jump" as const, detail: "d", count: 1 }]),
    at_ms,
  }),
  {
    weight: 4,
    arbitrary: fc.record({
      type: constant("chunk.settled"),
      chunk: fc.integer({ min: 0, max: 2 }),
      tally: fc.record({ accepted: small, updated: small, rejected: small }),
      unindexed: fc.subarray(["a", "b"]),
      at_ms,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: constant("chunk.indexed"),
      chunk: fc.integer({ min: 0, max: 2 }),
      region: fc.constantFrom("a", "b"),
      at_ms,
    }),
  },
  fc.record({
    type: constant("push.prepared"),
    held_reasons: fc.constantFrom([], [{ code: "price_jump" as const, detail: "d", count: 1 }]),
    at_ms,
  }),
  fc.record({ type: constant("push.judged"), rejected: fc.array(small, { maxLength: 2 }), at_ms }),
  fc.record({ type: constant("push.failed"), code: id, detail: id, at_ms }),
  fc.record({
    type: fc.constantFrom("hold.confirmed", "hold.rejected"),
    at_ms,
    decision: constant(holdDecided),
  }),
);

const fileFacts = { upload_id: "u", name: "n", root: "r" };
const uploadedFile = { name: "a", bytes: 1, records: 1, root: "r", sha256: "s" };

const bulkUploadEvents: fc.Arbitrary<BulkUploadEvent> = fc.oneof(
  fc.record({
    type: constant("upload.issued"),
    record_type: constant("products"),
    expires_at_ms: at_ms,
    key_id: id,
  }),
  fc.record({ type: constant("upload.begun"), name: id, until_ms: at_ms }),
  constant({ type: "upload.aborted" } as const),
  constant({ type: "upload.refused" } as const),
  constant({ type: "upload.finished", file: uploadedFile } as const),
  fc.record({ type: constant("import.claimed"), push_id: id, until_ms: at_ms }),
  constant({ type: "import.released" } as const),
  fc.record({ type: constant("import.begun"), push_id: id }),
  constant({ type: "import.ended" } as const),
);

const logSequencer = logSequencerActor({ origin: "o", intervals: { leafMs: 9, receiptsMs: 1 } });
const head = { size: 1, root: "sha256:r" };
const maybeMs = fc.option(at_ms);

const logEvents: fc.Arbitrary<LogSequencerEvent> = fc.oneof(
  fc.record({
    type: constant("log.appended"),
    count: constant(1),
    has_checkpoint: fc.boolean(),
    at_ms,
    due_ms: at_ms,
  }),
  fc.record({
    type: constant("log.chosen"),
    count: fc.constantFrom(0, 1, 1, 1),
    up_to: small,
    known: constant(0),
    more: fc.boolean(),
    at_ms,
    oldest_ms: maybeMs,
  }),
  fc.record({ type: constant("log.written"), head: constant(head), at_ms, oldest_ms: maybeMs }),
  fc.record({ type: constant("log.published"), head: constant(head), leaf: id, policy: id, at_ms }),
  fc.record({ type: constant("log.unwitnessed"), head: constant(head), detail: id, at_ms }),
  fc.record({ type: constant("log.doubted"), at_ms }),
  fc.record({ type: constant("log.head_kept"), era: small, published: constant(head), at_ms }),
  fc.record({
    type: constant("log.head_adopted"),
    era: small,
    head: constant(head),
    published: constant(null),
    at_ms,
  }),
  fc.record({ type: constant("log.head_refused"), reason: constant("log_incomplete"), detail: id, at_ms }),
  fc.record({ type: constant("log.supplied"), checkpoint: constant({ ...head, note: "n" }), at_ms }),
);

const regionEvents: fc.Arbitrary<RegionEvent> = fc.oneof(
  fc.record({ type: fc.constantFrom("rows.queued", "rows.answered"), work_id: id }),
  fc.record({ type: constant("rows.applied"), work_id: id, stale: small, rows: small }),
  fc.record({ type: constant("rows.failed"), work_id: id, detail: id }),
  fc.record({ type: fc.constantFrom("receipts.closed", "receipts.forgotten"), batches: small }),
);

const webhookEvents: fc.Arbitrary<WebhookEvent> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: constant("delivery.owed"), timer: nextWork }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: constant("deliveries.tried"),
      settled: small,
      failing_since_ms: maybeMs,
      timer: fc.option(nextWork),
    }),
  },
  { weight: 1, arbitrary: constant({ type: "webhook.ended" } as const) },
);

const kinds: readonly [string, ActorDefinition, fc.Arbitrary<Message>][] = [
  ["bulk-upload", bulkUploadActor, bulkUploadEvents],
  ["business", businessActor, businessEvents],
  ["integration-key", integrationKeyActor, keyEvents],
  ["key-limits", keyLimitsActor, limitEvents],
  ["log-sequencer", logSequencer, logEvents],
  ["push", pushActor, pushEvents],
  ["region", regionActor, regionEvents],
  ["webhook", webhookActor, webhookEvents],
];

describe("the driver of the machines", () => {
  it("was held to this release of XState: a change of it is to be held to the properties below, and measured", () => {
    const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
    expect(read("../package.json").dependencies.xstate).toBe(heldTo);
    expect(read("../node_modules/xstate/package.json").version).toBe(heldTo);
  });

  it.each(kinds)(
    "runs the machine of %s as XState's transition() does (property)",
    (_kind, definition, event) => {
      const passed = new Set<string>();
      const events = fc.array(fc.oneof({ weight: 6, arbitrary: event }, constant(timer)), {
        minLength: 1,
        maxLength: 40,
        // Short lives alone rarely reach the states at the end of a long one.
        size: "max",
      });
      fc.assert(
        fc.property(events, (each) => {
          for (const state of compare(definition, each)) passed.add(state);
        }),
        // Fewer do not reach every state.
        { numRuns: Math.max(400, dose(1_500)) },
      );
      // The property says nothing about a state that no run reached.
      expect([...passed]).toEqual(expect.arrayContaining([...restingStates(definition)]));
    },
  );
});

/** The states in which an actor rests after each of these commands. */
function statesOf<K extends KindOf<ActorProtocols>>(
  definition: ActorDefinition<K>,
  lives: readonly (readonly Commands<ActorProtocols[K]>[])[],
): readonly string[] {
  const seen = new Set<string>();
  for (const commands of lives) {
    const actor = driveActor(definition, "x");
    const note = (): void => {
      for (const node of actor.snapshot._nodes) seen.add(node.id);
    };
    note();
    for (const command of commands) {
      actor.send(command);
      note();
    }
  }
  return [...seen];
}

describe("every state", () => {
  const issue = (each: CertificateStatus, follows: string | null = null) =>
    ({
      type: "certificate.issue",
      certificate: certificateFacts({ uuid: "x", cert_id: each, status: each }),
      follows,
    }) as const;
  const accept = (records: number, held: boolean) =>
    ({
      type: "push.accept",
      facts: pushFacts({ records }),
      held_reasons: held ? [{ code: "price_jump", detail: "d", count: 1 } as const] : [],
      accept_by_ms: Number.POSITIVE_INFINITY,
      seal_leaf: "sha256:s",
    }) as const;
  const acceptFile = {
    type: "push.accept",
    facts: pushFacts({ source: "bulk", file: fileFacts }),
    held_reasons: [],
    accept_by_ms: Number.POSITIVE_INFINITY,
    seal_leaf: "sha256:s",
  } as const;
  const settle = (chunk: number, unindexed: readonly string[] = []) =>
    ({ type: "chunk.settle", chunk, outcomes: [], references: [], unindexed }) as const;

  it("of a business is reached by commands", () => {
    const open = { type: "party.open", party: partyFacts({ uuid: "x" }) } as const;
    const lives = [
      [open, issue("active"), issue("closed", "active"), issue("revoked", "closed")],
      [open, issue("withdrawn")],
    ];
    // What it waits for beside its standing has tests of its own.
    const standings = restingStates(businessActor).filter((each) => each.includes(".standing."));
    expect(standings).toHaveLength(5);
    expect(statesOf(businessActor, lives)).toEqual(expect.arrayContaining(standings));
  });

  it("of a key is reached by commands, the last one by the revocation in its business", () => {
    const business = driveActor(businessActor, "x");
    business.send({ type: "party.open", party: partyFacts({ uuid: "x" }) });
    business.send({ type: "key.register", key: keyFacts({ party_uuid: "x" }) });
    business.send({ type: "key.revoke", key_id: "k", revoked_at: "2026", compromised_from: null });
    const told = business.effects.flatMap((effect) =>
      effect.kind === "tell" && effect.to.kind === "integration-key" ? [effect.message] : [],
    );
    expect(told).toEqual([{ type: "key.retire" }]);
    expect(statesOf(integrationKeyActor, [[{ type: "key.retire" }]])).toEqual(
      expect.arrayContaining([...restingStates(integrationKeyActor)]),
    );
  });

  it("of a push is reached by commands, or in time", () => {
    const lives = [
      [accept(201, false), settle(0), settle(1, ["a"]), { type: "chunk.indexed", chunk: 1, region: "a" }],
      [
        accept(1, true),
        { type: "push.judged", rejected: [] },
        { type: "hold.release", confirmed: false, decision: holdDecided },
      ],
      [acceptFile],
    ] as const;
    const others = restingStates(pushActor).filter((each) => !each.endsWith(".stalled"));
    expect(statesOf(pushActor, lives)).toEqual(expect.arrayContaining(others));
  });

  it("of a bulk upload is reached by commands, or in time", () => {
    const issue = { type: "upload.issue", record_type: "products", key_id: "k", valid_ms: 1 } as const;
    const finish = { type: "upload.finish", attempt: "a", file: { ...uploadedFile, name: "a" } } as const;
    const begin = { type: "upload.begin", attempt: "a" } as const;
    const importing = [issue, begin, finish, { type: "import.begin", push_id: "p" }] as const;
    const lives = [[...importing, { type: "import.end", push_id: "p" }]] as const;
    const others = restingStates(bulkUploadActor).filter((each) => each !== "bulk-upload.deleted");
    expect(statesOf(bulkUploadActor, lives)).toEqual(expect.arrayContaining([...others]));
  });

  it("of the log's sequencer is reached by commands, or in time", () => {
    const entry = { leaf: "sha256:l", leaf_type: "seal", subject: "b" } as const;
    const append = { type: "log.append", entries: [entry] } as const;
    // From here on its timer and its work lead; sequencer.test.ts goes through all of them.
    expect([...statesOf(logSequencer, [[append]])]).toEqual(
      expect.arrayContaining(["log-sequencer.sequencing.idle", "log-sequencer.sequencing.waiting"]),
    );
  });

  it("of a region is reached by commands", () => {
    const lives = [[{ type: "rows.failed", work_id: "w", detail: "d" }]] as const;
    expect(statesOf(regionActor, lives)).toEqual(expect.arrayContaining([...restingStates(regionActor)]));
  });
});
