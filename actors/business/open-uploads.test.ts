import { describe, expect, it } from "vitest";
import { openUploadsMax } from "../../protocol/limits.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { businessUuid, certificateFacts, partyFacts } from "../facts.fixture.ts";
import { businessActor } from "./definition.ts";

const hour = 3_600_000;
const day = 24 * hour;

function open(): ActorHarness<"business"> {
  const business = driveActor(businessActor, businessUuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}

/** Asks for a place as a request does: an upload without a file ends two hours after it was issued. */
const ask = (business: ActorHarness<"business">, upload_id: string) =>
  business.send({ type: "upload.open", upload_id, until_ms: business.nowMs + 2 * hour });

function full(): ActorHarness<"business"> {
  const business = open();
  for (let index = 0; index < openUploadsMax; index += 1)
    expect(ask(business, `bup_${index}`)).toEqual({ status: "open" });
  return business;
}

const busy = (retry_after_seconds: number) => ({ status: "busy", retry_after_seconds });

describe("the open uploads of a business", () => {
  it("are so many, and one more is asked to wait, for an hour at most (O1)", () => {
    const business = full();
    const before = business.rows(80);
    expect(ask(business, "bup_more")).toEqual(busy(3_600));
    expect(business.rows(80)).toEqual(before);
    business.nowMs += hour + 1;
    expect(ask(business, "bup_more")).toEqual(busy(3_600));
    business.nowMs += hour / 2;
    expect(ask(business, "bup_more")).toEqual(busy(1_800));
  });

  it("have one place each, however often it is asked for (O2)", () => {
    const business = full();
    expect(ask(business, "bup_0")).toEqual({ status: "open" });
    expect(business.rows(80)).toHaveLength(openUploadsMax);
    business.send({ type: "upload.close", upload_id: "bup_0" });
    business.send({ type: "upload.close", upload_id: "bup_0" });
    expect(ask(business, "bup_more")).toEqual({ status: "open" });
    expect(ask(business, "bup_another")).toMatchObject({ status: "busy" });
  });

  it("give their places back by themselves, without a file an hour after their end, and with one as long as it is kept (O3)", () => {
    const business = full();
    business.send({ type: "upload.keep", upload_id: "bup_1", until_ms: business.nowMs + 7 * day });
    business.nowMs += 3 * hour - 1;
    expect(ask(business, "bup_more")).toEqual(busy(60));
    business.nowMs += 1;
    for (let index = 1; index < openUploadsMax; index += 1)
      expect(ask(business, `bup_more${index}`)).toEqual({ status: "open" });
    expect(ask(business, "bup_more")).toMatchObject({ status: "busy" });
    business.nowMs += 4 * hour;
    for (let index = 1; index < openUploadsMax; index += 1)
      expect(ask(business, `bup_later${index}`)).toEqual({ status: "open" });
    expect(ask(business, "bup_more")).toMatchObject({ status: "busy" });
    business.nowMs += 7 * day;
    expect(ask(business, "bup_more")).toEqual({ status: "open" });
  });

  it("count whatever places they had, once they have a file", () => {
    const business = open();
    for (let index = 0; index < openUploadsMax + 3; index += 1)
      business.send({ type: "upload.keep", upload_id: `bup_${index}`, until_ms: business.nowMs + 7 * day });
    expect(ask(business, "bup_more")).toMatchObject({ status: "busy" });
    for (let index = 0; index < 4; index += 1)
      business.send({ type: "upload.close", upload_id: `bup_${index}` });
    expect(ask(business, "bup_more")).toEqual({ status: "open" });
  });
});
