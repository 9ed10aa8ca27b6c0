// What people send with an application: it is judged before it is stored, operators alone see it, each view is noted, and it is destroyed.

import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { applicationRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import { opsEvidence } from "../../cli/ops/applications.ts";
import { startNode } from "../../node/composition/start.ts";
import { openPortalNode, type PortalNode, type ShownForm, Visitor } from "../../portal/portal.fixture.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { evidenceBytesMax } from "../../protocol/limits.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import { appliedBy, decideAt } from "./business.fixture.ts";

let aheadMs = 0;
const clock = { now: () => Date.now() + aheadMs };
let portal: PortalNode;
beforeAll(async () => {
  portal = await openPortalNode({}, 0, { clock });
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

const begins = {
  "application/pdf": Buffer.from("%PDF-1.7\n"),
  "image/png": Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
  "image/jpeg": Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
};

/** A file that is said to be what it is; no other has its bytes. */
function fileOf(type: keyof typeof begins = "application/pdf", name = "extract.pdf", length = 2_000) {
  const begin = begins[type];
  return { name, type, bytes: Buffer.concat([begin, randomBytes(length - begin.length)]) };
}

interface Applicant {
  readonly person: Visitor;
  readonly uuid: string;
  readonly page: string;
}

async function newApplicant(legal_name = "Ada Ltd"): Promise<Applicant> {
  const person = Visitor.of(portal);
  await person.signUp();
  await person.apply(legal_name);
  const uuid = await appliedBy(portal, person);
  return { person, uuid, page: `/applications/${uuid}` };
}

const uploadForm = async ({ person, page }: Applicant): Promise<ShownForm> =>
  (await person.get(page)).form(`${page}/evidence`);
const send = async (of: Applicant, file: Parameters<Visitor["upload"]>[1] = fileOf()) =>
  of.person.upload(await uploadForm(of), file);

const tokenOf = () => readFileSync(join(portal.node.config.home, "ops-token"), "utf8").trim();
const named = (by: string) => ({ authorization: `Basic ${btoa(`${by}:${tokenOf()}`)}` });

/** The application as operators see it. */
async function shown(uuid: string) {
  const url = `${portal.node.urls.ops_url}/ops/applications/${uuid}`;
  return (await (await contractFetch(url, { headers: named("Olga") })).json()).application;
}

const downloadPath = (uuid: string, file: string) => `/ops/applications/${uuid}/evidence/${file}/download`;
const download = (uuid: string, file: string, headers: HeadersInit = named("Olga")) =>
  fetch(`${portal.node.urls.ops_url}${downloadPath(uuid, file)}`, { headers });

const typeIs = (command: { readonly type: string }, type: string) => command.type === type;

/** How many files the store has of an application. */
function storedOf(uuid: string, home = portal.node.config.home): number {
  const db = new DatabaseSync(join(home, "store.db"), { readOnly: true });
  try {
    return Number(db.prepare("SELECT count(*) AS n FROM evidence WHERE application = ?").get(uuid)?.["n"]);
  } finally {
    db.close();
  }
}

describe("a file that somebody sends with an application", () => {
  it("is listed for the applicant and for operators, and is handed to an operator as it was sent", async () => {
    const ada = await newApplicant("Listed Ltd");
    const files = [
      fileOf("application/pdf", "Auszug  für \u202eÄmter.PDF", 300_000),
      fileOf("image/png", "C:\\fakepath\\seal.png"),
      fileOf("image/jpeg", `${"x".repeat(300)}.jpeg`),
    ];
    for (const each of files) expect((await send(ada, each)).status).toBe(200);
    const names = ["Auszug für Ämter.pdf", "seal.png", `${"x".repeat(80)}.jpg`];
    const { html } = await ada.person.get(ada.page);
    for (const name of names) expect(html).toContain(name);
    // It is never sent back to the browser of its applicant.
    expect(html).not.toContain("/download");
    const { evidence, evidence_views } = await shown(ada.uuid);
    expect(evidence).toMatchObject(
      files.map(({ type, bytes }, at) => ({
        name: names[at],
        media_type: type,
        bytes: bytes.length,
        sha256: hashOf(bytes),
      })),
    );
    expect(evidence_views).toEqual([]);
    for (const [at, { file }] of evidence.entries()) {
      const answer = await download(ada.uuid, file);
      expect(Buffer.from(await answer.arrayBuffer()).equals(files[at]?.bytes ?? Buffer.alloc(0))).toBe(true);
    }
  });

  it("can be taken back before the decision, and leaves nothing", async () => {
    const ada = await newApplicant();
    await send(ada);
    expect(storedOf(ada.uuid)).toBe(1);
    const remove = (await ada.person.get(ada.page)).form(`${ada.page}/evidence/remove`);
    for (const _ of [1, 2]) expect((await ada.person.send(remove)).html).toContain("sent nothing yet");
    await expect.poll(() => storedOf(ada.uuid)).toBe(0);
    expect((await shown(ada.uuid)).evidence).toEqual([]);
  });

  it("is refused unless its first bytes, its type and its name agree, and then nothing of it is kept", async () => {
    const ada = await newApplicant();
    const pdf = fileOf();
    const html = { ...pdf, bytes: Buffer.from("<!doctype html><script>alert(1)</script>") };
    const wrongs: readonly Parameters<Visitor["upload"]>[1][] = [
      { ...pdf, name: "extract.png" },
      { ...pdf, type: "image/png" },
      { ...pdf, name: "extract.png", type: "image/png" },
      { ...pdf, name: "extract.pdf.exe" },
      { ...pdf, name: "pdf" },
      { ...pdf, type: "application/octet-stream" },
      { ...pdf, type: "" },
      { ...pdf, bytes: Buffer.concat([Buffer.from(" "), pdf.bytes]) },
      { ...pdf, bytes: begins["application/pdf"].subarray(0, 4) },
      { ...pdf, bytes: Buffer.alloc(0) },
      { ...html, name: "extract.html", type: "text/html" },
      html,
      { name: "a.svg", type: "image/svg+xml", bytes: Buffer.from("<svg/>") },
    ];
    for (const wrong of wrongs) {
      const answer = await send(ada, wrong);
      expect([answer.status, answer.html], wrong.name).toEqual([
        400,
        expect.stringContaining("Not such a file"),
      ]);
    }
    expect([storedOf(ada.uuid), (await shown(ada.uuid)).evidence]).toEqual([0, []]);
  });

  it("has at most 10 MiB", async () => {
    const ada = await newApplicant();
    const large = (length: number) => fileOf("image/jpeg", "a.jpg", length);
    expect((await send(ada, large(evidenceBytesMax))).status).toBe(200);
    for (const length of [evidenceBytesMax + 1, evidenceBytesMax + 100_000]) {
      const answer = await send(ada, large(length));
      expect([answer.status, answer.html]).toEqual([413, expect.stringContaining("Too large")]);
    }
    expect(storedOf(ada.uuid)).toBe(1);
  });

  it("is one of twenty, and the next is refused before it is read", async () => {
    const ada = await newApplicant();
    const form = await uploadForm(ada);
    for (let count = 1; count <= 20; count += 1)
      expect((await ada.person.upload(form, fileOf())).status).toBe(200);
    const answer = await ada.person.upload(form, fileOf());
    expect([answer.status, answer.html]).toEqual([409, expect.stringContaining("Enough files")]);
    expect((await ada.person.get(ada.page)).html).toContain("It has twenty files");
    expect([storedOf(ada.uuid), (await shown(ada.uuid)).evidence.length]).toEqual([20, 20]);
    // Twenty at once are judged by the actor alone.
    const bob = await newApplicant();
    const his = await uploadForm(bob);
    const many = await Promise.all(Array.from({ length: 24 }, () => bob.person.upload(his, fileOf())));
    expect(many.filter(({ status }) => status === 200)).toHaveLength(20);
    expect([storedOf(bob.uuid), (await shown(bob.uuid)).evidence.length]).toEqual([20, 20]);
  });

  it("is bounded for a person, whatever they apply for, and for a network", async () => {
    const ada = await newApplicant();
    const { evidenceStore } = portal.node.services;
    const put = vi.spyOn(evidenceStore, "put").mockResolvedValueOnce("full");
    const answer = await send(ada).finally(() => put.mockRestore());
    expect([answer.status, answer.html]).toEqual([503, expect.stringContaining("No room")]);
    expect((await shown(ada.uuid)).evidence).toEqual([]);
    await send(ada);
    const db = new DatabaseSync(join(portal.node.config.home, "store.db"), { readOnly: true });
    const owners = db.prepare("SELECT owner FROM evidence_room WHERE application = ? ORDER BY owner");
    const [, network] = ada.person.address.match(/^(.*)\.\d+$/) ?? [];
    expect(owners.all(ada.uuid).map((row) => row["owner"])).toEqual([
      "all",
      `network ${network}.0/24`,
      `person ${ada.person.personId}`,
    ]);
    db.close();
  });

  it("is taken with the code of the session and from a page of the portal alone", async () => {
    const ada = await newApplicant();
    const form = await uploadForm(ada);
    const upload = (fields: Readonly<Record<string, string>>, action = form.action) =>
      ada.person.upload({ ...form, action, fields }, fileOf());
    for (const form_code of ["", "x", (form.fields["form_code"] ?? "").slice(1)])
      expect((await upload({ form_code })).status).toBe(403);
    const { origin } = portal;
    const cookie = [...ada.person.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const body = () => {
      const data = new FormData();
      data.append("form_code", form.fields["form_code"] ?? "");
      data.append("file", new Blob([new Uint8Array(fileOf().bytes)], { type: "application/pdf" }), "a.pdf");
      return data;
    };
    const from = async (headers: HeadersInit, sent: BodyInit = body()) =>
      (
        await fetch(`${portal.url}${form.action}`, {
          method: "POST",
          headers,
          body: sent,
          redirect: "manual",
        })
      ).status;
    const own = { origin, cookie, "sec-fetch-site": "same-origin" };
    expect(await from({ ...own, origin: "https://evil.example" })).toBe(403);
    expect(await from({ ...own, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await from({ ...own, cookie: "" })).toBe(401);
    expect(await from(own, new URLSearchParams(form.fields))).toBe(415);
    expect(await from({ ...own, "content-type": "multipart/form-data" }, "x")).toBe(400);
    const twice = body();
    twice.append("file", new Blob(["%PDF-2"], { type: "application/pdf" }), "b.pdf");
    expect(await from(own, twice)).toBe(400);
    expect([storedOf(ada.uuid), await from(own), storedOf(ada.uuid)]).toEqual([0, 303, 1]);
    await ada.person.send((await ada.person.get("/")).form("/sign-out"));
    expect((await upload(form.fields)).status).toBe(401);
    expect(storedOf(ada.uuid)).toBe(1);
  });

  it("is added to one's own application alone: any other is answered as one that does not exist", async () => {
    const [ada, eve] = [await newApplicant("Own Ltd"), await newApplicant("Eve Ltd")];
    await send(ada);
    const own = await uploadForm(eve);
    const nobodys = "10000000-0000-4000-8000-0000000000f1";
    const answers: (readonly (readonly [number, string | undefined])[])[] = [];
    for (const uuid of [ada.uuid, nobodys, "x"]) {
      const page = `/applications/${uuid}`;
      const seen = await eve.person.get(page);
      const sent = await eve.person.upload({ ...own, action: `${page}/evidence` }, fileOf());
      const { evidence } = await shown(ada.uuid);
      const removed = await eve.person.post(`${page}/evidence/remove`, {
        ...own.fields,
        file: evidence[0]?.file,
      });
      // Each page has another code of the session.
      const said = (html: string) => /<main.*<\/main>/s.exec(html)?.[0];
      answers.push([seen, sent, removed].map(({ status, html }) => [status, said(html)] as const));
    }
    expect(answers[0]?.map(([status]) => status)).toEqual([404, 404, 404]);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    expect(storedOf(ada.uuid)).toBe(1);
  });

  it("that does not arrive as its head says is not kept", async () => {
    const ada = await newApplicant();
    const form = await uploadForm(ada);
    const { hostname, port, host } = new URL(portal.url);
    const cookie = [...ada.person.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const field = `--b\r\nContent-Disposition: form-data; name="form_code"\r\n\r\n${form.fields["form_code"]}\r\n`;
    const whole = `${field}--b\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\nContent-Type: application/pdf\r\n\r\n%PDF-1.7 x\r\n--b--\r\n`;
    /** The status of the first answer; null where there was none. */
    const raw = (length: number, body: string, doesEnd = false) =>
      new Promise<string | null>((resolve) => {
        let text = "";
        const head = [
          `POST ${form.action} HTTP/1.1`,
          `host: ${host}`,
          `origin: ${portal.origin}`,
          `cookie: ${cookie}`,
          "content-type: multipart/form-data; boundary=b",
          `content-length: ${length}`,
          "connection: close",
        ];
        const socket = connect(Number(port), hostname, () => {
          socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
          if (doesEnd) socket.end();
        });
        socket.on("data", (chunk) => {
          text += chunk;
        });
        socket.on("error", () => {});
        socket.on("close", () => resolve(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? null));
      });
    // It ends before its last delimiter.
    expect(await raw(whole.length - 20, whole.slice(0, -20))).toBe("400");
    // There is less than its head says: what is missing never comes.
    expect(await raw(whole.length + 1_000, whole, true)).not.toBe("303");
    // There is more than its head says: the rest is not read.
    expect(await raw(whole.length - 5, whole)).toBe("400");
    expect(storedOf(ada.uuid)).toBe(0);
    expect(await raw(whole.length, whole)).toBe("303");
    expect(storedOf(ada.uuid)).toBe(1);
  });

  it("is one of thirty from one address in a minute, and the next is not read", async () => {
    const ada = await newApplicant();
    const form = await uploadForm(ada);
    const nothing = { ...fileOf(), bytes: Buffer.alloc(0) };
    const sendOne = async () => (await ada.person.upload(form, nothing)).status;
    for (let count = 1; count <= 30; count += 1) expect(await sendOne()).toBe(400);
    expect(await sendOne()).toBe(429);
  });

  it("leaves nothing for ever when the node dies between the file and its row", async () => {
    const ada = await newApplicant();
    const { actors } = portal.node.services;
    const ask = actors.ask.bind(actors);
    const crash = vi.spyOn(actors, "ask").mockImplementation(async (to, command) => {
      if (typeIs(command, "evidence.add")) throw new Error("The node died.");
      return ask(to, command);
    });
    const { status } = await send(ada).finally(() => crash.mockRestore());
    expect([status, storedOf(ada.uuid), (await shown(ada.uuid)).evidence]).toEqual([500, 1, []]);
    await ask(applicationRef(ada.uuid), { type: "application.withdraw", applicant: ada.person.personId });
    await expect.poll(() => storedOf(ada.uuid)).toBe(0);
  });
});

describe("an operator who takes a file", () => {
  it("gets an attachment that no browser shows, and the view is noted with it and in the audit log", async () => {
    const ada = await newApplicant("Viewed Ltd");
    await send(ada);
    const [{ file, sha256 }] = (await shown(ada.uuid)).evidence;
    const answer = await download(ada.uuid, file);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-disposition": `attachment; filename="evidence-${file}.pdf"`,
      "content-type": "application/octet-stream",
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'",
      "cache-control": "no-store",
    });
    await download(ada.uuid, file, named("Bob"));
    expect((await shown(ada.uuid)).evidence_views).toMatchObject([
      { file, by: "Bob" },
      { file, by: "Olga" },
    ]);
    const { home } = portal.node.config;
    const audit = readFileSync(join(home, "audit.log"), "utf8");
    const lines = audit.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    const taken = lines.filter(({ params }) => params?.file === file);
    expect(taken.map(({ msg, event, by }) => [msg ?? event, by])).toEqual([
      ["ops.asked", "Olga"],
      ["ops.acted", "Olga"],
      ["ops.asked", "Bob"],
      ["ops.acted", "Bob"],
    ]);
    expect(taken[1].outcome).toEqual({ outcome: "taken" });
    const page = await fetch(`${portal.node.urls.ops_url}/ui/applications`, { headers: named("Olga") });
    const html = await page.text();
    for (const word of ["extract.pdf", "Olga", downloadPath(ada.uuid, file), sha256.slice(7)])
      expect(html).toContain(word);
  });

  it("needs the right for parties and a name, and is answered 404 for a file that is not there", async () => {
    const ada = await newApplicant();
    await send(ada);
    const [{ file }] = (await shown(ada.uuid)).evidence;
    expect((await download(ada.uuid, file, {})).status).toBe(401);
    expect((await download(ada.uuid, file, { authorization: `Bearer ${tokenOf()}` })).status).toBe(403);
    const other = "10000000-0000-4000-8000-0000000000f2";
    for (const [uuid, of] of [
      [ada.uuid, other],
      [other, file],
      ["x", "y"],
    ] as const)
      expect((await download(uuid, of)).status).toBe(404);
    expect((await shown(ada.uuid)).evidence_views).toEqual([]);
  });

  it("gets nothing where the view cannot be noted with the application", async () => {
    const ada = await newApplicant();
    await send(ada);
    const [{ file }] = (await shown(ada.uuid)).evidence;
    const { evidenceStore, actors } = portal.node.services;
    const ask = actors.ask.bind(actors);
    const read = vi.spyOn(evidenceStore, "read");
    const fails = vi.spyOn(actors, "ask").mockImplementation(async (to, command) => {
      if (typeIs(command, "evidence.view")) throw new Error("The store is full.");
      return ask(to, command);
    });
    const { status } = await download(ada.uuid, file).finally(() => fails.mockRestore());
    expect([status, read.mock.calls]).toEqual([500, []]);
    read.mockRestore();
  });

  it("takes it in a terminal as well, into a file that is not there yet", async () => {
    const ada = await newApplicant();
    const sent = fileOf();
    await send(ada, sent);
    const folder = mkdtempSync(join(tmpdir(), "svc-evidence-"));
    const run = (words: readonly string[]) =>
      runRevoke(words, { home: portal.node.config.home, reply: "yes", command: opsEvidence });
    const listed = await run([ada.uuid]);
    expect([listed.code, listed.printed]).toEqual([0, expect.stringContaining(hashOf(sent.bytes))]);
    const [{ file }] = (await shown(ada.uuid)).evidence;
    const out = join(folder, "a.pdf");
    const words = [ada.uuid, "--file", file, "--by", "Olga", "--out", out];
    expect((await run(words)).code).toBe(0);
    expect(readFileSync(out).equals(sent.bytes)).toBe(true);
    writeFileSync(out, "mine");
    expect((await run(words)).said).toContain("is not overwritten");
    expect(readFileSync(out, "utf8")).toBe("mine");
  });
});

describe("after the decision", () => {
  it("nothing is added or removed, and operators still see what was decided by", async () => {
    const ada = await newApplicant("Decided Ltd");
    await send(ada);
    const form = await uploadForm(ada);
    const [{ file }] = (await shown(ada.uuid)).evidence;
    expect(await decideAt(portal, ada.uuid, "refuse", { statement: "No." })).toBe(200);
    const removed = await ada.person.post(`${form.action}/remove`, { ...form.fields, file });
    const answers = [await ada.person.get(ada.page), await ada.person.upload(form, fileOf()), removed];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect((await download(ada.uuid, file)).status).toBe(200);
    expect(storedOf(ada.uuid)).toBe(1);
  });

  it("a file that arrives meanwhile is not added, and nothing of it stays", async () => {
    const ada = await newApplicant();
    const form = await uploadForm(ada);
    const { evidenceStore } = portal.node.services;
    const put = evidenceStore.put.bind(evidenceStore);
    const late = vi.spyOn(evidenceStore, "put").mockImplementation(async (file) => {
      const stored = await put(file);
      await decideAt(portal, ada.uuid, "refuse", { statement: "No." });
      return stored;
    });
    const { status } = await ada.person.upload(form, fileOf()).finally(() => late.mockRestore());
    expect([status, storedOf(ada.uuid), (await shown(ada.uuid)).evidence]).toEqual([409, 0, []]);
  });

  it("what was sent is nowhere readable, and its key and its bytes are gone after thirty days, also across a restart", async () => {
    const day = 86_400_000;
    const [ada, bob] = [await newApplicant("Approved Ltd"), await newApplicant("Refused Ltd")];
    const sent = fileOf("application/pdf", "very-private-name.pdf", 50_000);
    for (const each of [ada, bob]) await send(each, sent);
    const [{ file }] = (await shown(ada.uuid)).evidence;
    await download(ada.uuid, file);
    expect(await decideAt(portal, ada.uuid, "approve")).toBe(200);
    expect(await decideAt(portal, bob.uuid, "refuse", { statement: "No." })).toBe(200);
    const { home } = portal.node.config;
    const keyRows = () => {
      const db = new DatabaseSync(join(home, "store.db"), { readOnly: true });
      const rows = db.prepare(
        `SELECT body FROM actor_row JOIN actor_head ON no = actor WHERE kind = 'application' AND id IN (?, ?) AND rt = 18`,
      );
      const found = rows.all(ada.uuid, bob.uuid).map((row) => String(row["body"]));
      db.close();
      return found;
    };
    const keys = keyRows();
    expect([keys.length, new Set(keys).size]).toEqual([2, 2]);
    await portal.node[Symbol.asyncDispose]();
    const inside = sent.bytes.subarray(20_000, 20_100);
    for (const name of readdirSync(home).filter((each) => /\.(db|log|jsonl|db-wal)$/.test(each))) {
      const bytes = readFileSync(join(home, name));
      expect(bytes.includes(inside), name).toBe(false);
      expect(bytes.includes("very-private-name") || bytes.includes(hashOf(sent.bytes)), name).toBe(
        name.startsWith("store.db"),
      );
      expect(
        keys.some((key) => bytes.includes(key)),
        name,
      ).toBe(name.startsWith("store.db"));
    }
    const start = (movedMs: number) => {
      aheadMs += movedMs;
      return startNode({ home, portBase: 0, samples: false, logLevel: "silent" }, { clock });
    };
    {
      await using node = await start(29 * day);
      const found = await node.services.actors.ask(applicationRef(bob.uuid), { type: "application.read" });
      expect(found?.evidence).toHaveLength(1);
      expect([storedOf(ada.uuid, home), storedOf(bob.uuid, home), keyRows().length]).toEqual([1, 1, 2]);
    }
    await using node = await start(2 * day);
    for (const { uuid } of [ada, bob]) {
      await expect.poll(() => storedOf(uuid, home)).toBe(0);
      const read = () => node.services.actors.ask(applicationRef(uuid), { type: "application.read" });
      await expect.poll(read).toBeNull();
    }
    await expect.poll(keyRows).toEqual([]);
  }, 60_000);
});
