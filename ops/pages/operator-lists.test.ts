// The page of operators' lists, and what its form asks the API to do.

import { expect, it } from "vitest";
import { english } from "../../web/texts/catalogue.ts";
import { noLists, openOps, since } from "../ops.fixture.ts";
import type { ListState } from "../shapes.ts";
import { listChoice } from "./views/operator-lists.ts";

const sha256 = `sha256:${"0".repeat(64)}`;
const nothing: ListState = {
  list: "terms",
  source: "none",
  version: null,
  sha256: null,
  bytes: null,
  holds: null,
  since: null,
  by: null,
  reason: null,
  unused_file: false,
  fault: null,
};
const set: ListState = {
  list: "blocked-urls",
  source: "act",
  version: 3,
  sha256,
  bytes: 12_345,
  holds: "12 blocked hosts and addresses",
  since,
  by: "Ada at the desk",
  reason: "<b>Complaint</b>",
  unused_file: true,
  fault: "its version 4 cannot be used",
};

it("shows what is in force of each list, since when, by whom and why, and what does not count", async () => {
  const there = openOps({ lists: { ...noLists, all: () => [set, nothing] } });
  const { body, statusCode } = await there.inject({ url: "/ui/lists", headers: { host: "localhost:80" } });
  const text = body.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
  expect(statusCode).toBe(200);
  for (const shown of ["version 3, by Ada at the desk", "12 blocked hosts", sha256])
    expect(text).toContain(shown);
  for (const shown of ["the file of this node is not used", "its version 4 cannot be used", "nothing"])
    expect(text).toContain(shown);
  expect(body).toContain(`datetime="${since}"`);
  expect(body).toContain('href="/ops/lists/blocked-urls/text"');
  expect(body).not.toContain("<b>Complaint");
});

it("sets a list in the place of what the page showed", () => {
  const { fields, request } = listChoice([set, nothing], english.operations.lists);
  expect(fields.map(({ name, isFile = false }) => [name, isFile])).toEqual([
    ["list", false],
    ["text", true],
  ]);
  expect(request({ list: "blocked-urls", text: "a.example\n" })).toEqual({
    address: "/ops/lists/blocked-urls/set",
    members: { text: "a.example\n", expected: 3 },
    subject: "Blocked hosts and addresses, by a file with 10 characters",
  });
  expect(request({ list: "terms", text: "{}" }).members).toEqual({ text: "{}", expected: null });
});
