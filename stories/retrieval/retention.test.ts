import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { closeReceiptBatches, forgetExpired, minuteName } from "../../actors/region/activities.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { loadConfig } from "../../node/configuration/config.ts";
import { retentionSettings } from "../../node/configuration/retention.ts";
import { receiptEventText } from "../../protocol/receipt.ts";
import { hashed } from "../../storage/receipt-batch.fixture.ts";
import type { ReceiptRow } from "../../storage/receipt-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteEventStore } from "../../storage/sqlite/event-store.ts";
import { openSqliteReceiptStore } from "../../storage/sqlite/receipt-store.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;
const region = "eu-west1";
const firstMs = Date.parse("2026-03-04T05:06:07.123Z");

let folder: string;
let database: SqliteDatabase;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-retention-"));
  database = SqliteDatabase.open(join(folder, "store.db"));
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A receipt of a search: what it says about its caller appears verbatim in the file. */
function receipt(atMs: number, n: number): ReceiptRow {
  return hashed({
    region,
    batch: `${minuteName(atMs)}-i1`,
    retrieval_id: `ret_${atMs.toString(16).padStart(12, "0")}${String(n).padStart(8, "0")}`,
    company: "c",
    key_id: "asker-key",
    nonce: `nonce-of-${n}`,
    billable: true,
    served_at_ms: atMs,
    envelope: `"asked-by-${n}"${"x".repeat(14_000)}"answered-to-${n}"`,
    event: receiptEventText({
      company: "c",
      type: "fetch",
      collection: null,
      country: null,
      rows: 1,
      client_query_id: `asked-as-${n}`,
    }),
  });
}

async function serveMinute(minute: number, perMinute: number): Promise<void> {
  const store = openSqliteReceiptStore(database);
  const atMs = firstMs + minute * minuteMs;
  await Promise.all(
    Array.from({ length: perMinute }, (_, n) => store.append(receipt(atMs + n, minute * perMinute + n))),
  );
}

/** What the region does each minute, at `atMs` and with a retention of `days` days. */
function look(atMs: number, days: number) {
  const store = openSqliteReceiptStore(database);
  const events = openSqliteEventStore(database, () => atMs);
  const ports = { receipts: store, sha256: nativeCrypto.sha256, append: async () => {} };
  return {
    close: () =>
      closeReceiptBatches(
        // Events are kept for their own time, and take room of their own.
        { ...ports, events: { ...events, put: async () => {} } },
        region,
        atMs,
      ),
    forget: () =>
      forgetExpired({ receipts: store, events, receiptRetentionMs: days * dayMs }, region, {
        nowMs: () => atMs,
      }),
  };
}

/** The whole file, including the content of its log. */
function bytesOfFile(): Buffer {
  database.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  return readFileSync(join(folder, "store.db"));
}

describe("receipts of a node alone", () => {
  it("are kept to the minute, and then written over in the file", async () => {
    for (let minute = 0; minute < 3; minute += 1) await serveMinute(minute, 40);
    await look(firstMs + 10 * minuteMs, 1).close();
    const store = openSqliteReceiptStore(database);
    const [first, later] = [receipt(firstMs, 0), receipt(firstMs + minuteMs, 40)];
    await look(firstMs + dayMs, 1).forget();
    expect(await store.readReceipt(region, first.retrieval_id)).toEqual(first);
    expect(bytesOfFile().includes("asked-by-0")).toBe(true);
    await look(firstMs + dayMs + minuteMs, 1).forget();
    expect(await store.readReceipt(region, first.retrieval_id)).toBeNull();
    expect(await store.readReceipt(region, later.retrieval_id)).toEqual(later);
    expect(await store.readClosed(region, first.batch)).toMatchObject({ tree_size: 40 });
    const bytes = bytesOfFile();
    const found = (said: string) =>
      Array.from({ length: 40 }, (_, n) => n).filter((n) => bytes.includes(`"${said}-${n}"`));
    expect(found("answered-to")).toEqual([]);
    // A page that is in use may contain the beginning of a deleted row until it is rewritten.
    expect(found("asked-by").length).toBeLessThan(4);
    for (let n = 40; n < 120; n += 1) expect(bytes.includes(`"asked-by-${n}"`)).toBe(true);
  });

  it("make room for those that come: the file does not grow once the first go", async () => {
    const kept = 10;
    const sizes: number[] = [];
    for (let minute = 0; minute < 4 * kept; minute += 1) {
      await serveMinute(minute, 50);
      const nowMs = firstMs + minute * minuteMs;
      await look(nowMs, 1).close();
      // Minutes stand for days: what was served `kept` minutes earlier is a day old.
      await look(nowMs + dayMs - kept * minuteMs, 1).forget();
      database.db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      sizes.push(statSync(join(folder, "store.db")).size);
    }
    const settled = sizes[2 * kept] ?? 0;
    expect(settled).toBeGreaterThan(kept * 50 * 14_000);
    expect(sizes.at(-1)).toBeLessThan(settled * 1.1);
  });
});

describe("the settings of retention", () => {
  it("have defaults that end", () => {
    const logs = { logDays: 30, logMebibytes: 512, purgeHours: 696 };
    const defaults = { receiptDays: 400, analyticsDays: 400, ...logs, holdDays: 30 };
    expect(loadConfig({}, {}).retention).toEqual(defaults);
  });

  it.each([
    ["SVC_RECEIPT_RETENTION_DAYS", "1", "36500", "receiptDays"],
    ["SVC_ANALYTICS_RETENTION_DAYS", "1", "3650", "analyticsDays"],
    ["SVC_LOG_RETENTION_DAYS", "1", "3650", "logDays"],
    ["SVC_LOG_MEBIBYTES", "8", "1048576", "logMebibytes"],
    ["SVC_PURGE_AFTER_HOURS", "0", "719", "purgeHours"],
    ["SVC_HOLD_DAYS", "1", "30", "holdDays"],
  ])("%s is a whole number from %s to %s", (setting, least, most, member) => {
    for (const text of [least, most])
      expect(loadConfig({}, { [setting]: text }).retention).toMatchObject({ [member]: Number(text) });
    const beyond = [String(Number(least) - 1), String(Number(most) + 1), "", "7.5", "-1", "7d", "forever"];
    for (const text of beyond) {
      const fix = `${setting}: is ${JSON.stringify(text)}; use a whole number from ${least} to ${most}`;
      expect(() => loadConfig({}, { [setting]: text })).toThrow(fix);
    }
  });
});

describe("docs/retention.md", () => {
  it("has the settings as they are", () => {
    const page = readFileSync(join(import.meta.dirname, "../..", "docs", "retention.md"), "utf8");
    for (const { name, min, max, otherwise } of Object.values(retentionSettings))
      expect(page).toContain(`| \`${name}\` | ${otherwise} | ${min} to ${max} |`);
  });
});
