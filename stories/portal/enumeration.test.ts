// Nobody learns at the portal who is there, by words or by work. No time is measured: what is looked up, asked, hashed and verified is
// counted, as it is where people and businesses have homes (PP1 in service/portal/people.ts).

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { TestAuthenticator } from "../../portal/authenticator.fixture.ts";
import { createAuthenticators } from "../../portal/authenticators.ts";
import { openPortalNode, type PortalNode, type Seen, Visitor } from "../../portal/portal.fixture.ts";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { createApplications } from "../../service/portal/applications.ts";
import { createChallenges } from "../../service/portal/challenges.ts";
import { createMembers } from "../../service/portal/members.ts";
import { createOwner } from "../../service/portal/owner.ts";
import { createPeople, type Homes, nobody, type SignedIn } from "../../service/portal/people.ts";
import { createRecoveries } from "../../service/portal/recoveries.ts";
import { createEnrolment } from "../../service/register/enrolment.ts";
import { createRevocations } from "../../service/register/revocations.ts";
import {
  appliedBy,
  approvedAt,
  companyAppliedAt,
  newBusinessAt,
  type Owned,
  portalRoutes,
} from "./business.fixture.ts";

const nowhere = "10000000-0000-4000-8000-0000000000ff";

let portal: PortalNode;
let theirs: Owned;
let company: Owned;
let applied: string;
let eve: Visitor;
beforeAll(async () => {
  portal = await openPortalNode();
  theirs = await newBusinessAt(portal, "Theirs Ltd");
  company = await approvedAt(portal, await companyAppliedAt(portal, "Quiet Answers Ltd"));
  const applicant = await newPerson();
  await applicant.apply("Waiting Ltd");
  applied = await appliedBy(portal, applicant);
  eve = await newPerson();
}, 240_000);
afterAll(() => portal?.[Symbol.asyncDispose]());
afterEach(() => {
  vi.restoreAllMocks();
});

async function newPerson(): Promise<Visitor> {
  const person = Visitor.of(portal);
  await person.signUp();
  return person;
}

/** What there is not, and what there is of others. */
const uuids = () => [nowhere, theirs.uuid, company.uuid, applied, theirs.personId];

describe("what is another's is answered as what there is not", () => {
  /** The answer without the codes of its forms. */
  const wordsOf = ({ status, html }: Seen): string =>
    `${status} ${html.replaceAll(/(?:value|data-options)="[^"]*"/g, "")}`;

  const routesOf = async (method: "get" | "post"): Promise<readonly string[]> =>
    (await portalRoutes(portal)).flatMap((route) =>
      route.startsWith(`${method} `) ? [route.slice(method.length + 1)] : [],
    );

  it("by every page that names something", async () => {
    const named = (await routesOf("get")).filter((path) => /^\/(?!assets).*\{named\}/.test(path));
    expect(named.length).toBeGreaterThan(20);
    for (const path of named) {
      const answers = new Set<string>();
      for (const uuid of uuids()) answers.add(wordsOf(await eve.get(path.replace("{named}", uuid))));
      expect([path, [...answers].map((each) => each.slice(0, 3))]).toEqual([path, ["404"]]);
    }
  });

  it("by every form that names something", async () => {
    // These say nothing about anybody else, or judge first what a passkey or a terminal signed.
    const ownOnly =
      /^\/(?:sign-|sessions|passkeys|leave|confirm|mail|asked|apply|recover\/|notices\/mail\/remove|sealing\/(?:passkey|register))/;
    const asked = (await routesOf("post")).filter(
      (path) => !ownOnly.test(path) && !path.endsWith("/evidence"),
    );
    expect(asked.length).toBeGreaterThan(35);
    const expected: Readonly<Record<string, string>> = { "/applications/withdraw": "409", "/recover": "200" };
    for (const path of asked) {
      const person = await newPerson();
      const form_code = (await person.get("/account")).form("/sign-out").fields["form_code"] ?? "";
      const answers = new Set<string>();
      for (const uuid of uuids()) {
        const answer = await person.post(path.replace("{named}", uuid), {
          uuid,
          form_code,
          named: uuid,
          code: `${uuid}.x`,
        });
        answers.add(wordsOf(answer).replaceAll(uuid, ""));
      }
      const status = expected[path] ?? "404";
      expect([path, [...answers].map((each) => each.slice(0, 3))]).toEqual([path, [status]]);
    }
  });
});

describe("the same is done", () => {
  /** The services of the portal, where only these parties have homes, and what they did since. */
  async function counted() {
    const { services } = portal.node;
    const work: string[] = [];
    const did = <T>(what: string, result: T): T => {
      work.push(what);
      return result;
    };
    const hasHome = new Set([nobody, theirs.uuid, theirs.personId, company.uuid, applied, eve.personId]);
    const homes: Homes = {
      settle: async () => did("settle", undefined),
      isKnown: async (party) => did("home", hasHome.has(party)),
      orNobody: async (party) => did("home", hasHome.has(party) ? party : nobody),
    };
    const { actors, register, crypto } = services;
    const typeOf = ({ type }: { readonly type: string }) => type;
    const [ask, party] = [actors.ask.bind(actors), register.party.bind(register)];
    vi.spyOn(actors, "ask").mockImplementation(async (to, command) => {
      if (!hasHome.has(to.id)) throw new Error(`${to.kind}/${to.id} has no home.`);
      return did(`ask ${to.kind} ${typeOf(command)}`, await ask(to, command));
    });
    vi.spyOn(register, "party").mockImplementation((uuid) => did("party", party(uuid)));
    const { subtle } = globalThis.crypto;
    const verify = subtle.verify.bind(subtle);
    vi.spyOn(subtle, "verify").mockImplementation((...given) => did("verify", verify(...given)));
    const counting = { ...crypto, sha256: (bytes: Uint8Array) => did("hash", crypto.sha256(bytes)) };
    const challenges = createChallenges(new Uint8Array(32), { crypto, clock: services.clock });
    const { hostname: rpId } = new URL(portal.origin);
    const authenticators = createAuthenticators({ origin: portal.origin, rpId });
    const deps = { ...services, crypto: counting, homes, challenges, authenticators };
    const people = createPeople(deps);
    const enrolment = createEnrolment({ ...deps, revocations: createRevocations({ ...deps, grants: null }) });
    const whole = { ...deps, people, enrolment };
    const none = async () => [];
    const secretBox = { seal: () => Promise.reject(new Error()), open: async () => null };
    return {
      people,
      members: createMembers(whole),
      owner: createOwner(whole),
      applications: createApplications({ ...whole, list: none, secretBox }),
      recoveries: createRecoveries({ ...whole, list: none }),
      /** What is done, for an answer that is no other for any of them. */
      workFor: async (act: () => Promise<unknown>): Promise<readonly string[]> => {
        work.length = 0;
        const answer = JSON.stringify(await act());
        return [...work, answer];
      },
    };
  }

  const eveAs = (): SignedIn => ({
    person_id: eve.personId,
    name: "Eve",
    session: {
      session: "s",
      credential_id: "c",
      network: null,
      opened_at_ms: 0,
      used_at_ms: 0,
      ends_at_ms: 0,
    },
  });

  it("whether the person, the passkey or the signature at the door is wrong, also where its counter is behind", async () => {
    const { people, workFor } = await counted();
    const [own] = theirs.owner.authenticator.passkeys;
    if (own === undefined) throw new Error("An owner has a passkey.");
    const stranger = new TestAuthenticator(portal.origin);
    const { hostname: rpId } = new URL(portal.origin);
    const knock = (changes: Partial<typeof own>, counter = 0) => {
      const { ticket, challenge } = people.signingIn();
      stranger.create({ challenge, rp: { id: rpId }, user: { id: own.userHandle } });
      const forged = stranger.passkeys.at(-1);
      const passkey = { ...own, privateKey: forged?.privateKey ?? own.privateKey, ...changes };
      const credential = stranger.get({ challenge, rpId, allowCredentials: [] }, { passkey, counter });
      return workFor(() => people.signIn({ ticket, credential, network: null }));
    };
    const nobodyHere = toBase64Url(utf8(nowhere));
    const expected = await knock({});
    expect(expected.slice(0, -1)).toEqual(["home", "ask person passkey.read", "verify"]);
    expect(await knock({ userHandle: nobodyHere })).toEqual(expected);
    expect(await knock({ id: toBase64Url(utf8("unknown")) })).toEqual(expected);
    expect(await knock({ userHandle: "" })).toEqual(expected);
    // The stored counter is five from now on.
    const { ticket, challenge } = people.signingIn();
    const options = { challenge, rpId, allowCredentials: [] };
    const credential = theirs.owner.authenticator.get(options, { passkey: own, counter: 5 });
    expect(await people.signIn({ ticket, credential, network: null })).toMatchObject({ ok: true });
    expect(await knock({}, 3)).toEqual(expected);
    const late = people.signingIn();
    const cloned = theirs.owner.authenticator.get(
      { ...options, challenge: late.challenge },
      { passkey: own, counter: 5 },
    );
    const behind = await people.signIn({ ticket: late.ticket, credential: cloned, network: null });
    expect(behind).toMatchObject({ ok: false, code: "not_verified" });
  });

  it("for a cookie of somebody and of nobody", async () => {
    const { people, workFor } = await counted();
    const secret = "A".repeat(43);
    const expected = await workFor(() => people.who(`${theirs.personId}.${secret}`));
    expect(expected).toEqual(["hash", "home", "ask person session.use", "null"]);
    expect(await workFor(() => people.who(`${nowhere}.${secret}`))).toEqual(expected);
  });

  it("for a link, a business and an application of others and of nobody", async () => {
    const { members, owner, applications, recoveries, workFor } = await counted();
    const secret = "A".repeat(43);
    const asked: Readonly<Record<string, (uuid: string) => Promise<unknown>>> = {
      "party,hash,home,ask business invitation.read,null": (uuid) => members.invited(`${uuid}.${secret}`),
      "party,home,ask business members.list,null": (uuid) => members.people(eveAs(), uuid),
      "party,home,ask business member.read,null": (uuid) => owner.business(eveAs(), uuid),
      "home,ask application application.read,null": (uuid) => applications.waiting(eveAs(), uuid),
    };
    for (const [expected, ask] of Object.entries(asked))
      for (const uuid of uuids()) expect((await workFor(() => ask(uuid))).join()).toBe(expected);
    const announced = await workFor(() => recoveries.announced(eveAs(), nowhere));
    expect(await workFor(() => recoveries.announced(eveAs(), theirs.uuid))).toEqual(announced);
    const may = await workFor(() => owner.may(eveAs(), nowhere, ["owner"]));
    for (const uuid of uuids()) expect(await workFor(() => owner.may(eveAs(), uuid, ["owner"]))).toEqual(may);
  });
});
