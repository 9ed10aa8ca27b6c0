import { expect, it } from "vitest";
import { formatHash, sha256, utf8 } from "../protocol/bytes.ts";
import { certificateEntry, custodyEntry, keyAddedEntry, sealEntry } from "../protocol/log/leaves.ts";
import { accountOfEntries } from "./log-audit.ts";

const [mine, other] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
const [leaf, known] = ["text", "known"].map((text) => formatHash(sha256(utf8(text)))) as [string, string];

it.each([
  ["its own key", keyAddedEntry(mine, "key-1", sha256), "accounted"],
  ["its other key", keyAddedEntry(mine, "key-2", sha256), "accounted"],
  ["somebody else's key", keyAddedEntry(mine, "key-3", sha256), "unaccounted"],
  [
    "its own key for another business, in its name",
    { ...keyAddedEntry(other, "key-1", sha256), subject: mine },
    "unaccounted",
  ],
  ["a custody statement", custodyEntry(mine, leaf), "unaccounted"],
  ["a custody statement that was looked at", custodyEntry(mine, known), "accounted"],
  ["a key of another business", keyAddedEntry(other, "key-3", sha256), "other"],
  ["a seal that it made", sealEntry(mine, known), "accounted"],
  ["a seal that it did not make", sealEntry(mine, leaf), "unaccounted"],
  ["the key's hash as a seal", sealEntry(mine, keyAddedEntry(mine, "key-1", sha256).leaf), "unaccounted"],
  ["a certificate", certificateEntry(mine, leaf), "to_look_at"],
  ["a certificate that was looked at", certificateEntry(mine, known), "accounted"],
])("tells of %s whether a business can account for it", (_, entry, standing) => {
  const account = accountOfEntries({
    businessUuid: mine,
    keyIds: ["key-1", "key-2"],
    leaves: new Set([known]),
  });
  expect(account(entry)).toBe(standing);
});

it("accounts for no key where none is known", () => {
  const account = accountOfEntries({ businessUuid: mine, keyIds: [], leaves: new Set() });
  expect(account(keyAddedEntry(mine, "key-1", sha256))).toBe("unaccounted");
});
