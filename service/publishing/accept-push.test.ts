import { describe, expect, it } from "vitest";
import { driveActor } from "../../actors/actor.fixture.ts";
import type { PushFacts } from "../../actors/messages/push.ts";
import { pushActor } from "../../actors/push/definition.ts";
import type { Ask } from "../../actors/system/definition.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { StoreError } from "../../storage/actor-store.ts";
import { refusedWith } from "../answer.ts";
import { type AdmitRequest, acceptBatch, acceptPush, admit } from "./accept-batch.ts";
import type { PublishServices, SealedBatch } from "./publish-batch.ts";

const hourMs = 3_600_000;
const facts = { push_id: "bat_0", business_uuid: "b", records: 1 } as PushFacts;

function newPush() {
  const actor = driveActor(pushActor, "bat_0");
  const said: unknown[] = [];
  const ask: Ask = async (_to, command) => {
    const reply = actor.send(rubbish(command));
    said.push(reply);
    return rubbish(reply);
  };
  const accept = (stagingAtMs: number, acceptWithinMs?: number) =>
    acceptPush(
      part({ ask }),
      { kind: "push", id: "bat_0" },
      { facts, held_reasons: [], sealLeaf: "sha256:0", stagingAtMs, acceptWithinMs },
    );
  return { accept, said, nowMs: actor.nowMs };
}

describe("a push whose staging began long ago", () => {
  it("is not accepted, nothing of it applied; sent again it is (A1)", async () => {
    const { accept, said, nowMs } = newPush();
    const late = await accept(nowMs - hourMs - 1).catch((error: unknown) => error);
    expect(late).toBeInstanceOf(StoreError);
    expect(late).toMatchObject({ effect: "not_applied" });
    await accept(nowMs - hourMs);
    expect(said).toEqual([{ status: "late" }, { status: "accepted", state: "queued" }]);
  });

  it("and was accepted meanwhile is as it was", async () => {
    const { accept, said, nowMs } = newPush();
    await accept(nowMs);
    await accept(nowMs - 2, 1);
    expect(said.at(-1)).toEqual({ status: "known", state: "queued" });
  });
});

describe("a batch that is being stored", () => {
  /** How many records were judged by the time that the batch was stored; it is refused then. */
  async function judgedWhileStored(listings: number): Promise<number> {
    let judged = 0;
    let judgedThen = -1;
    const refused = refusedWith("unavailable", "It could not be stored.");
    const replies = { "push.status": null, "seq.check": { status: "known" } };
    const ask: Ask = async (_to, { type }) => rubbish(replies[type as keyof typeof replies]);
    const certified = {
      legalNameOf: () => null,
      changes: () => 0,
      brandsOf: () => ({ confirmed: [], sold: [] }),
    };
    const deps = part<PublishServices>({
      actors: part({ ask }),
      clock: { now: () => 0 },
      lists: part({ certified: part(certified), protectedNames: [] }),
      pace: () => {
        judged += 1;
        return null;
      },
    });
    const key_id = "key";
    const caps = { records_per_hour: 1, bytes_per_day: 1 };
    const scope = { countries: ["US"], caps };
    const sealed = part<SealedBatch>({
      seal: rubbish({ key_id, sealed_at: "2020-01-01T00:00:00Z", tree_size: 3 }),
    });
    const gate = {
      facts: { certificate: null, listings, pending: [], party: null },
      mandates: [{ listed: {}, sealed: { valid_from: "", valid_until: "", scope } }],
      caps,
    };
    const outcome = await acceptBatch(
      deps,
      { caller: rubbish({ party: { uuid: "b" }, key: { key_id } }), contentDigest: "" },
      rubbish(gate),
      {
        sealed,
        source: { source: "api" },
        bytes: 3,
        records: [new Uint8Array(1), new Uint8Array(1), new Uint8Array(1)],
        stage: async () => {
          await new Promise<void>((resolve) => setImmediate(resolve));
          judgedThen = judged;
          return refused;
        },
      },
    );
    expect(outcome).toBe(refused);
    return judgedThen;
  }

  it("is planned meanwhile, if its business has a catalogue to compare it with", async () => {
    expect(await judgedWhileStored(20)).toBe(3);
    expect(await judgedWhileStored(19)).toBe(0);
  });
});

describe("a batch that is to be admitted", () => {
  it("is compared while its plan is stored if that is large, and admitted once it is", async () => {
    const done: string[] = [];
    const stored = Promise.withResolvers<void>();
    const ask: Ask = async (_to, { type }) => {
      done.push(type);
      return rubbish(type === "push.admit" ? { status: "refused" } : { listings: 0, records: [] });
    };
    const putStagedDocument = async (): Promise<void> => {
      await stored.promise;
      done.push("stored");
    };
    const deps = part<PublishServices>({
      actors: part({ ask }),
      records: part({ putStagedDocument }),
      pace: () => null,
    });
    const request = part<AdmitRequest>({
      businessUuid: "b",
      pushId: "p",
      keyId: "k",
      count: 1,
      root: "r",
      receivedAtMs: 0,
      act: rubbish(undefined),
      mayHold: true,
      listings: 20,
      pending: [],
    });
    const listings = Array.from({ length: 1_001 }, (_, at) => [`svc_${at}`, {}] as const);
    const admitting = admit(deps, request, Promise.resolve({ listings, leaves: [] }));
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect([...new Set(done)]).toEqual(["listings.read"]);
    stored.resolve();
    await admitting;
    expect([...new Set(done)]).toEqual(["listings.read", "stored", "push.admit"]);
  });
});
