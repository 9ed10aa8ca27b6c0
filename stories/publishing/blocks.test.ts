// A business blocks a group of AI companies, at the operators' surface with the program: nothing that the group's companies are
// answered shows it, and a company that changes its group does not escape it.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { newCaller, type ReceivedAnswer, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { blocks, group } from "../../cli/groups.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { verifySearchAnswer } from "../../verifier/search-answer.ts";
import { type Run, runRevoke } from "../operators/revocations.fixture.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";

const blockedUuid = "10000000-0000-4000-8000-0000000000b1";
const otherUuid = "10000000-0000-4000-8000-0000000000b2";
const answered = ["--by", "Ada at the desk", "--reason", "Asked for by its admin."];
const patience = { timeout: 10_000 };

let node: AttackNode;
let company: TestCaller;
let other: TestCaller;
let blocker: TestBusiness;
let neighbour: TestBusiness;
let seq = 0;

async function publish(business: TestBusiness, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    seq += 1;
    const { body } = await batchBody(
      business,
      [product(name, { product_name: `A zirconium ring, ${name}` })],
      { seq },
    );
    expect((await publishOver(node, business, body)).status).toBe(200);
  }
}

beforeAll(async () => {
  node = await openAttackNode();
  const { grant } = node.running.services.keys;
  company = await newCaller(grant, "retrieval", blockedUuid);
  other = await newCaller(grant, "retrieval", otherUuid);
  [blocker, neighbour] = [await newBusiness(node), await newBusiness(node)];
  await publish(blocker, "one");
  await publish(neighbour, "two");
  await publish(blocker, "three");
  await publish(neighbour, "four", "five");
  for (const each of [company, other]) expect(await namesFound(each)).toHaveLength(5);
});
afterAll(() => node.close());

const svc = (command: typeof blocks, ...words: readonly string[]): Promise<Run> =>
  runRevoke(words, { home: node.running.config.home, reply: null, command });
const change = (option: string, name: string): Promise<Run> =>
  svc(blocks, blocker.party.uuid, option, name, ...answered);

const zirconium = {
  q: "zirconium",
  query_by: ["product_name"],
  sort_by: "published_at:desc",
  filter: { all: [{ country: "US" }] },
};
const search = (caller: TestCaller, more: object = {}): Promise<ReceivedAnswer> =>
  send(node.running.urls.base_url, caller, {
    path: "/v1/products/search",
    body: JSON.stringify({ ...zirconium, ...more }),
  });
const fetchOne = (caller: TestCaller, id: string): Promise<ReceivedAnswer> =>
  send(node.running.urls.base_url, caller, { path: `/v1/records/${id}` });

const recordOf = ({ party }: TestBusiness, name: string): string =>
  node.running.services.recordIdOf(party.uuid, "products", name);
const rowsOf = ({ json }: ReceivedAnswer) =>
  (json["rows"] ?? []) as readonly { readonly record_id: string }[];

async function namesFound(caller: TestCaller, more: object = {}): Promise<readonly string[]> {
  return rowsOf(await search(caller, more)).map(({ record_id }) => record_id);
}

/** Until the register has followed, as it does on its own. */
const untilFound = (caller: TestCaller, count: number): Promise<void> =>
  vi.waitFor(async () => expect(await namesFound(caller)).toHaveLength(count), patience);

/** What an answer says besides the ids, times and signatures that differ from one to the next. */
const shapeOf = ({ status, headers, json }: ReceivedAnswer) => ({
  status,
  headers: [...headers.keys()].sort(),
  members: Object.keys(json).sort(),
});

describe("a blocked group", () => {
  it("finds what it would find if the business had published nothing: rows, counts, order, receipt", async () => {
    const before = await namesFound(other);
    const run = await change("--block", blockedUuid);
    expect(run).toMatchObject({ code: 0, said: expect.stringContaining("Done.") });
    expect(run.printed).toContain(blockedUuid);
    await untilFound(company, 3);
    const blockers = ["one", "three"].map((name) => recordOf(blocker, name));
    const expected = before.filter((id) => !blockers.includes(id));
    const answer = await search(company);
    expect(rowsOf(answer).map(({ record_id }) => record_id)).toEqual(expected);
    // A page is as full as it can be: what is absent takes no place in it.
    for (const limit of [1, 2, 3])
      expect(await namesFound(company, { limit })).toEqual(expected.slice(0, limit));
    expect(await namesFound(other)).toEqual(before);
    const report = verifySearchAnswer(node.running.services.trust(), utf8(answer.text), {
      callerKeyId: company.key.keyId,
    });
    expect(report.checks.filter(({ state }) => state !== "ok" && state !== "unsigned")).toEqual([]);
    expect(answer.text).not.toContain(blocker.party.uuid);
    for (const id of blockers) expect(answer.text).not.toContain(id);
    expect(shapeOf(answer)).toEqual(shapeOf(await search(other)));
  });

  it("is answered as everybody where nothing is found, and is made the same suggestions", async () => {
    const one = { q: "zirconium one" };
    const absent = { q: "zirconium nineteen" };
    const [unseen, nothing] = [await search(company, one), await search(company, absent)];
    expect([rowsOf(unseen), rowsOf(nothing)]).toEqual([[], []]);
    expect(shapeOf(unseen)).toEqual(shapeOf(nothing));
    const wrong = { filter: { all: [{ country: "US" }, { brnad: "zirconium" }] } };
    const [own, theirs] = [await search(company, wrong), await search(other, wrong)];
    const { request_id: _own, ...ownProblem } = own.json;
    const { request_id: _theirs, ...theirProblem } = theirs.json;
    expect(ownProblem).toMatchObject({ code: "unknown_field", suggestion: "brand" });
    expect(ownProblem).toEqual(theirProblem);
  });

  it("is answered the 404 of a record that never was, byte for byte, and not before 20 ms", async () => {
    const id = recordOf(blocker, "one");
    expect((await fetchOne(other, id)).status).toBe(200);
    const timed = async (wanted: string) => {
      const startedMs = performance.now();
      const answer = await fetchOne(company, wanted);
      return { answer, ms: performance.now() - startedMs };
    };
    const [blocked, unknown] = [await timed(id), await timed(`svc_${"a".repeat(26)}`)];
    expect(blocked.answer).toMatchObject({ status: 404, text: unknown.answer.text });
    expect(shapeOf(blocked.answer)).toEqual(shapeOf(unknown.answer));
    // Both cost the same.
    const policy = (answer: ReceivedAnswer) => answer.headers.get("ratelimit-policy");
    expect(policy(blocked.answer)).toBe(policy(unknown.answer));
    for (const { ms } of [blocked, unknown]) expect(ms).toBeGreaterThanOrEqual(20);
  });

  it("cannot shed the block by a change of group, meets that of its new group, and is free once both end", async () => {
    const joined = await svc(group, blockedUuid, "--join", "a-new-group", ...answered);
    expect(joined).toMatchObject({ code: 0, said: expect.stringContaining("Done.") });
    const again = await svc(group, blockedUuid, "--join", "a-new-group", ...answered);
    expect(again.said).toContain("It was so before.");
    const { register } = node.running.services;
    await vi.waitFor(
      async () => expect(await register.party(blockedUuid)).toMatchObject({ group: "a-new-group" }),
      patience,
    );
    expect((await svc(group, blockedUuid)).printed).toContain(
      `is in a-new-group, and was in ${blockedUuid}.`,
    );
    expect(await namesFound(company)).toHaveLength(3);
    expect((await fetchOne(company, recordOf(blocker, "one"))).status).toBe(404);
    const shown = (await svc(blocks, blocker.party.uuid)).printed;
    expect(shown).toContain(`(${blockedUuid}), which has left the group`);

    // The group that it joined is known in this region by now, because it is shown.
    expect(await change("--block", "a-new-group")).toMatchObject({ code: 0 });
    await change("--unblock", blockedUuid);
    await vi.waitFor(async () => {
      await register.refresh();
      expect(register.hasBlocked(blocker.party.uuid, { group: blockedUuid })).toBe(false);
    }, patience);
    expect(await namesFound(company)).toHaveLength(3);
    await change("--unblock", "a-new-group");
    await untilFound(company, 5);
    expect((await svc(blocks, blocker.party.uuid)).printed).toContain("blocks nobody.");
  });
});

describe("refused", () => {
  it.each<readonly [string, () => Promise<Run>, RegExp]>([
    ["a group that does not exist", () => change("--block", "nobodys-group"), /group_unknown/],
    [
      "a business whose groups are asked for",
      () => svc(group, blocker.party.uuid, "--join", "g", ...answered),
      /not_found/,
    ],
    [
      "an AI company that would block",
      () => svc(blocks, otherUuid, "--block", blockedUuid, ...answered),
      /not_found/,
    ],
    ["a party that there is not", () => svc(blocks, "20000000-0000-4000-8000-000000000001"), /not_found/],
    ["both at once", () => svc(blocks, otherUuid, "--block", "a", "--unblock", "b"), /one at a time/],
    ["no author", () => svc(group, otherUuid, "--join", "g"), /--by is missing/],
  ])("%s", async (_what, ask, said) => {
    const run = await ask();
    expect(run.code).not.toBe(0);
    expect(run.said).toMatch(said);
  });

  it("what nobody blocks may be unblocked, which changes nothing", async () => {
    expect((await change("--unblock", "nobodys-group")).said).toContain("It was so before.");
  });
});

it("who asked for it and why is kept", async () => {
  const path = `${node.running.urls.ops_url}/ops/acts/${blocker.party.uuid}`;
  const { acts } = (await (await fetch(path)).json()) as { readonly acts: readonly object[] };
  expect(acts[0]).toMatchObject({ act: "group.block", by: "Ada at the desk" });
});
