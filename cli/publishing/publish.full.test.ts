// `svc publish` beside a running sandbox: records of every type and an AI policy from every kind of file, sealed by the owner of a sample
// business or of one's own, or elsewhere.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import type { Sandbox } from "../../node/sandbox/sandbox-file.ts";
import { ownersPasskey, sealAlone } from "../../node/sandbox/sealer.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { policyRecord } from "../../verifier/business.fixture.ts";
import { type RunningSandbox, startSandbox } from "../running-sandbox.fixture.ts";

let sandbox: RunningSandbox;
const at = (name: string): string => join(sandbox.home, name);

beforeAll(async () => {
  sandbox = await startSandbox();
  const names = ["--name", "My Bakery", "--country", "GB"];
  const granted = await sandbox.svc("grant", ...names, "--out", at("business.json"));
  expect(granted.code, granted.output).toBe(0);
});
afterAll(() => sandbox[Symbol.asyncDispose]());

async function publish(name: string, contents: unknown, ...options: readonly string[]) {
  await writeFile(at(name), typeof contents === "string" ? contents : JSON.stringify(contents));
  return sandbox.svc("publish", at(name), "--config", at("business.json"), ...options);
}

describe("svc publish", () => {
  it("puts an AI policy of a business of one's own into force, and the next one after it", async () => {
    const first = await publish("policy.json", policyRecord());
    expect(first.output).toMatch(/^aip_[a-z2-7]+ {2}version 1 is in force$/m);
    const record = policyRecord();
    const next = await publish("policy-2.json", {
      ...record,
      use: { ...record.use, prices_indicative: true },
    });
    expect(next.output).toMatch(/version 2 is in force/);
  });

  it.each(collectionNames)("publishes a record of JSON: %s", async (type) => {
    const answer = await publish(`${type}.json`, sampleRecords[type]);
    expect([answer.code, answer.output]).toEqual([
      0,
      expect.stringMatching(/accepted, version 1 {2}sku-1$/m),
    ]);
    const again = await publish(`${type}.json`, sampleRecords[type]);
    expect(again.output).toContain("updated, version 2");
  });

  it("publishes a table, a calendar and JSON-LD, which a search finds", async () => {
    const columns = "business_product_id,language,countries,headline,body,update_type";
    const rows = [
      "u1,en,GB,Open late,We close at nine.,opening_hours",
      "u2,en,GB,New loaf,Rye.,announcement",
    ];
    const table = await publish("updates.csv", [columns, ...rows].join("\n"), "--type", "updates");
    expect(table.output.match(/accepted, version 1 {2}u[12]$/gm)).toHaveLength(2);
    const lines = [
      "UID:e1",
      "SUMMARY:Sourdough day",
      "DESCRIPTION:Bring a jar.",
      "DTSTART;TZID=Europe/London:20261205T100000",
    ];
    const ics = ["BEGIN:VCALENDAR", "BEGIN:VEVENT", ...lines, "END:VEVENT", "END:VCALENDAR"].join("\r\n");
    const said = [
      "countries=GB",
      "language=en",
      "event_type=workshop",
      "attendance_mode=in_person",
      "ticketed=no",
    ];
    const calendar = await publish("day.ics", ics, ...said.flatMap((each) => ["--set", each]));
    expect(calendar.output).toMatch(/^evt_[a-z2-7]+ {2}accepted, version 1 {2}e1$/m);
    const found = await sandbox.svc("search", "events", "sourdough", "--country", "GB");
    expect(found.output).toContain("Sourdough day");
    const org = {
      "@type": "Bakery",
      "@id": "us",
      name: "My Bakery",
      description: "We bake.",
      url: "https://bakery.example/",
    };
    await writeFile(
      at("rest.json"),
      JSON.stringify({ represent_us: sampleRecords.business_files["represent_us"] ?? null }),
    );
    const file = await publish(
      "org.json",
      org,
      "--with",
      at("rest.json"),
      "--set",
      "countries=GB",
      "--set",
      "language=en",
      "--set",
      "ships_internationally=no",
    );
    expect(file.output).toMatch(/^bf_[a-z2-7]+ {2}accepted/m);
  });

  it("sends nothing of a file with a fault, and says which", async () => {
    const faulty = [
      sampleRecords.jobs,
      { ...sampleRecords.jobs, business_product_id: "b", closing_date: "soon" },
    ];
    const answer = await publish("faulty.json", faulty);
    expect([answer.code, answer.output]).toEqual([
      2,
      expect.stringContaining("value_invalid at /closing_date"),
    ]);
    expect(answer.output).toContain("2 documents of the type jobs, 1 with faults; nothing was sent.");
    const row = await publish("faulty.csv", "business_product_id,countries\nx,UK\n", "--type", "updates");
    expect([row.code, row.output]).toEqual([2, expect.stringContaining("Is it GB?")]);
    const checked = await publish("fine.json", sampleRecords.jobs, "--check");
    expect([checked.code, checked.output]).toEqual([
      0,
      "1 document of the type jobs, without faults. Nothing was sent.\n",
    ]);
  });

  it("says what the service rejects of a record, with its faults", async () => {
    const named = {
      ...sampleRecords.updates,
      business_product_id: "n",
      body: "Lindqvist & Rowe Diamonds is a fraud.",
    };
    const answer = await publish("named.json", named);
    expect([answer.code, answer.output]).toEqual([1, expect.stringContaining("scope_violation at /body")]);
  });

  it("delivers what was sealed elsewhere, exactly as it is, and judges it before", async () => {
    const { businesses, anchors, business_url } = JSON.parse(
      await readFile(at("sandbox.json"), "utf8"),
    ) as Sandbox;
    const [sample] = businesses;
    if (sample === undefined) throw new Error("There is no sample.");
    const [key] = sample.integration_keys;
    const signing = await parseSigningKey(key?.private_jwk);
    if (!signing.ok) throw new Error(signing.detail);
    const client = createSvcClient({
      fetch,
      businessUrl: business_url,
      baseUrl: null,
      verifyUrl: null,
      key: signing.value,
      grant: key?.grant ?? null,
    });
    const text = JSON.stringify(sampleRecords.updates, null, 2);
    const sealed = async (type: CollectionName) =>
      JSON.stringify(
        await sealAlone(ownersPasskey(sample.owner.private_jwk, anchors.passkeys), {
          record: new TextEncoder().encode(text),
          type,
          context: (await client.sealContext()).body,
          atMs: Date.now(),
        }),
      );
    await writeFile(at("elsewhere.json"), text);
    const deliver = async (seal: string, ...options: readonly string[]) => {
      await writeFile(at("seal.json"), seal);
      return sandbox.svc("publish", at("elsewhere.json"), "--seal", at("seal.json"), ...options);
    };
    const answer = await deliver(await sealed("updates"));
    expect([answer.code, answer.output]).toEqual([0, expect.stringContaining("accepted, version 1")]);
    expect((await deliver(await sealed("jobs"))).output).toContain("It is a seal for jobs");
    expect((await deliver("{}")).output).toContain("cannot be used");
    expect((await deliver(await sealed("updates"), "--set", "a=b")).output).toContain(
      "nothing is added to FILE",
    );
    await writeFile(at("elsewhere.json"), `${text}\n`);
    expect((await sandbox.svc("publish", at("elsewhere.json"), "--seal", at("seal.json"))).output).toContain(
      "It is a seal over other bytes",
    );
  });
});
