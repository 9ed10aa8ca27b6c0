// Notices by mail, against an SMTP server on loopback.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PushNotice } from "../../actors/messages/serving.ts";
import { makeCertificate } from "../../transport/ws/certificate.fixture.ts";
import { type MailConfig, parseMail } from "./mail-config.ts";
import { type NoticeMailer, openNoticeMail } from "./notices.ts";

const business = "00000000-0000-4000-8000-000000000001";
const notice: PushNotice = {
  v: 1,
  notice_id: `bat_${"0".repeat(24)}.complete`,
  business_uuid: business,
  error: null,
  push_id: `bat_${"0".repeat(24)}`,
  state: "complete",
  records: 60,
  held_reasons: [],
  counts: { accepted: 59, updated: 0, rejected: 1, held: 0 },
  status_url: "/v1/pushes/p",
  at: new Date().toISOString(),
};

interface Received {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
  readonly secure: boolean;
  readonly user: string | undefined;
}

let home = "";
let server: SMTPServer;
let mail: NoticeMailer | null = null;
let received: Received[] = [];
let log: string[] = [];
let details: string[] = [];
let nowMs = 0;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-mail-"));
  [received, log, details, nowMs] = [[], [], [], Date.now()];
  await recipients({ [business]: ["owner@shop.example", "admin@shop.example"] });
  await writeFile(join(home, "password"), "correct horse\n");
});
afterEach(async () => {
  mail?.close();
  mail = null;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  await rm(home, { recursive: true, force: true });
});

const recipients = (table: unknown) => writeFile(join(home, "recipients.json"), JSON.stringify(table));

/** A strict server: TLS before anything else, and a login. */
async function listen(changes: SMTPServerOptions = {}): Promise<number> {
  const { key, cert } = makeCertificate("mail", ["127.0.0.1"]);
  await writeFile(join(home, "ca.pem"), cert);
  server = new SMTPServer({
    key,
    cert,
    logger: false,
    size: 1_048_576,
    closeTimeout: 100,
    onAuth: ({ username, password }, _session, done) =>
      username === "svc" && password === "correct horse"
        ? done(null, { user: "svc" })
        : done(new Error("wrong password")),
    onData: (stream, session, done) => {
      let text = "";
      stream.on("data", (part: Buffer) => {
        text += part.toString();
      });
      stream.on("end", () => {
        const { mailFrom, rcptTo } = session.envelope;
        const to = rcptTo.map(({ address }) => address);
        const from = mailFrom === false ? "" : mailFrom.address;
        // Long lines are folded in the quoted-printable encoding (RFC 2045 §6.7).
        text = text.replaceAll("=\r\n", "");
        received.push({ from, to, text, secure: session.secure, user: String(session.user) });
        done();
      });
    },
    ...changes,
  });
  // Clients that end a connection early are part of the tests.
  server.on("error", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.server.address() as AddressInfo).port;
}

function open(
  url: string,
  env: Readonly<Record<string, string>> = {},
  changes: Partial<MailConfig> = {},
): NoticeMailer {
  const config = parseMail({
    SVC_SMTP_URL: url,
    SVC_NOTICE_FROM: "notices@svc.example",
    SVC_NOTICE_RECIPIENTS: join(home, "recipients.json"),
    SVC_SMTP_CA_FILE: join(home, "ca.pem"),
    SVC_SMTP_PASSWORD_FILE: join(home, "password"),
    ...env,
  });
  if (config === null) throw new Error("Nothing is mailed.");
  mail = openNoticeMail({
    config: { ...config, ...changes },
    businessUrl: "https://push.svc.example",
    portalUrl: "https://portal.svc.example",
    clock: { now: () => nowMs },
    log: ({ event, detail }) => {
      log.push(event);
      details.push(detail ?? "");
    },
  });
  return mail;
}

describe("a notice", () => {
  it("is mailed once over TLS to the recipients of its business, named by its push", async () => {
    const port = await listen({ secure: true });
    await open(`smtps://svc@127.0.0.1:${port}`).deliver(notice);
    expect(received).toMatchObject([
      {
        from: "notices@svc.example",
        secure: true,
        user: "svc",
        to: ["owner@shop.example", "admin@shop.example"],
      },
    ]);
    const { text } = received[0] as Received;
    expect(text).toContain(`Message-ID: <${notice.notice_id}@svc.example>`);
    expect(text).toContain("59 accepted, 0 updated, 1 rejected");
    expect(text).toContain("Auto-Submitted: auto-generated");
    const [attached = ""] = /\r\n\r\neyJ[A-Za-z0-9+/=\r\n]+/.exec(text) ?? [];
    expect(JSON.parse(Buffer.from(attached, "base64").toString())).toEqual(notice);
    expect(log).toEqual(["notice.mailed"]);
  });

  it("of a takedown and of its lift has the statement of reasons, in the text and in no header (M4)", async () => {
    const port = await listen({ secure: true });
    const mailed = open(`smtps://svc@127.0.0.1:${port}`);
    const facts = { v: 1, business_uuid: business, status_url: "/v1/takedowns", at: notice.at } as const;
    const reason = "Article 6 of the terms";
    const record_id = `svc_${"a".repeat(26)}`;
    for (const [subject, state] of [
      [record_id, "taken_down"],
      [null, "lifted"],
    ] as const)
      await mailed.deliver({
        ...facts,
        record_id: subject,
        state,
        statement_of_reasons: reason,
        notice_id: `${subject ?? business}.${state}.7`,
      });
    const [down = "", up = ""] = received.map(({ text }) => text);
    expect(down).toContain(`Subject: Record ${record_id} was taken out of serving`);
    expect(down).toContain(`Message-ID: <${record_id}.taken_down.7@svc.example>`);
    expect(down).toContain(`Reason: ${reason}`);
    expect(down).toContain("https://push.svc.example/v1/takedowns");
    expect(up).toContain("Subject: Your business is served again");
    for (const text of [down, up]) expect(text.slice(0, text.indexOf("\r\n\r\n"))).not.toContain(reason);
  });

  it("of a business without recipients is not mailed, and a change of the table counts at once", async () => {
    const port = await listen({ secure: true });
    const mailed = open(`smtps://svc@127.0.0.1:${port}`);
    await recipients({});
    await mailed.deliver(notice);
    expect(received).toEqual([]);
    await recipients({ [business]: ["new@shop.example", "no address", "x@y\r\nBcc: z@w"] });
    await mailed.deliver(notice);
    expect(received.map(({ to }) => to)).toEqual([["new@shop.example"]]);
  });

  it("whose recipients cannot be read is mailed later, and keeps nobody else from mail (M2)", async () => {
    const port = await listen({ secure: true });
    const mailed = open(`smtps://svc@127.0.0.1:${port}`);
    await writeFile(join(home, "recipients.json"), "{");
    await expect(mailed.deliver(notice)).rejects.toThrow("The notice was not mailed");
    const former = { person_id: "p", to: "ada@shop.example", change: "removed", at_ms: nowMs } as const;
    await mailed.sendFormer(former);
    await recipients({ [business]: ["new@shop.example"] });
    await mailed.deliver(notice);
    expect(received.map(({ to }) => to)).toEqual([["ada@shop.example"], ["new@shop.example"]]);
    expect(log).toEqual(["notice.not_mailed", "notice.mailed", "notice.mailed"]);
  });

  it("is sent over STARTTLS, not without it, and in the clear to this machine only", async () => {
    const url = (port: number) => `smtp://127.0.0.1:${port}`;
    const withTls = await listen({ authOptional: true });
    await open(url(withTls), { SVC_SMTP_PASSWORD_FILE: "" }, { isPlain: false }).deliver(notice);
    expect(received).toMatchObject([{ secure: true }]);
    mail?.close();
    await new Promise<void>((resolve) => server.close(() => resolve()));
    const without = await listen({ disabledCommands: ["STARTTLS"], authOptional: true });
    const remote = open(url(without), { SVC_SMTP_PASSWORD_FILE: "" }, { isPlain: false });
    await expect(remote.deliver(notice)).rejects.toThrow();
    expect(received).toHaveLength(1);
    mail?.close();
    await open(url(without), { SVC_SMTP_PASSWORD_FILE: "" }).deliver(notice);
    expect(received).toMatchObject([{ secure: true }, { secure: false }]);
  });

  it("is not sent to a server with another certificate", async () => {
    const port = await listen({ secure: true });
    const { cert } = makeCertificate("other", ["127.0.0.1"]);
    await writeFile(join(home, "ca.pem"), cert);
    await expect(open(`smtps://svc@127.0.0.1:${port}`).deliver(notice)).rejects.toThrow();
    expect([received, log]).toEqual([[], ["notice.not_mailed"]]);
  });

  it("that no server took is delivered later, and the server left alone for a minute (M1, M2)", async () => {
    let isBusy = true;
    let tried = 0;
    const port = await listen({
      secure: true,
      onMailFrom: (_address, _session, done) => {
        tried += 1;
        done(isBusy ? Object.assign(new Error("later"), { responseCode: 451 }) : null);
      },
    });
    const mailed = open(`smtps://svc@127.0.0.1:${port}`);
    await expect(mailed.deliver(notice)).rejects.toThrow("later");
    isBusy = false;
    await mailed.deliver(notice);
    expect([received.length, tried]).toEqual([1, 2]);
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await expect(mailed.deliver(notice)).rejects.toThrow();
    await expect(mailed.deliver(notice)).rejects.toThrow("a moment ago");
    nowMs += 60_001;
    await expect(mailed.deliver(notice)).rejects.not.toThrow("a moment ago");
  });

  it("that a server refused for good, and one of three days ago, is given up (M1)", async () => {
    const port = await listen({
      secure: true,
      onRcptTo: (_address, _session, done) =>
        done(Object.assign(new Error("no such user"), { responseCode: 550 })),
    });
    const mailed = open(`smtps://svc@127.0.0.1:${port}`);
    await mailed.deliver(notice);
    const old = new Date(nowMs - 4 * 86_400_000).toISOString();
    await mailed.deliver({ ...notice, at: old });
    expect([received, log]).toEqual([[], ["notice.refused", "notice.given_up"]]);
  });

  it("to a person is one message to their address, which no log has, and nothing that they wrote is in a header (M4, M5)", async () => {
    let refusedWith: number | null = null;
    const port = await listen({
      secure: true,
      onRcptTo: ({ address }, _session, done) =>
        done(
          refusedWith === null
            ? null
            : Object.assign(new Error(`no ${address}`), { responseCode: refusedWith }),
        ),
    });
    const mailed = open(`smtps://svc@127.0.0.1:${port}`);
    const told = {
      uuid: business,
      legal_name: "Shop & Sons",
      person_id: "p-1",
      to: "Ada@Shop.Example",
      name: "Bob <bob@x.example>",
      notice: {
        ...({ kind: "role.changed", person_id: "p-2", role: "admin", by: "Eve" } as const),
        notice_id: "n-1",
        at_ms: nowMs,
      },
    };
    await mailed.send(told);
    const [{ to, text } = { to: [], text: "" }] = received;
    const [head = "", body = ""] = text.split("\r\n\r\n", 2);
    expect([to, body, text.includes("notice.json")]).toEqual([
      ["Ada@shop.example"],
      "About Shop & Sons:",
      false,
    ]);
    expect(text).toContain("Bob <bob@x.example> works here as admin. It was done by Eve.");
    expect(text).toContain(`https://portal.svc.example/notices/${business}`);
    expect(head).toMatch(/Subject: A role changed\r\nMessage-ID: <[\w-]{43}@svc\.example>/);
    refusedWith = 550;
    await mailed.send(told);
    const former = { person_id: "p-1", to: "Ada@Shop.Example", change: "replaced", at_ms: nowMs } as const;
    await mailed.sendFormer(former);
    expect(await mailed.sendLink({ person_id: "p-1", to: "new@shop.example", link: "l" })).toBe(false);
    await mailed.send({ ...told, notice: { ...told.notice, at_ms: nowMs - 4 * 86_400_000 } });
    refusedWith = 451;
    const failures = await Promise.all(
      [mailed.send(told), mailed.sendFormer(former)].map((each) => each.catch(String)),
    );
    expect(log).toEqual([
      "notice.mailed",
      "notice.refused",
      "notice.refused",
      "notice.link_not_mailed",
      "notice.given_up",
      "notice.not_mailed",
      "notice.not_mailed",
    ]);
    expect([...details, ...failures].join()).not.toMatch(/@shop\.example/i);
    expect([details[1], details.at(-1)]).toEqual([
      "the mail server answered 550",
      "the mail server answered 451",
    ]);
    expect(failures.join()).toContain("answered 451");
  });

  it("to people has a Message-ID of its own for each party, notice and person, whatever a business calls its mandates (M4)", async () => {
    const port = await listen({ secure: true });
    const mailed = open(`smtps://svc@127.0.0.1:${port}`);
    const mandate_id = '<a@b> (x).";é';
    const facts = { kind: "mandate.ends", mandate_id, key_id: "k", until: "u", at_ms: nowMs } as const;
    const ada = { legal_name: "Shop", to: "ada@shop.example", name: "" };
    const send = (uuid: string, notice_id: string, person_id: string) =>
      mailed.send({ ...ada, uuid, person_id, notice: { ...facts, notice_id } });
    const own = `${mandate_id}.ends`;
    for (const [uuid, id, person] of [
      ["u", own, "p"],
      ["u", own, "p"],
      ["v", own, "p"],
      ["u", "other", "p"],
      ["u", own, "q"],
    ] as const)
      await send(uuid, id, person);
    const ids = received.map(({ text }) => /^Message-ID: <([\w-]{43})@svc\.example>\r$/m.exec(text)?.[1]);
    expect([ids.includes(undefined), ids[0] === ids[1], new Set(ids).size]).toEqual([false, true, 4]);
  });

  it("is not mailed with a wrong password, which may be mended", async () => {
    const port = await listen({ secure: true });
    await writeFile(join(home, "password"), "wrong");
    await expect(open(`smtps://svc@127.0.0.1:${port}`).deliver(notice)).rejects.toThrow();
    expect(log).toEqual(["notice.not_mailed"]);
  });
});
