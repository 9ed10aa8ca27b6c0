import { once } from "node:events";
import { request } from "node:http";
import { describe, expect, it } from "vitest";
import { utf8 } from "../protocol/bytes.ts";
import { ok, refuse } from "../protocol/result.ts";
import { parseRange } from "../std/ip-address.ts";
import type { ClusterOps } from "./cluster.ts";
import { type OpsAccess, opsRightNames } from "./guard.ts";
import {
  act,
  authorization,
  by,
  noApplications,
  noInspection,
  noRecoveries,
  openOps,
  token,
} from "./ops.fixture.ts";
import { signedIn } from "./sign-in.fixture.ts";

const readToken = "a-token-for-reading-of-32-characters";
const reading = `Bearer ${readToken}`;
const cluster = { state: () => ({}), rejoin: async () => "rejoined" } as unknown as ClusterOps;
const rejoin = {
  method: "POST",
  url: "/ops/cluster/rejoin",
  payload: { ...act, region: "us-east1" },
} as const;
const proxy = {
  addresses: [parseRange("10.9.0.0/16")].flatMap((range) => (range === null ? [] : [range])),
  userHeader: "x-forwarded-user",
  groupsHeader: "x-forwarded-groups",
  groups: {
    read: ["watchers"],
    act: ["drivers"],
    money: ["bookkeepers"],
    parties: ["registrars"],
    takedowns: ["moderators"],
    cluster: ["operators"],
  },
};
const access = { hosts: ["localhost:80"], token, readToken, isLoopback: true };
const open = (changes: Partial<OpsAccess> = {}, more: object = {}) =>
  openOps({ access: { ...access, ...changes }, cluster, ...more });
const codeOf = (answer: { statusCode: number; json(): { code?: string } }): readonly unknown[] => [
  answer.statusCode,
  answer.json().code,
];

describe("the right to read", () => {
  it("is not the right to act (G2)", async () => {
    const server = open({ isLoopback: false });
    expect(
      (await server.inject({ url: "/ops/counts", headers: { authorization: reading } })).statusCode,
    ).toBe(200);
    const answer = await server.inject({ ...rejoin, headers: { authorization: reading } });
    expect(codeOf(answer)).toEqual([403, "right_missing"]);
    expect((await server.inject({ ...rejoin, headers: { authorization } })).statusCode).toBe(200);
  });

  it("does not show the journal of an actor, however its address is written (G2)", async () => {
    const lines: [string, Readonly<Record<string, unknown>>][] = [];
    const audit = {
      record: (event: string, detail: Readonly<Record<string, unknown>>) => void lines.push([event, detail]),
    };
    const exported = async () => ok({ name: "journal-b.ndjson", text: '{"format":"svc journal 1"}\n' });
    const inspection = { ...noInspection, past: { ...noInspection.past, exported } };
    const server = open({}, { inspection, audit });
    const ask = (url: string, headers: object, method: "GET" | "HEAD" = "GET") =>
      server.inject({ method, url, headers: { ...headers } });
    const plain = "/ops/actors/push/b.p/export";
    for (const url of [plain, "/ops/actors/push/b.p/e%78port"])
      for (const method of ["GET", "HEAD"] as const) {
        expect((await ask(url, {}, method)).statusCode, url).toBe(401);
        expect((await ask(url, { authorization: reading }, method)).statusCode, url).toBe(403);
      }
    expect(new Set(lines.map(([event]) => event))).toEqual(new Set(["ops.refused"]));
    const answer = await ask(plain, { authorization });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers["content-disposition"]).toBe('attachment; filename="journal-b.ndjson"');
    expect(answer.headers["content-type"]).toBe("application/x-ndjson");
    // Who took it is in the audit log.
    const taken = lines.filter(([event]) => event === "ops.acted");
    expect(taken).toHaveLength(1);
    expect(taken[0]?.[1]).toMatchObject({
      act: "GET /ops/actors/:kind/:id/export",
      params: { kind: "push", id: "b.p" },
      via: "token",
      outcome: { outcome: "exported" },
    });
  });

  it("does not take what an applicant sent, and who takes it is recorded before it is handed over (G2)", async () => {
    const lines: string[] = [];
    const views: string[] = [];
    let isFull = true;
    const record = (event: string) => {
      if (isFull && event === "ops.asked") throw new Error("The disk is full.");
      lines.push(event);
    };
    const file = { media_type: "application/pdf", file: "f" };
    const view = async (_: object, by: string) => {
      views.push(by);
      return { evidence: file, bytes: utf8("%PDF-1.7") };
    };
    const applications = { ...noApplications, evidence: { view } };
    const server = open({ proxy }, { applications, audit: { record } });
    const url = "/ops/applications/u/evidence/f/download";
    for (const method of ["GET", "HEAD"] as const) {
      const ask = (headers: object) => server.inject({ method, url, headers: { ...headers } });
      isFull = true;
      expect((await ask({ authorization: reading })).statusCode).toBe(403);
      expect((await ask({ authorization })).statusCode).toBe(503);
      expect(views).toEqual([]);
      isFull = false;
      expect((await ask({ authorization })).statusCode).toBe(200);
      expect(views.splice(0)).toEqual([by]);
      expect(lines.splice(0).slice(-2)).toEqual(["ops.asked", "ops.acted"]);
    }
  });

  it("is not given by an empty token", async () => {
    for (const empty of [null, ""]) {
      const server = open({ isLoopback: false, readToken: empty });
      for (const headers of [{}, { authorization: "Bearer " }, { authorization: reading }])
        expect(codeOf(await server.inject({ url: "/ops/counts", headers }))).toEqual([401, "token_invalid"]);
    }
  });
});

describe("who acts (G2)", () => {
  const noting = () => {
    const lines: Readonly<Record<string, unknown>>[] = [];
    const audit = {
      record: (_event: string, detail: Readonly<Record<string, unknown>>) => void lines.push(detail),
    };
    return { lines, server: open({ proxy }, { audit }) };
  };

  it("is who signed in: a name in the body is refused, and a token without a name reads alone", async () => {
    const { lines, server } = noting();
    const given = { authorization: signedIn(token, "Ada") };
    expect((await server.inject({ ...rejoin, headers: given })).statusCode).toBe(200);
    expect(lines.at(-1)).toMatchObject({ via: "token", by: "Ada", reason: act.reason });
    const payload = { ...rejoin.payload, by: "Bob" };
    expect(codeOf(await server.inject({ ...rejoin, payload, headers: given }))).toEqual([
      400,
      "request_invalid",
    ]);
    for (const name of ["", " ", "Ada\u001b[2J", "Ada\u202egnihton", "x".repeat(201)]) {
      const authorizations = [`Bearer ${token}`, signedIn(token, name)];
      for (const authorization of authorizations) {
        const answer = await server.inject({ ...rejoin, headers: { authorization } });
        expect([...codeOf(answer), answer.json().detail]).toEqual([
          403,
          "right_missing",
          expect.stringContaining("needs the name of the person"),
        ]);
      }
    }
    const { headers } = await server.inject({ method: "POST", url: "/ops/session", payload: { token } });
    const cookie = String(headers["set-cookie"]).split(";")[0] ?? "";
    const answer = await server.inject({ ...rejoin, headers: { cookie, origin: "http://localhost" } });
    expect(codeOf(answer)).toEqual([403, "right_missing"]);
  });

  it("needs the right of its own that money, parties, takedowns and the cluster have", async () => {
    const payloads: readonly (readonly [string, string])[] = [
      ["drivers", "/ops/actors/push/b.p/retry"],
      ["bookkeepers", "/ops/ledgers/x/entries"],
      ...["/ops/keys/k/revoke", "/ops/mandates/b/m/revoke", "/ops/certificates/u/withdraw"].map(
        (url) => ["registrars", url] as const,
      ),
      ...["/ops/grants/revoke", "/ops/blocks/b/block", "/ops/brands/b/confirm", "/ops/groups/c/join"].map(
        (url) => ["registrars", url] as const,
      ),
      ["moderators", "/ops/takedowns/x/impose"],
      ...["/ops/cluster/declare-dead", "/ops/cluster/rebuild", "/ops/nodes/a/drain"].map(
        (url) => ["operators", url] as const,
      ),
    ];
    const { server } = noting();
    for (const group of ["watchers", "drivers", "bookkeepers", "registrars", "moderators", "operators"])
      for (const [needed, url] of payloads) {
        const headers = { "x-forwarded-user": "ada", "x-forwarded-groups": group };
        const answer = await server.inject({
          method: "POST",
          url,
          payload: {},
          headers,
          remoteAddress: "10.9.1.1",
        });
        // What is let in is then found to lack its members.
        const expected = group === needed ? [400, "request_invalid"] : [403, "right_missing"];
        expect(codeOf(answer), `${group} ${url}`).toEqual(expected);
      }
  });

  it("is told by the OpenAPI document which right each act needs", async () => {
    const { paths } = (await open().inject({ url: "/openapi.json" })).json();
    const rightsOf = (path: string) =>
      paths[path].post.security.map((each: Readonly<Record<string, unknown>>) => Object.values(each)[0]);
    expect(rightsOf("/ops/ledgers/{company_uuid}/entries")).toEqual([["money"], ["money"]]);
    expect(rightsOf("/ops/keys/{key_id}/revoke")).toEqual([["parties"], ["parties"]]);
    expect(rightsOf("/ops/cluster/declare-dead")).toEqual([["cluster"], ["cluster"]]);
    expect(rightsOf("/ops/actors/{kind}/{id}/retry")).toEqual([["act"], ["act"]]);
  });
});

describe("a request that a page of another origin caused (G4)", () => {
  it.each([
    [{ origin: "https://attacker.example" }],
    [{ origin: "null" }],
    [{ origin: "http://localhost:81" }],
    [{ "sec-fetch-site": "cross-site" }],
    [{ "sec-fetch-site": "same-site" }],
    [{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }],
  ])("is refused: %j", async (headers) => {
    for (const url of ["/ops/counts", "/healthz", "/ops/session"])
      expect(codeOf(await open().inject({ url, headers }))).toEqual([403, "origin_not_allowed"]);
    const acting = await open().inject({ ...rejoin, headers: { ...headers, authorization } });
    expect(codeOf(acting)).toEqual([403, "origin_not_allowed"]);
  });

  it("is let through where a person followed a link to a page, and never acts", async () => {
    const link = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    expect((await open().inject({ url: "/ops/counts", headers: link })).statusCode).toBe(200);
    const posted = await open().inject({ ...rejoin, headers: { ...link, authorization } });
    expect(codeOf(posted)).toEqual([403, "origin_not_allowed"]);
    // A proxy has its own cookie, which such a link may carry: what needs the right to act is not led to.
    const named = { "x-forwarded-user": "ada", "x-forwarded-groups": "drivers" };
    const led = { url: "/ops/actors/push/b.p/export", remoteAddress: "10.9.1.1" };
    const exported = await open({ proxy }).inject({ ...led, headers: { ...link, ...named } });
    expect(codeOf(exported)).toEqual([403, "origin_not_allowed"]);
  });

  it.each([
    [{}],
    [{ origin: "http://localhost" }],
    [{ origin: "http://LOCALHOST:80" }],
    [{ "sec-fetch-site": "same-origin" }],
    [{ "sec-fetch-site": "none" }],
  ])("is not one of this surface's own: %j", async (headers) => {
    expect((await open().inject({ url: "/ops/counts", headers })).statusCode).toBe(200);
  });
});

describe("a browser's session", () => {
  const begin = async (server: ReturnType<typeof open>, given: object) => {
    const payload = { by: "Ada", ...given };
    const answer = await server.inject({ method: "POST", url: "/ops/session", payload });
    const header = String(answer.headers["set-cookie"] ?? "");
    return { answer, header, cookie: header.split(";")[0] ?? "" };
  };
  const own = { origin: "http://localhost" };

  it("begins with a token, which no script can read, and acts only for the surface's own pages (G5)", async () => {
    const server = open({ isLoopback: false });
    const { answer, header, cookie } = await begin(server, { token, by: "Ada" });
    expect(answer.json()).toMatchObject({ rights: opsRightNames, via: "session", user: "Ada" });
    expect(header).toMatch(
      /^__Host-svc_ops=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=28800; HttpOnly; SameSite=Strict; Secure$/,
    );
    const near = await begin(open(), { token });
    expect(near.header).toMatch(/^svc_ops=[A-Za-z0-9_-]{43}; Path=\/; .*SameSite=Strict$/);
    expect((await server.inject({ url: "/ops/counts", headers: { cookie } })).statusCode).toBe(200);
    expect((await server.inject({ ...rejoin, headers: { cookie, ...own } })).statusCode).toBe(200);
    const fetched = { cookie, "sec-fetch-site": "same-origin" };
    expect((await server.inject({ ...rejoin, headers: fetched })).statusCode).toBe(200);
    expect(codeOf(await server.inject({ ...rejoin, headers: { cookie } }))).toEqual([
      403,
      "origin_not_allowed",
    ]);
  });

  it("is not one that another host of its domain set (SE4)", async () => {
    const server = open({ isLoopback: false });
    const { cookie } = await begin(server, { token });
    const statusOf = async (given: string): Promise<number> =>
      (await server.inject({ url: "/ops/counts", headers: { cookie: given } })).statusCode;
    expect(await statusOf(cookie)).toBe(200);
    expect(await statusOf(cookie.replace("__Host-", ""))).toBe(401);
    expect(await statusOf(`${cookie.replace("__Host-", "").slice(0, -1)}x; ${cookie}`)).toBe(200);
  });

  it("has the rights of its token at most, and less where that was asked for", async () => {
    const server = open({ isLoopback: false });
    for (const payload of [
      { token: readToken, by: "Ada" },
      { token, rights: ["read"], by: "Ada" },
    ]) {
      const { answer, cookie } = await begin(server, payload);
      expect(answer.json().rights).toEqual(["read"]);
      const acting = await server.inject({ ...rejoin, headers: { cookie, ...own } });
      expect(codeOf(acting)).toEqual([403, "right_missing"]);
    }
    expect(codeOf((await begin(server, { token: readToken, rights: ["act"] })).answer)).toEqual([
      403,
      "right_missing",
    ]);
    const { answer, header } = await begin(server, { token: `${token}x` });
    expect([codeOf(answer), header]).toEqual([[401, "token_invalid"], ""]);
  });

  it("ends after eight hours, after an idle one, and when it is ended (SE2)", async () => {
    let nowMs = 1_000_000;
    const server = open({ isLoopback: false }, { nowMs: () => nowMs });
    const status = async (cookie: string): Promise<number> =>
      (await server.inject({ url: "/ops/counts", headers: { cookie } })).statusCode;
    const { cookie: used } = await begin(server, { token });
    const { cookie: idle } = await begin(server, { token });
    for (let hour = 0; hour < 8; hour += 0.5) {
      expect(await status(used)).toBe(200);
      nowMs += 1_800_000;
    }
    expect([await status(used), await status(idle)]).toEqual([401, 401]);
    const { cookie } = await begin(server, { token });
    const ended = await server.inject({ method: "DELETE", url: "/ops/session", headers: { cookie, ...own } });
    expect(String(ended.headers["set-cookie"])).toMatch(/^__Host-svc_ops=; .*Max-Age=0/);
    expect(await status(cookie)).toBe(401);
  });

  it("is bounded in number: a new one ends the one that was used longest ago (SE3)", async () => {
    const server = open({ isLoopback: false });
    const { cookie: first } = await begin(server, { token });
    const { cookie: second } = await begin(server, { token });
    await server.inject({ url: "/ops/counts", headers: { cookie: first } });
    for (let more = 0; more < 255; more += 1) await begin(server, { token });
    expect((await server.inject({ url: "/ops/counts", headers: { cookie: second } })).statusCode).toBe(401);
    expect((await server.inject({ url: "/ops/counts", headers: { cookie: first } })).statusCode).toBe(200);
  });

  it("leaves no token in the audit log, and says in it how an act was admitted", async () => {
    const lines: [string, Readonly<Record<string, unknown>>][] = [];
    const audit = {
      record: (event: string, detail: Readonly<Record<string, unknown>>) => void lines.push([event, detail]),
    };
    const server = open({}, { audit });
    const { cookie } = await begin(server, { token, by: "Ada" });
    await begin(server, { token: "guessed-by-somebody-who-has-none" });
    await server.inject({ ...rejoin, headers: { cookie, ...own } });
    const text = JSON.stringify(lines);
    expect(text).not.toContain(token);
    expect(text).not.toContain("guessed-by-somebody");
    expect(text).not.toContain(cookie.split("=")[1]);
    expect(lines.at(-1)).toMatchObject(["ops.acted", { via: "session", by: "Ada", reason: act.reason }]);
    expect(lines.map(([event]) => event)).toContain("ops.refused");
  });
});

describe("two operators who decide together", () => {
  const url = "/ops/recoveries/a.b/approve";
  const payload = { ...act, replaces: "10000000-0000-4000-8000-000000000001", key_id: "A".repeat(43) };

  it("are two people whom the proxy names, where there is one: everybody who has the token can say any name", async () => {
    const asked: unknown[] = [];
    const approve = async (_id: string, { by }: { readonly by: string }) => {
      asked.push(by);
      return refuse("refused", "It is refused.");
    };
    const recoveries = { ...noRecoveries, approve };
    const send = (changes: Partial<OpsAccess>, headers: Record<string, string>) =>
      open(changes, { recoveries }).inject({
        method: "POST",
        url,
        payload,
        headers,
        remoteAddress: "10.9.1.1",
      });
    const refused = await send({ proxy }, { authorization: signedIn(token, "Max") });
    expect([refused.statusCode, refused.json().detail, asked]).toEqual([
      400,
      expect.stringContaining("by the proxy"),
      [],
    ]);
    await send({ proxy }, { "x-forwarded-user": "ada", "x-forwarded-groups": "registrars" });
    await send({}, { authorization: signedIn(token, "Max") });
    expect(asked).toEqual(["ada", "Max"]);
  });
});

describe("a proxy that says who operators are (G6)", () => {
  const asks = (
    remoteAddress: string,
    headers: Readonly<Record<string, string>>,
    request: { readonly url: string } = { url: "/ops/counts" },
  ) => open({ proxy }).inject({ ...request, remoteAddress, headers });

  it("is believed on its own addresses only", async () => {
    const said = { "x-forwarded-user": "ada", "x-forwarded-groups": "all, operators" };
    expect((await asks("10.9.1.1", said)).statusCode).toBe(200);
    expect((await asks("10.9.1.1", said, rejoin)).statusCode).toBe(200);
    expect(codeOf(await asks("10.8.1.1", said))).toEqual([401, "token_invalid"]);
    expect(codeOf(await asks("127.0.0.1", said))).toEqual([401, "token_invalid"]);
  });

  it("gives each group its right, and nobody else any", async () => {
    const watcher = { "x-forwarded-user": "bo", "x-forwarded-groups": "watchers" };
    expect((await asks("10.9.1.1", watcher)).statusCode).toBe(200);
    expect(codeOf(await asks("10.9.1.1", watcher, rejoin))).toEqual([403, "right_missing"]);
    for (const headers of [
      { "x-forwarded-user": "cy", "x-forwarded-groups": "others" },
      { "x-forwarded-user": "cy" },
      { "x-forwarded-groups": "operators" },
      { "x-forwarded-user": "a\u202eb", "x-forwarded-groups": "operators" },
    ])
      expect((await asks("10.9.1.1", headers)).statusCode).toBe(401);
    const { rights, via, user } = (await asks("10.9.1.1", watcher, { url: "/ops/session" })).json();
    expect([rights, via, user]).toEqual([["read"], "proxy", "bo"]);
  });

  it("names nobody where it added its own to what the caller sent (G6)", async () => {
    const hosts: string[] = [];
    const addresses = [parseRange("127.0.0.1/32")].flatMap((range) => (range === null ? [] : [range]));
    const server = open({ hosts, isLoopback: false, proxy: { ...proxy, addresses } });
    const url = new URL(await server.listen({ port: 0, host: "127.0.0.1" }));
    hosts.push(url.host);
    const statusOf = async (user: string | string[], groups: string | string[]): Promise<unknown> => {
      const headers = { "x-forwarded-user": user, "X-Forwarded-Groups": groups };
      const [answer] = await once(request(new URL("/ops/counts", url), { headers }).end(), "response");
      answer.resume();
      return answer.statusCode;
    };
    expect(await statusOf("bo", "watchers")).toBe(200);
    expect(await statusOf("bo", ["operators", "others"])).toBe(401);
    expect(await statusOf(["ada", "bo"], "watchers")).toBe(401);
    await server.close();
  });

  it("ends reading without a name on loopback, which is where it may come from itself (G3)", async () => {
    expect(codeOf(await asks("127.0.0.1", {}))).toEqual([401, "token_invalid"]);
    expect((await asks("127.0.0.1", {}, { url: "/healthz" })).statusCode).toBe(200);
    expect((await asks("127.0.0.1", { authorization })).statusCode).toBe(200);
  });
});
