// What stages the incidents of docs/incidents.md on one node, and what happens there outside of the operators' surface. For tests.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { vi } from "vitest";
import { product, type TestBusiness } from "../publishing/publishing.fixture.ts";
import { batchBody, publishOver } from "../retrieval/attack.fixture.ts";
import type { IncidentNode } from "./incident-node.fixture.ts";
import { untilMaxMs } from "./incident-pages.fixture.ts";

export const until = <T>(found: () => Promise<T>) =>
  vi.waitUntil(found, { timeout: untilMaxMs, interval: 100 });

/** What a command prints once it prints what `pattern` matches. */
export async function shows(command: () => Promise<string>, pattern: RegExp): Promise<string> {
  let said = "";
  try {
    return await until(async () => {
      said = await command().catch(() => "");
      return pattern.test(said) ? said : "";
    });
  } catch {
    throw new Error(`${pattern} does not match what was printed last:\n${said}`);
  }
}

export function products(prefix: string, count: number): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, index) => product(`${prefix}-${index}`));
}

export async function push(
  node: IncidentNode,
  business: TestBusiness,
  { prefix, count, seq }: { readonly prefix: string; readonly count: number; readonly seq: number },
) {
  const { body, pushId } = await batchBody(business, products(prefix, count), { seq });
  const { status, json } = await publishOver(node, business, body);
  return { status, code: json["code"], pushId };
}

/** The store's file, as somebody changes it who may reach the disk. */
function inStore<T>({ home }: IncidentNode, change: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(join(home, "store.db"), { timeout: 10_000 });
  try {
    return change(db);
  } finally {
    db.close();
  }
}

/** A disk that loses the staged records of a push from the 201st to the 400th. What is returned brings them back. */
export function loseStagedRecord(node: IncidentNode): () => void {
  inStore(node, (db) =>
    db.exec(`CREATE TABLE lost AS SELECT * FROM staged_pack WHERE 0;
      CREATE TRIGGER loses AFTER INSERT ON staged_pack WHEN NEW.leaf = 200 BEGIN
        INSERT INTO lost SELECT * FROM staged_pack WHERE push_id = NEW.push_id AND leaf = NEW.leaf;
        DELETE FROM staged_pack WHERE push_id = NEW.push_id AND leaf = NEW.leaf; END`),
  );
  return () =>
    inStore(node, (db) =>
      db.exec("DROP TRIGGER loses; INSERT INTO staged_pack SELECT * FROM lost; DROP TABLE lost"),
    );
}

/** Somebody changes by hand what a business's actor has stored of a record. What is returned undoes it. */
export function spoilRow(node: IncidentNode, { party }: TestBusiness, recordId: string): () => void {
  const where = "k2 = ? AND actor = (SELECT no FROM actor_head WHERE kind = 'business' AND id = ?)";
  const sound = inStore(node, (db) =>
    db.prepare(`SELECT body FROM actor_row WHERE ${where}`).get(recordId, party.uuid),
  );
  if (sound === undefined) throw new Error(`${party.uuid} has no row of ${recordId}`);
  const change = (body: string): void => {
    inStore(node, (db) =>
      db.prepare(`UPDATE actor_row SET body = ? WHERE ${where}`).run(body, recordId, party.uuid),
    );
  };
  change("rubbish");
  return () => change(String(sound["body"]));
}

export interface SmallDisk extends Disposable {
  readonly home: string;
  /** Leaves nothing free. */
  fill(): void;
  makeRoom(): void;
}

/** Root alone can mount one. */
export function mountSmallDisk(): SmallDisk {
  const home = mkdtempSync(join(tmpdir(), "svc-full-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m,mode=700", "svc-test", home]);
  const ballast = join(home, "ballast");
  return {
    home,
    fill: () => fill(ballast, home),
    makeRoom: () => rmSync(ballast, { force: true }),
    [Symbol.dispose]: () => {
      execFileSync("umount", ["--lazy", home]);
      rmSync(home, { recursive: true });
    },
  };
}

function fill(path: string, folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  const piece = new Uint8Array(1 << 20);
  for (let left = bavail * bsize; left > 0; left -= piece.length)
    try {
      writeFileSync(path, piece.subarray(0, Math.min(left, piece.length)), { flag: "a" });
    } catch {
      return;
    }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
