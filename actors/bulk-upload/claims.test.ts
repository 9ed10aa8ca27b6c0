// Whose an upload and its file are: which request may upload, and which push may import.

import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { bulkUploadActor } from "./definition.ts";

const business = "00000000-0000-4000-8000-000000000001";
const hour = 3_600_000;
const fileNamed = (name: string) => ({ name, bytes: 9, records: 1, root: "r", sha256: "s" });

function issued() {
  const upload = driveActor(bulkUploadActor, `${business}.bup_1`);
  upload.send({ type: "upload.issue", record_type: "products", valid_ms: hour, key_id: "k" });
  return upload;
}

function uploaded() {
  const upload = issued();
  upload.send({ type: "upload.begin", attempt: "first" });
  upload.send({ type: "upload.finish", attempt: "first", file: fileNamed("first") });
  upload.effects.length = 0;
  return upload;
}

const removal = (name: string) => ({ kind: "activity", name: "removeStagedFile", params: { name } });
const told = (message: object) => ({ kind: "tell", to: { kind: "business", id: business }, message });
const closed = told({ type: "upload.close", upload_id: "bup_1" });
const failing = (push_id: string, code: string) => ({
  kind: "tell",
  to: { kind: "push", id: `${business}.${push_id}` },
  message: expect.objectContaining({ type: "push.fail", code }),
});

describe("a request that uploads", () => {
  it("begins within the hour, and may end later", () => {
    const upload = issued();
    upload.nowMs += hour - 1;
    expect(upload.send({ type: "upload.begin", attempt: "first" })).toMatchObject({ status: "begun" });
    upload.nowMs += 1;
    expect(upload.send({ type: "upload.begin", attempt: "first" })).toMatchObject({ status: "begun" });
    upload.nowMs += 100_000;
    const late = upload.send({ type: "upload.begin", attempt: "second" });
    expect(late).toEqual({ status: "refused", reason: "expired" });
  });

  it("loses its claim a minute after the last renewal, and what it staged is removed with the claim", () => {
    const upload = issued();
    upload.send({ type: "upload.begin", attempt: "first" });
    upload.nowMs += 59_999;
    const early = upload.send({ type: "upload.begin", attempt: "second" });
    expect(early).toEqual({ status: "refused", reason: "in_progress" });
    expect(upload.effects).toEqual([]);
    upload.nowMs += 1;
    expect(upload.send({ type: "upload.begin", attempt: "second" })).toMatchObject({ status: "begun" });
    expect(upload.effects).toEqual([removal("first")]);
  });

  it("cannot finish or give up once another one has the claim", () => {
    const upload = issued();
    upload.send({ type: "upload.begin", attempt: "first" });
    upload.nowMs += 60_000;
    upload.send({ type: "upload.begin", attempt: "second" });
    upload.effects.length = 0;
    const finished = upload.send({ type: "upload.finish", attempt: "first", file: fileNamed("first") });
    expect(finished).toEqual({ status: "refused", reason: "in_progress" });
    upload.send({ type: "upload.abort", attempt: "first", is_refused: true });
    expect(upload.effects).toEqual([]);
    const own = upload.send({ type: "upload.finish", attempt: "second", file: fileNamed("second") });
    expect(own).toEqual({ status: "uploaded" });
    expect(upload.send({ type: "upload.read" })).toMatchObject({ file: { name: "second" } });
  });
});

describe("an upload", () => {
  it("takes no other file once it has refused five, and does not count those that there was no room for (BD5)", () => {
    const upload = issued();
    const begin = (attempt: string) => upload.send({ type: "upload.begin", attempt });
    for (let index = 0; index < 6; index += 1) {
      expect(begin(`unlucky ${index}`)).toMatchObject({ status: "begun" });
      upload.send({ type: "upload.abort", attempt: `unlucky ${index}`, is_refused: false });
    }
    for (let index = 0; index < 5; index += 1) {
      expect(begin(`faulty ${index}`)).toMatchObject({ status: "begun" });
      expect(begin(`faulty ${index}`)).toMatchObject({ status: "begun" });
      upload.send({ type: "upload.abort", attempt: `faulty ${index}`, is_refused: true });
      upload.send({ type: "upload.abort", attempt: `faulty ${index}`, is_refused: true });
    }
    expect(begin("sixth")).toEqual({ status: "refused", reason: "tries_spent" });
    expect(upload.effects.at(-1)).toEqual(removal("faulty 4"));
  });
});

describe("the business", () => {
  it("is told when there is a file, and when there is none any more", () => {
    const upload = issued();
    upload.send({ type: "upload.begin", attempt: "first" });
    expect(upload.effects).toEqual([]);
    upload.send({ type: "upload.finish", attempt: "first", file: fileNamed("first") });
    const until_ms = upload.nowMs + 168 * hour;
    expect(upload.effects).toEqual([told({ type: "upload.keep", upload_id: "bup_1", until_ms })]);
    upload.effects.length = 0;
    upload.fireTimers();
    expect(upload.effects).toEqual([removal("first"), closed]);
  });

  it("is told of an upload that ends without a file", () => {
    const upload = issued();
    upload.fireTimers();
    expect(upload.effects).toEqual([closed]);
  });
});

describe("a push that imports", () => {
  it("claims the file against every other push, as long as its claim lasts", () => {
    const upload = uploaded();
    const claim = (push_id: string) => upload.send({ type: "import.claim", push_id, valid_ms: hour });
    expect(claim("p")).toEqual({ status: "claimed" });
    expect(claim("q")).toEqual({ status: "refused", reason: "imported_otherwise" });
    expect(upload.send({ type: "upload.read" })).toMatchObject({ state: "uploaded", push_id: "p" });
    upload.nowMs += hour - 1;
    expect(claim("q")).toEqual({ status: "refused", reason: "imported_otherwise" });
    expect(claim("p")).toEqual({ status: "claimed" });
    upload.nowMs += hour;
    expect(claim("q")).toEqual({ status: "claimed" });
    expect(claim("p")).toEqual({ status: "refused", reason: "imported_otherwise" });
  });

  it("gives the file back if it is not accepted, and nobody else gives it back", () => {
    const upload = uploaded();
    upload.send({ type: "import.claim", push_id: "p", valid_ms: hour });
    const claim = { type: "import.claim", push_id: "q", valid_ms: hour } as const;
    upload.send({ type: "import.release", push_id: "q" });
    expect(upload.send(claim)).toMatchObject({ status: "refused" });
    upload.send({ type: "import.release", push_id: "p" });
    expect(upload.send(claim)).toEqual({ status: "claimed" });
  });

  it("claims no file that is not there", () => {
    const claim = { type: "import.claim", push_id: "p", valid_ms: hour } as const;
    expect(issued().send(claim)).toEqual({ status: "refused", reason: "no_file" });
    const gone = uploaded();
    gone.fireTimers();
    expect(gone.send({ type: "upload.read" })).toMatchObject({ state: "deleted" });
    expect(gone.send(claim)).toEqual({ status: "refused", reason: "expired" });
  });

  it("keeps the file once its import began, and every other push fails at once", () => {
    const upload = uploaded();
    upload.send({ type: "import.claim", push_id: "p", valid_ms: hour });
    upload.send({ type: "import.begin", push_id: "q" });
    expect(upload.effects).toEqual([failing("q", "upload_conflict")]);
    upload.effects.length = 0;
    upload.send({ type: "import.begin", push_id: "p" });
    upload.send({ type: "import.begin", push_id: "p" });
    expect(upload.effects).toEqual([]);
    upload.nowMs += 2 * hour;
    upload.send({ type: "import.release", push_id: "p" });
    const other = upload.send({ type: "import.claim", push_id: "q", valid_ms: hour });
    expect(other).toEqual({ status: "refused", reason: "imported_otherwise" });
    expect(upload.send({ type: "upload.read" })).toMatchObject({ state: "importing", push_id: "p" });
  });

  it("ends no import but its own", () => {
    const upload = uploaded();
    upload.send({ type: "import.begin", push_id: "p" });
    upload.send({ type: "import.end", push_id: "q" });
    expect(upload.send({ type: "upload.read" })).toMatchObject({ state: "importing" });
    expect(upload.effects).toEqual([]);
    upload.send({ type: "import.end", push_id: "p" });
    expect(upload.send({ type: "upload.read" })).toMatchObject({ state: "imported" });
    expect(upload.effects).toEqual([removal("first"), closed]);
  });

  it("fails at once if it begins after the file was forgotten", () => {
    const upload = uploaded();
    upload.fireTimers();
    upload.effects.length = 0;
    upload.send({ type: "import.begin", push_id: "p" });
    expect(upload.effects).toEqual([failing("p", "upload_expired")]);
  });
});
