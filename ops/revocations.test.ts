import { describe, expect, it } from "vitest";
import { ok, refuse } from "../protocol/result.ts";
import type { Revocations } from "../service/register/revocations.ts";
import { StoreError } from "../storage/actor-store.ts";
import {
  act,
  authorization,
  by,
  certificateFacts,
  keptAct,
  keyFacts,
  mandateFacts,
  noRevocations,
  openOps,
  since,
  token,
} from "./ops.fixture.ts";
import type { OpsDeps } from "./server.ts";
import { signedIn } from "./sign-in.fixture.ts";

/** The address, further members of the body, and the expected call with its arguments. */
type ActCase = [address: string, payload: object, what: string, expected: object];

describe("operators who take something out of force", () => {
  const asked: unknown[] = [];
  const done =
    <T>(what: string, subject: T) =>
    async (request: object) => {
      asked.push([what, request]);
      return ok({ changed: true, since, subject });
    };
  const noActs = { acts: [], next_after: null };
  const revocations: Revocations = {
    ...noRevocations,
    key: async (id) => (id === "k" ? ok(keyFacts) : refuse("unknown", "No such key.")),
    mandate: async (uuid, id) =>
      `${uuid}/${id}` === "u/m/1" ? ok(mandateFacts) : refuse("unknown", "There is none."),
    certificate: async (uuid) => (uuid === "u" ? ok(certificateFacts) : refuse("unknown", "There is none.")),
    revokeKey: done("key", keyFacts),
    revokeMandate: done("mandate", mandateFacts),
    endCertificate: async (request) => {
      const ended = await done("certificate", certificateFacts)(request);
      return ok({ ...ended.value, keys_ended: [] });
    },
    revokeGrant: done("grant", keyFacts),
    acts: async (_uuid, { after, entry }) =>
      after === 0 ? { acts: [{ ...keptAct(7), entry: entry ?? "key/k" }], next_after: 99 } : noActs,
  };
  const post = (url: string, payload: object, changes: Partial<OpsDeps> = {}, given = authorization) =>
    openOps({ revocations, ...changes }).inject({
      method: "POST",
      url,
      payload,
      headers: { authorization: given },
    });
  const { cert_id } = certificateFacts;
  const moment = "2026-11-21T03:00:00.000Z";

  it.each<ActCase>([
    ["keys/k/revoke", {}, "key", { key_id: "k", compromised_from: null }],
    ["keys/k/revoke", { compromised_from: moment }, "key", { key_id: "k", compromised_from: moment }],
    ["mandates/u/m%2F1/revoke", {}, "mandate", { business_uuid: "u", mandate_id: "m/1" }],
    ...(["revoke", "close", "withdraw"] as const).map(
      (last, at): ActCase => [
        `certificates/u/${last}`,
        { cert_id, status_reason: "fraud", ...(at === 0 ? { effective_from: moment } : {}) },
        "certificate",
        {
          uuid: "u",
          cert_id,
          status: ["revoked", "closed", "withdrawn"][at],
          status_reason: "fraud",
          keep_keys: false,
          effective_from: at === 0 ? moment : null,
        },
      ],
    ),
    ["grants/revoke", { grant: "svc_sbxk1.a.b" }, "grant", { grant: "svc_sbxk1.a.b" }],
  ])("say %s %j, by whom and why", async (address, payload, what, expected) => {
    asked.length = 0;
    const answer = await post(`/ops/${address}`, { ...act, ...payload });
    expect([answer.statusCode, answer.json()]).toMatchObject([200, { changed: true, since }]);
    expect(asked).toEqual([[what, { ...expected, act: { by, ...act } }]]);
  });

  it.each([
    ["parties/u/certify", { kind: "person", legal_name: "A", country: "DE", cert_id }, /kind/],
    ["parties/u/certify", { kind: "business", legal_name: "A\u202E", country: "DE", cert_id }, /legal_name/],
    ["parties/u/certify", { kind: "business", legal_name: "A\u3164", country: "DE", cert_id }, /legal_name/],
    ["parties/u/certify", { kind: "business", legal_name: "A", country: "Germany", cert_id }, /country/],
    ["parties/u/keys", { public_key: { kty: "OKP" } }, /public_key|proof/],
    ["keys/k/revoke", { by: "Bob" }, /additional/],
    ["keys/k/revoke", { reason: "x".repeat(501) }, /reason/],
    ["keys/k/revoke", { reason: "leaked\u2028ops.acted" }, /reason/],
    ["keys/k/revoke", { compromised_from: "yesterday" }, /compromised_from/],
    ["keys/k/revoke", { revoked_at: moment }, /additional/],
    ["mandates/u/m/revoke", { reason: undefined }, /reason/],
    ["parties/u/certify", { kind: "business", legal_name: "A", country: "DE" }, /cert_id/],
    ["certificates/u/withdraw", { cert_id }, /status_reason/],
    ["certificates/u/withdraw", { status_reason: "fraud" }, /cert_id/],
    ["certificates/u/close", { cert_id, status_reason: "Not a code" }, /status_reason/],
    ["certificates/u/revoke", { cert_id, status_reason: "fraud", effective_from: "2026" }, /effective_from/],
    ["grants/revoke", {}, /grant/],
  ])("are refused %s %j", async (address, payload, detail) => {
    asked.length = 0;
    const answer = await post(`/ops/${address}`, { ...act, ...payload });
    expect([answer.statusCode, answer.json().code]).toEqual([400, "request_invalid"]);
    expect(answer.json().detail).toMatch(detail);
    expect(asked).toEqual([]);
  });

  it("may be called as people are called", async () => {
    for (const by of ["Ада Лавлейс", "می\u200cخواهم", "क्\u200dष", "李 四"])
      expect((await post("/ops/keys/k/revoke", act, {}, signedIn(token, by))).statusCode).toBe(200);
  });

  it("look at it before, and at what was done", async () => {
    const get = async (url: string) => (await openOps({ revocations }).inject(url)).json();
    expect(await get("/ops/keys/k")).toEqual({ key: keyFacts });
    expect(await get("/ops/mandates/u/m%2F1")).toEqual({ mandate: mandateFacts });
    expect(await get("/ops/certificates/u")).toEqual({ certificate: certificateFacts });
    for (const path of ["keys/x", "mandates/u/x", "mandates/x/m%2F1", "certificates/x"])
      expect(await get(`/ops/${path}`)).toMatchObject({ code: "not_found" });
    expect(await get("/ops/acts/u")).toEqual({ uuid: "u", acts: [keptAct(7)], next_after: 99 });
    expect(await get("/ops/acts/u?entry=key%2Fj")).toMatchObject({ acts: [{ entry: "key/j" }] });
    expect(await get("/ops/acts/u?after=99")).toEqual({ uuid: "u", acts: [], next_after: null });
    expect(await get("/ops/acts/v")).toMatchObject({ uuid: "v" });
    expect(await get("/ops/acts/u?after=x")).toMatchObject({ code: "request_invalid" });
  });

  it("are told that there is no such thing, that it cannot be, and when to ask again", async () => {
    const unknown = await post("/ops/keys/x/revoke", act, { revocations: noRevocations });
    expect([unknown.statusCode, unknown.json()]).toMatchObject([
      404,
      { code: "not_found", detail: "There is none." },
    ]);
    const refused = { ...noRevocations, revokeKey: async () => refuse("refused", "In the future.") } as const;
    expect((await post("/ops/keys/k/revoke", act, { revocations: refused })).json()).toMatchObject({
      status: 400,
      code: "request_invalid",
      detail: "In the future.",
    });
    const away = {
      ...noRevocations,
      revokeKey: () => Promise.reject(new StoreError("not_applied", "away")),
    };
    const later = await post("/ops/keys/k/revoke", act, { revocations: away });
    expect([later.statusCode, later.headers["retry-after"], later.json()]).toMatchObject([
      503,
      "1",
      { code: "unavailable", reason: "store" },
    ]);
  });

  it("need the token for it", async () => {
    const server = openOps({ revocations });
    for (const url of [
      "/ops/keys/k/revoke",
      "/ops/mandates/u/m/revoke",
      "/ops/certificates/u/close",
      "/ops/grants/revoke",
    ])
      expect((await server.inject({ method: "POST", url, payload: act })).statusCode).toBe(401);
  });
});

describe("the audit log", () => {
  const lines: (readonly [string, Readonly<Record<string, unknown>>])[] = [];
  const audit = {
    record: (event: string, detail: Readonly<Record<string, unknown>>) => void lines.push([event, detail]),
  };
  const revocations: Revocations = {
    ...noRevocations,
    revokeKey: async () => ok({ changed: true, since, subject: keyFacts }),
    revokeGrant: async () => ok({ changed: false, since, subject: keyFacts }),
  };
  const post = async (url: string, payload: object, headers: object = { authorization }) => {
    lines.length = 0;
    const answer = await openOps({ audit, revocations }).inject({
      method: "POST",
      url,
      headers: { ...headers },
      payload,
    });
    return [answer.statusCode, String(answer.headers["request-id"])] as const;
  };

  it("has each act before it begins, with who, why and from where, and then what became of it (A1, A2)", async () => {
    const [, request_id] = await post("/ops/keys/k/revoke", act);
    const asked = {
      request_id,
      from: "127.0.0.1",
      via: "token",
      act: "POST /ops/keys/:key_id/revoke",
      by,
      ...act,
      params: { key_id: "k" },
      asked: {},
    };
    const outcome = { changed: true, since, key: keyFacts };
    expect(lines).toEqual([
      ["ops.asked", asked],
      ["ops.acted", { ...asked, status: 200, outcome }],
    ]);
  });

  it("has what was refused, too, and nothing of it that was not understood (A3)", async () => {
    await post("/ops/keys/k/revoke", act, {});
    expect(lines).toMatchObject([["ops.refused", { status: 401, outcome: { code: "token_invalid" } }]]);
    await post("/ops/keys/k/revoke", { ...act, padding: "x" });
    expect(lines).toMatchObject([["ops.refused", { status: 400, outcome: { code: "request_invalid" } }]]);
    expect(JSON.stringify(lines)).not.toMatch(/padding/);
    await post("/ops/keys/x/y", act);
    expect(lines).toMatchObject([["ops.refused", { status: 404, act: "POST unmatched" }]]);
    await post("/ops/mandates/u/m/revoke", act);
    expect(lines).toMatchObject([
      ["ops.asked", { by }],
      ["ops.refused", { by, status: 404, outcome: { code: "not_found" } }],
    ]);
  });

  it("has no grant, no token, and no read (A3)", async () => {
    await post("/ops/grants/revoke", { ...act, grant: "svc_sbxk1.secret.sig" });
    expect(lines).toHaveLength(2);
    expect(JSON.stringify(lines)).not.toMatch(new RegExp(`svc_sbxk1|${token}`));
    lines.length = 0;
    await openOps({ audit }).inject("/ops/keys/k");
    expect(lines).toEqual([]);
  });

  it("that cannot be written keeps an act from being done (A1)", async () => {
    const asked: unknown[] = [];
    const revoke = async (request: object) => {
      asked.push(request);
      return ok({ changed: true, since, subject: keyFacts });
    };
    const full = {
      record: () => {
        throw new Error("ENOSPC");
      },
    };
    const server = openOps({ audit: full, revocations: { ...revocations, revokeKey: revoke } });
    const answer = await server.inject({
      method: "POST",
      url: "/ops/keys/k/revoke",
      headers: { authorization },
      payload: act,
    });
    expect([answer.statusCode, answer.json()]).toMatchObject([503, { reason: "audit_log" }]);
    expect(asked).toEqual([]);
  });
});
