import { describe, expect, it } from "vitest";
import { openUploadsMax } from "../../protocol/limits.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { certificateFacts, partyFacts, businessUuid as uuid } from "../facts.fixture.ts";
import { businessActor } from "./definition.ts";

type Business = ActorHarness<"business">;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function open(): Business {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts() });
  return business;
}

const take = (business: Business, upload_id: string) => business.send({ type: "uploads.open", upload_id });

function fill(business: Business): void {
  for (let index = 0; index < openUploadsMax; index += 1) take(business, `bup_${index}`);
}

const ends = (business: Business): readonly unknown[] =>
  business.rows(80).map(({ expiresAtMs }) => Number(expiresAtMs) - business.nowMs);

describe("the open uploads of a business", () => {
  it("are so many and no more, and one that is asked for again counts once (U1)", () => {
    const business = open();
    fill(business);
    expect(take(business, "bup_0")).toEqual({ status: "open" });
    expect(take(business, "more")).toEqual({ status: "full", retry_after_seconds: 7_200 });
    expect(business.rows(80)).toHaveLength(openUploadsMax);
  });

  it("are said to end with the first that may have no file", () => {
    const business = open();
    take(business, "older");
    business.nowMs += hourMs;
    fill(business);
    expect(take(business, "more")).toEqual({ status: "full", retry_after_seconds: 3_600 });
    business.nowMs += hourMs;
    // The oldest has a file by now, which may be imported at any moment.
    expect(take(business, "more")).toEqual({ status: "full", retry_after_seconds: 60 });
  });

  it("are fewer once nothing of one is kept", () => {
    const business = open();
    fill(business);
    for (let again = 0; again < 2; again += 1) business.send({ type: "uploads.closed", upload_id: "bup_3" });
    expect(take(business, "more")).toEqual({ status: "open" });
    expect(take(business, "too many")).toMatchObject({ status: "full" });
  });

  it("end by themselves an hour after the upload's own timers, should nobody say so (U2)", () => {
    const business = open();
    take(business, "bup_1");
    expect(ends(business)).toEqual([3 * hourMs]);
    business.send({ type: "uploads.stored", upload_id: "bup_1" });
    expect(ends(business)).toEqual([7 * dayMs + hourMs]);
    business.send({ type: "uploads.stored", upload_id: "issued by an earlier release" });
    expect(business.rows(80)).toHaveLength(2);
  });
});
