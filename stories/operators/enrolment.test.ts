// How an AI company and a business come in without a portal: an operator certifies them with the program and registers the keys
// that they made and proved.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { businessRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import { productSearch } from "../../api/surfaces.fixture.ts";
import type { Command } from "../../cli/command.ts";
import { keygen, proveKey } from "../../cli/keygen.ts";
import { opsCertify, opsParty, opsRegisterKey, opsReissue } from "../../cli/ops/party.ts";
import { createSvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import type { partyState } from "../../ops/shapes.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import type { Of } from "../../protocol/shape.ts";
import { product } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  batchBody,
  giveMandate,
  newBusiness,
  openAttackNode,
  outcomesOf,
  publishOver,
  successorOf,
} from "../retrieval/attack.fixture.ts";
import { runRevoke } from "./revocations.fixture.ts";

let node: AttackNode;
let folder: string;
beforeAll(async () => {
  node = await openAttackNode();
  folder = await mkdtemp(join(tmpdir(), "svc-enrolment-"));
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true, force: true });
});

const why = ["--by", "Ada at the desk", "--reason", "Extract HRB 1234 of 2026-11-29, by its registrar"];
const words = ["--kind", "ai_company", "--name", "Ask Ltd", "--country", "GB", ...why];

async function ops(command: Command, words: readonly string[], reply: string | null = "yes") {
  return runRevoke(words, { home: node.running.config.home, reply, command });
}

async function ask(path: string, body: object): Promise<Record<string, unknown>> {
  const { ops_url } = node.running.urls;
  const token = (await readFile(join(node.running.config.home, "ops-token"), "utf8")).trim();
  const answer = await contractFetch(`${ops_url}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Basic ${Buffer.from(`Ada:${token}`).toString("base64")}`,
    },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Record<string, unknown>;
}

interface Certified {
  readonly uuid: string;
  readonly certId: string;
}

async function certified(words: readonly string[]): Promise<Certified> {
  const run = await ops(opsCertify, [...words, "--json"]);
  expect(run.code, run.said).toBe(0);
  const { party } = JSON.parse(run.printed);
  await node.running.services.register.refresh();
  return { uuid: party.uuid, certId: party.certificate.cert_id };
}

/** What an envelope says. */
const openedIn = ({ payload }: { readonly payload: string }): object =>
  JSON.parse(Buffer.from(payload, "base64").toString());

let count = 0;

/** A new key with its proof, both in files. */
async function proven(whose: string, { uuid, certId }: Certified) {
  count += 1;
  const [key, proof] = [join(folder, `key-${count}.json`), join(folder, `proof-${count}.json`)];
  expect(await local(keygen, ["--out", key])).toMatchObject({ code: 0 });
  const { printed } = await local(proveKey, [key, whose, uuid, "--certificate", certId]);
  await writeFile(proof, printed);
  const signing = await parseSigningKey(JSON.parse(await readFile(key, "utf8")));
  if (!signing.ok) throw new Error(signing.detail);
  return { proof, key: signing.value, body: JSON.parse(printed) };
}

async function local(command: Command, words: readonly string[]) {
  return runRevoke(words, { home: null, reply: null, command });
}

describe("an AI company", () => {
  it("is certified, proves its key and asks; doing it again changes nothing", async () => {
    const party = await certified(words);
    const again = await ops(opsCertify, [party.uuid, ...words]);
    expect(again).toMatchObject({ code: 0, said: expect.stringContaining("It was so before.") });
    expect(again.printed).toContain(party.certId);
    const { proof, key } = await proven("--company", party);
    const registered = await ops(opsRegisterKey, [proof, ...why]);
    expect(registered.printed, registered.said).toBe(`Done: ${key.keyId}, for retrieval.\n`);
    expect((await ops(opsRegisterKey, [proof, ...why])).printed).toContain("It was registered before");
    const client = createSvcClient({
      fetch: contractFetch,
      baseUrl: node.running.urls.base_url,
      businessUrl: null,
      verifyUrl: null,
      key,
      grant: null,
    });
    await node.running.services.register.refresh();
    const { body } = await client.search({ collection: "products", ...productSearch });
    expect(body).toHaveProperty("receipt");
    const shown = await ops(opsParty, [party.uuid]);
    expect(shown.printed).toContain(`Ask Ltd of GB (${party.uuid}), an AI company.`);
    expect(shown.printed).toContain(key.keyId);
    const { acts } = (await (
      await contractFetch(`${node.running.urls.ops_url}/ops/acts/${party.uuid}`)
    ).json()) as { acts: readonly { act: string; reason: string }[] };
    expect(acts.map(({ act }) => act)).toEqual(["party.open", "certificate.issue", "key.register"]);
    expect(new Set(acts.map(({ reason }) => reason))).toEqual(new Set([why[3]]));
  });

  it("is not certified under another name, and not by a reader who says no", async () => {
    const party = await certified(words);
    const other = await ops(opsCertify, [party.uuid, ...words.with(3, "Other Ltd")]);
    expect([other.code, other.said]).toEqual([3, expect.stringContaining("was opened as Ask Ltd of GB")]);
    expect((await ops(opsCertify, words, "no")).code).toBe(1);
  });
});

describe("a business", () => {
  it("is certified and registers its key, which reads and publishes nothing without a mandate", async () => {
    const party = await certified(words.with(1, "business"));
    const { proof, key } = await proven("--business", party);
    expect((await ops(opsRegisterKey, [proof, ...why])).printed).toBe(
      `Done: ${key.keyId}, for integration.\n`,
    );
    const { parties } = node.running.services;
    const facts = await parties.facts(party.uuid, key.keyId);
    expect([facts.key, facts.mandates]).toEqual(["live", []]);
    await node.running.services.register.refresh();
    const custody = await contractFetch(
      `${node.running.urls.base_url}/v1/certificates/${party.uuid}/key-custody`,
    );
    expect(await custody.json()).toMatchObject({ statements: [{ key_id: key.keyId, custody: "self" }] });
  });

  it("has the statement made that a node did not come to make, when its key is registered again", async () => {
    const party = await certified(words.with(1, "business"));
    const { proof, key } = await proven("--business", party);
    const { parties, register } = node.running.services;
    const stateCustody = vi.spyOn(parties, "stateCustody").mockRejectedValueOnce(new Error("The node died."));
    expect((await ops(opsRegisterKey, [proof, ...why])).code).not.toBe(0);
    stateCustody.mockRestore();
    const again = await ops(opsRegisterKey, [proof, ...why]);
    expect(again.printed, again.said).toContain("It was registered before");
    const statements = () => register.custody(party.uuid);
    await expect
      .poll(statements, { timeout: 10_000 })
      .toMatchObject([{ key_id: key.keyId, custody: "self" }]);
  });
});

describe("a certificate that is issued once more", () => {
  it("follows the one before, under which what was sealed stands, and is what is named from then on", async () => {
    const business = await newBusiness(node);
    await node.running.services.register.refresh();
    const publish = async (seq: number, certId: string) => {
      const { body } = await batchBody(business, [product(`reissued-${seq}`)], { seq, certId });
      return publishOver(node, business, body);
    };
    const [sealed] = outcomesOf(await publish(1, business.certId));
    const { uuid, legal_name } = business.party;
    expect((await ops(opsReissue, [uuid, ...why], "no")).code).toBe(1);
    const run = await ops(opsReissue, [uuid, ...why, "--json"]);
    expect(run.code, run.said).toBe(0);
    const { changed, party } = JSON.parse(run.printed);
    const { cert_id } = party.certificate;
    expect([changed, party.legal_name, party.certificate.status]).toEqual([true, legal_name, "active"]);
    expect(cert_id).not.toBe(business.certId);
    const { base_url } = node.running.urls;
    const published = async () => {
      await node.running.services.register.refresh();
      return (await contractFetch(`${base_url}/v1/certificates/${uuid}`)).json();
    };
    // The register follows the party's actor.
    await expect.poll(published).toMatchObject({ cert_id });
    const certificate = await published();
    expect(certificate).toMatchObject({ cert_id, status: "active", history: [{ cert_id: business.certId }] });
    expect(openedIn(certificate.certificate)).toEqual({
      ...openedIn(certificate.history[0].certificate),
      issued_at: party.certificate.issued_at,
      previous: business.certId,
    });
    const origin = hashOf(product("reissued-1"));
    const verified = `${node.running.urls.verify_url}/v1/verify/${sealed?.record_id}?origin=${origin}`;
    expect(await (await contractFetch(verified)).json()).toMatchObject({
      valid: true,
      status: "current",
    });
    expect((await publish(2, business.certId)).json).toMatchObject({ code: "seal_invalid" });
    expect(outcomesOf(await publish(2, cert_id))).toMatchObject([{ outcome: "accepted" }]);
    // An operator who got no answer asks again, for the certificate that they saw.
    const again = { cert_id: business.certId, reason: "A test." };
    expect(await ask(`/ops/parties/${uuid}/reissue`, again)).toMatchObject({
      changed: false,
      party: { certificate: { cert_id } },
    });
    const { acts } = await node.running.services.actors.ask(businessRef(uuid), {
      type: "acts.read",
      after: 0,
      limit: 9,
    });
    expect(acts.filter(({ act }) => act === "certificate.issue")).toMatchObject([{ reason: why[3] }]);
  });

  it("is refused where another one is in force, none is active, or there is no such party", async () => {
    const party = await certified(words);
    const reissue = (uuid: string, cert_id: string) =>
      ask(`/ops/parties/${uuid}/reissue`, { cert_id, reason: "A test." });
    const other = `sha256:${"0".repeat(64)}`;
    expect(await reissue(party.uuid, other)).toMatchObject({
      code: "state_changed",
      detail: expect.stringContaining("Another certificate is in force"),
    });
    await ask(`/ops/certificates/${party.uuid}/withdraw`, {
      cert_id: party.certId,
      status_reason: "error",
      reason: "A test.",
    });
    expect(await reissue(party.uuid, party.certId)).toMatchObject({
      detail: expect.stringContaining("no active certificate"),
    });
    const nobody = "90000000-0000-4000-8000-000000000007";
    expect(await reissue(nobody, party.certId)).toMatchObject({ code: "not_found" });
  });

  it("is one, where two operators ask at once", async () => {
    const party = await certified(words);
    const body = { cert_id: party.certId, reason: "A test." };
    const answers = await Promise.all([1, 2, 3].map(() => ask(`/ops/parties/${party.uuid}/reissue`, body)));
    for (const { changed, code } of answers)
      expect([true, false, "state_changed"]).toContain(changed ?? code);
    // The party's actor knows one that follows the first, and the register does soon.
    expect(await ask(`/ops/parties/${party.uuid}/reissue`, body)).toMatchObject({ changed: false });
    const { register } = node.running.services;
    const issued = async () => {
      await register.refresh();
      return register.certificates(party.uuid);
    };
    await expect.poll(issued).toHaveLength(2);
  });
});

describe("a party with several keys and mandates", () => {
  it("is listed, and shown with all of them, in a terminal and on its page", async () => {
    const business = await newBusiness(node);
    await giveMandate(node, await successorOf(node, business), { beside: true });
    await node.running.services.register.refresh();
    const { uuid, legal_name } = business.party;
    const run = await ops(opsParty, [uuid, "--json"]);
    const { keys, mandates } = JSON.parse(run.printed) as Of<typeof partyState>;
    const newestFirst = mandates.map((each) => each.accepted_at);
    for (const list of [keys.map((key) => key.valid_from), newestFirst.toReversed()]) {
      expect(list.length).toBeGreaterThan(1);
      expect(list).toEqual(list.toSorted());
    }
    expect((await ops(opsParty, [uuid])).printed).toContain("MANDATE");
    const page = async (path: string) => (await fetch(`${node.running.urls.ops_url}${path}`)).text();
    expect(await page(`/ui/parties?q=${encodeURIComponent(legal_name)}`)).toContain(`/ui/parties/${uuid}`);
    expect(await page("/ui/parties")).toContain("/ui/parties/");
    const shown = await page(`/ui/parties/${uuid}`);
    for (const { key_id } of keys) expect(shown).toContain(key_id);
    for (const { mandate_id } of mandates) expect(shown).toContain(mandate_id);
  });
});

describe("a party with very many mandates", () => {
  it("is shown with the newest hundred, and how many older ones there are", async () => {
    const { uuid } = (await newBusiness(node)).party;
    const { register } = node.running.services;
    await register.refresh();
    const [mandate = rubbish({})] = await register.mandates(uuid);
    const given = Array.from({ length: 102 }, (_, at) => ({
      ...mandate,
      mandate_id: `m-${at}`,
      accepted_at: new Date(Date.UTC(2026, 0, 1) + at).toISOString(),
    }));
    const many = vi.spyOn(register, "mandates").mockResolvedValue(given);
    const [json, text, page] = await Promise.all([
      ops(opsParty, [uuid, "--json"]),
      ops(opsParty, [uuid]),
      fetch(`${node.running.urls.ops_url}/ui/parties/${uuid}`).then((answer) => answer.text()),
    ]).finally(() => many.mockRestore());
    const { mandates, older_mandates } = JSON.parse(json.printed) as Of<typeof partyState>;
    expect([mandates.length, older_mandates]).toEqual([100, 2]);
    expect([mandates[0]?.mandate_id, mandates.at(-1)?.mandate_id]).toEqual(["m-101", "m-2"]);
    expect(text.printed).toContain("2 older mandates are not shown.");
    expect(page).toContain("2 older ones are not shown.");
  });
});

describe("an act on a certificate that is delivered once more after its opposite", () => {
  it("changes nothing, and neither does the opposite", async () => {
    const party = await certified(words);
    const path = `/ops/parties/${party.uuid}`;
    const inForce = async () => JSON.parse((await ops(opsParty, [party.uuid, "--json"])).printed);
    const why = { reason: "A test." };
    const name = { kind: "ai_company", legal_name: "Ask Ltd", country: "GB" };
    const late: (readonly [string, object])[] = [];
    const act = async (to: string, body: object) => {
      late.push([to, { ...body, ...why }]);
      expect(await ask(to, { ...body, ...why })).toMatchObject({ changed: true });
      // Delivered twice, it changes nothing more.
      expect(await ask(to, { ...body, ...why })).toMatchObject({ changed: false });
      return (await inForce()).certificate.cert_id as string;
    };
    let cert_id = party.certId;
    for (const end of ["close", "withdraw", "revoke"]) {
      cert_id = await act(`/ops/certificates/${party.uuid}/${end}`, { cert_id, status_reason: "error" });
      cert_id = await act(`${path}/certify`, { ...name, cert_id });
    }
    cert_id = await act(`${path}/reissue`, { cert_id });
    cert_id = await act(`/ops/certificates/${party.uuid}/revoke`, { cert_id, status_reason: "error" });
    const ended = await inForce();
    for (const [to, body] of late.filter(([to]) => to.endsWith("certify")))
      expect(await ask(to, body)).toMatchObject({ status: 409, code: "state_changed" });
    // One that has ended alike is told so only to who ended it.
    for (const [to, body] of late.filter(([to]) => to.endsWith("revoke")).slice(0, 1))
      expect(await ask(to, body)).toMatchObject({ status: 409, code: "state_changed" });
    expect(await inForce()).toEqual(ended);
    cert_id = await act(`${path}/certify`, { ...name, cert_id });
    const active = await inForce();
    for (const [to, body] of late.filter(([to]) => !to.endsWith("certify")))
      expect(await ask(to, body)).toMatchObject({ status: 409, code: "state_changed" });
    expect(await inForce()).toEqual(active);
    const other = { ...name, cert_id: `sha256:${"0".repeat(64)}`, ...why };
    const nobody = "90000000-0000-4000-8000-00000000000a";
    expect(await ask(`/ops/parties/${nobody}/certify`, other)).toMatchObject({ code: "not_found" });
    expect((await ops(opsParty, [nobody])).code).toBe(3);
  });
});

describe("two operators who certify a party at once", () => {
  it("put one certificate in force, and are told if it is not theirs", async () => {
    const uuid = "90000000-0000-4000-8000-000000000008";
    const body = {
      kind: "ai_company",
      legal_name: "Ask Ltd",
      country: "GB",
      cert_id: null,
      reason: "A test.",
    };
    const answers = await Promise.all([1, 2, 3].map(() => ask(`/ops/parties/${uuid}/certify`, body)));
    // Within one millisecond they make the same one.
    const made = answers.filter((answer) => answer["changed"] === true);
    expect(
      new Set(
        made.map(
          ({ party }) => (party as Certified & { certificate: { cert_id: string } }).certificate.cert_id,
        ),
      ).size,
    ).toBe(1);
    for (const answer of answers.filter(({ changed }) => changed !== true))
      expect([answer["changed"] ?? answer["code"]]).toEqual([
        expect.toSatisfy((said) => said === false || said === "state_changed"),
      ]);
    const { acts } = (await (
      await contractFetch(`${node.running.urls.ops_url}/ops/acts/${uuid}`)
    ).json()) as { acts: readonly { act: string }[] };
    expect(acts.filter(({ act }) => act === "certificate.issue")).toHaveLength(1);
  });
});

describe("a key is refused", () => {
  it("whose proof is for another party, role or certificate, or was not made by it", async () => {
    const party = await certified(words);
    const other = await certified(words.with(1, "business"));
    const refusal = async (body: object) => {
      const answer = await ask(`/ops/parties/${party.uuid}/keys`, { ...body, reason: "A test." });
      return answer["reason"] ?? answer["detail"];
    };
    const membersOf = ({ body: { public_key, proof } }: Awaited<ReturnType<typeof proven>>) => ({
      public_key,
      proof,
    });
    const fine = membersOf(await proven("--company", party));
    expect(await refusal(membersOf(await proven("--company", other)))).toBe("key_mismatch");
    expect(await refusal(membersOf(await proven("--business", party)))).toBe("key_mismatch");
    const old = { ...party, certId: other.certId };
    expect(await refusal(membersOf(await proven("--company", old)))).toBe("key_mismatch");
    const thief = membersOf(await proven("--company", party));
    expect(await refusal({ ...thief, public_key: fine.public_key })).toBe("key_mismatch");
    const { signatures } = thief.proof;
    const forged = { ...fine.proof, signatures: [{ ...fine.proof.signatures[0], sig: signatures[0].sig }] };
    expect(await refusal({ ...fine, proof: forged })).toBe("signature_invalid");
    expect(await refusal({ ...fine, public_key: { kty: "OKP", crv: "Ed25519", x: "AAAA" } })).toContain("x");
    const alone = { ...signatures[0], authenticatorData: "AAAA" };
    expect(await refusal({ ...fine, proof: { ...fine.proof, signatures: [alone] } })).toContain("both");
    expect(await refusal({ ...fine, valid_until: "2020-01-01T00:00:00.000Z" })).toContain(
      "not in the future",
    );
  });

  it("of a party that is unknown or has no active certificate, or that belongs to another", async () => {
    const [party, other] = [await certified(words), await certified(words)];
    const { body } = await proven("--company", party);
    const members = { public_key: body.public_key, proof: body.proof, reason: "A test." };
    const nobody = "90000000-0000-4000-8000-000000000009";
    expect(await ask(`/ops/parties/${nobody}/keys`, members)).toMatchObject({ code: "not_found" });
    await ask(`/ops/certificates/${party.uuid}/withdraw`, {
      cert_id: party.certId,
      status_reason: "error",
      reason: "A test.",
    });
    expect(await ask(`/ops/parties/${party.uuid}/keys`, members)).toMatchObject({
      detail: expect.stringContaining("certify it first"),
    });
    const reinstated = await certified([party.uuid, ...words]);
    expect(reinstated.certId).not.toBe(party.certId);
    // The proof was for the certificate before.
    expect(await ask(`/ops/parties/${party.uuid}/keys`, members)).toMatchObject({ reason: "key_mismatch" });
    const taken = await proven("--company", reinstated);
    expect((await ops(opsRegisterKey, [taken.proof, ...why])).code).toBe(0);
    const file = join(folder, `key-${count}.json`);
    const { printed } = await local(proveKey, [file, "--company", other.uuid, "--certificate", other.certId]);
    const stolen = JSON.parse(printed);
    expect(
      await ask(`/ops/parties/${other.uuid}/keys`, {
        public_key: stolen.public_key,
        proof: stolen.proof,
        reason: "A test.",
      }),
    ).toMatchObject({ reason: "key_taken" });
  });
});
