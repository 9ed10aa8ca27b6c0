// The examples of docs/pushes.md, and further cases in the same words, each against a catalogue of its own on a node.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushRef } from "../../actors/messages/refs.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
  tellBusiness,
} from "../retrieval/attack.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const page = readFileSync(join(import.meta.dirname, "../..", "docs", "pushes.md"), "utf8");

/** The rows of the table whose header has these columns. */
function tableOf(...columns: readonly string[]): readonly (readonly string[])[] {
  const lines = page.split("\n");
  const head = lines.indexOf(`| ${columns.join(" | ")} |`);
  if (head < 0) throw new Error(`The page has no table ${columns.join(", ")}.`);
  const rows = lines.slice(
    head + 2,
    lines.findIndex((line, at) => at > head && line === ""),
  );
  return rows.map((line) => line.slice(2, -2).split(" | "));
}

const catalogueSize = 25;
const everyday = "US 10.00 USD, GB 10.00 GBP";

/** A product as the page writes it: `US 10.50 USD, GB 10.00 GBP`. */
function priced(id: string, listings: string, changes: Readonly<Record<string, unknown>> = {}): Uint8Array {
  const prices = listings.split(", ").map((listing) => {
    const [country = "", amount = "", currency = ""] = listing.split(" ");
    return { country, currency, amount };
  });
  return product(id, { countries: prices.map(({ country }) => country), prices, ...changes });
}

/** The records of `N × …`, `N new × …`, `N faulty × …` and `same × …`, separated by semicolons; each takes further products. */
function recordsOf(pushed: string): readonly Uint8Array[] {
  let next = 0;
  return pushed.split("; ").flatMap((part) => {
    const found = /^(?:(?<count>[0-9]+)(?: (?<kind>new|faulty))?|(?<same>same)) × (?<listings>.+)$/.exec(
      part,
    );
    const { count = "1", kind, same, listings = "" } = found?.groups ?? {};
    if (listings === "") throw new Error(`The page says ${part}.`);
    const from = same === undefined ? next : 0;
    next = from + Number(count);
    return Array.from({ length: Number(count) }, (_, index) => {
      const id = `${kind === "new" ? "new" : "item"}-${from + index}`;
      return priced(id, listings, kind === "faulty" ? { on_sale: "yes" } : {});
    });
  });
}

async function merchant(): Promise<TestBusiness> {
  const business = await newBusiness(node);
  const catalogue = Array.from({ length: catalogueSize }, (_, index) => priced(`item-${index}`, everyday));
  const { body } = await batchBody(business, catalogue, { seq: 1 });
  expect((await publishOver(node, business, body)).json["held"]).toBe(false);
  return business;
}

async function heldFor(business: TestBusiness, pushed: string, seq: number): Promise<string> {
  const { body } = await batchBody(business, recordsOf(pushed), { seq });
  const { status, json } = await publishOver(node, business, body);
  expect(status).toBe(200);
  const reasons = (json["held_reasons"] ?? []) as readonly { readonly code: string }[];
  expect(json["held"]).toBe(reasons.length > 0);
  return reasons.map(({ code }) => code).join(", ") || "—";
}

describe("docs/pushes.md", () => {
  const examples = tableOf("what the push does", "pushed", "held for");
  const further = [
    [
      "six products change in both countries: twelve prices",
      "6 × US 10.50 USD, GB 10.50 GBP",
      "price_changes",
    ],
    ["a change counts however little it is", "11 × US 10.000001 USD, GB 10.00 GBP", "price_changes"],
    ["the same price, written otherwise, is no change", "25 × US 10.0 USD, GB 10 GBP", "—"],
    ["one price rises by more than half", "1 × US 15.000001 USD, GB 10.00 GBP", "price_jump"],
    ["one price falls by exactly half", "1 × US 5.00 USD, GB 10.00 GBP", "—"],
    ["one price falls to nothing", "1 × US 0 USD, GB 10.00 GBP", "price_jump"],
    ["ten products are no longer sold in one country, which is one fifth", "10 × US 10.00 USD", "—"],
    ["a product that a push does not name stays as it is", "1 × US 10.00 USD, GB 10.00 GBP", "—"],
    ["a further country is a new listing", "25 × US 10.00 USD, GB 10.00 GBP, CA 99.00 CAD", "—"],
    ["records that will be rejected change nothing", "25 faulty × US 99.00 USD, GB 99.00 GBP", "—"],
    [
      "of one product twice only the first counts; the second is rejected",
      "1 × US 10.10 USD, GB 10.00 GBP; same × US 99.00 USD, GB 10.00 GBP",
      "—",
    ],
  ];
  const dear = "1 × US 99.00 USD, GB 10.00 GBP";
  const unapplied = ["1 × US 14.00 USD, GB 10.00 GBP", "accepted, not applied yet"];
  const second = [
    [...unapplied, "1 × US 21.00 USD, GB 10.00 GBP", "—"],
    [...unapplied, "1 × US 21.01 USD, GB 10.00 GBP", "price_jump"],
    [dear, "held", "1 × US 15.00 USD, GB 10.00 GBP", "—"],
    [dear, "held", dear, "price_jump"],
  ];

  it("has its examples", () => {
    expect(examples.length).toBe(8);
  });

  it.each([...examples, ...further])("%s", async (_what, pushed = "", held) => {
    expect(await heldFor(await merchant(), pushed, 2)).toBe(held);
  });

  it.each(second)("%s, %s; then %s: %s", async (before = "", became, then = "", held) => {
    const business = await merchant();
    if (became === "held") {
      expect(await heldFor(business, before, 2)).not.toBe("—");
    } else {
      expect(became).toBe("accepted, not applied yet");
      // As a push is while the node is busy: its bytes are staged, it has its number, and none of it is published.
      const pushId = `bat_${"a".repeat(24)}`;
      const { records } = node.running.services;
      await records.stageLeaves(pushRef(business.party.uuid, pushId).id, 0, recordsOf(before));
      const admission = { push_id: pushId, key_id: business.key.key_id, records: 1 } as const;
      const waiting = { type: "push.admit", ...admission, may_hold: false, plan: null } as const;
      expect(await tellBusiness(node, business, waiting)).toMatchObject({ held: false });
    }
    expect(await heldFor(business, then, 3)).toBe(held);
  });
});
