// The page that verifies, in a real browser: what is genuine, what was changed, and that nothing of it leaves the browser.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { evidenceOf } from "../../client/evidence.ts";
import { createSvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import { findBrowser } from "../../tools/browser.ts";
import { sealedWords } from "../../verifier/sealed-words.ts";
import {
  faultsOf,
  openPage,
  openWatchedNode,
  type View,
  type WatchedNode,
} from "../operators/inspector.fixture.ts";

const isThere = findBrowser() !== null;
if (!isThere)
  console.warn("NOT TESTED: no Chromium on this machine, so nothing was verified on the page for it.");
const isSkipped = !isThere && process.env["CI"] === undefined;

interface Sample {
  readonly evidence: string;
  readonly body: string;
  readonly receipt: string;
  readonly retrievalId: string;
  readonly recordId: string;
}

let watched: WatchedNode;
let sample: Sample;

beforeAll(async () => {
  if (isSkipped) return;
  watched = await openWatchedNode();
  sample = await readSample();
}, 240_000);
afterAll(() => watched?.[Symbol.asyncDispose]());

async function readSample(): Promise<Sample> {
  const { node } = watched;
  const seeded = await node.seeded;
  const key = seeded?.sandbox.ai_companies[0]?.keys[0];
  const signingKey = await parseSigningKey(key?.private_jwk);
  if (!seeded || key === undefined || !signingKey.ok) throw new Error("The sandbox has an AI company.");
  const { base_url: baseUrl, business_url: businessUrl, verify_url: verifyUrl } = node.urls;
  const client = createSvcClient({
    baseUrl,
    businessUrl,
    verifyUrl,
    key: signingKey.value,
    grant: key.grant,
    fetch,
  });
  const recordId = seeded.exampleRecordId ?? "";
  const fetched = await client.fetchRecord(recordId);
  const evidence = await evidenceOf(client, fetched, { environment: "sandbox", keyId: key.key_id });
  const { receipt } = JSON.parse(fetched.text) as { readonly receipt: { readonly payload: string } };
  const { retrieval_id: retrievalId } = JSON.parse(atob(receipt.payload)) as {
    readonly retrieval_id: string;
  };
  return { evidence, body: fetched.text, receipt: JSON.stringify(receipt), retrievalId, recordId };
}

/** The same with another digit in what is signed. */
function changed(receipt: string): string {
  const envelope = JSON.parse(receipt) as { readonly payload: string };
  const payload = atob(envelope.payload).replace(
    /(?<="request_hash":"sha256:)./,
    (digit) => `${(Number.parseInt(digit, 16) + 1) % 10}`,
  );
  return JSON.stringify({ ...envelope, payload: btoa(payload) });
}

const desktop: View = { width: 1280, scheme: "light" };
const open = (view: View = desktop) =>
  openPage(watched.browser, `${watched.node.urls.verify_url}/verify`, view);

describe("the page that verifies", () => {
  it.skipIf(isSkipped)(
    "judges a receipt, from the keyboard, and says why a changed one is refused",
    async () => {
      await using opened = await open();
      const { page } = opened;
      const verify = async (text: string): Promise<string> => {
        await page.getByLabel("Or its text").fill(text);
        await page.keyboard.press("Tab");
        await page.keyboard.press("Enter");
        await page.locator("#result:focus:not([aria-busy]) .verdict").waitFor();
        return page.locator("#result").innerText();
      };
      const genuine = await verify(sample.receipt);
      expect(genuine).toMatch(/^Verified\n/);
      expect(genuine).toContain(sample.retrievalId);
      expect(genuine).toContain(sample.recordId);
      expect(await faultsOf(page)).toEqual([]);
      const other = await verify(changed(sample.receipt));
      expect(other).toMatch(/^Not verified: signature_invalid\nreceipt: /);
      expect(other).not.toContain("The receipt\n");
      expect(await verify("")).toMatch(/^Nothing was verified/);
      expect(await verify("{}")).toMatch(/^Not verified: payload_malformed/);
      expect(opened.complaints).toEqual([]);
    },
    240_000,
  );

  it.skipIf(isSkipped)(
    "judges an evidence file and a bare answer, and sends nothing of them anywhere",
    async () => {
      await using opened = await open();
      const { page } = opened;
      const sent: string[] = [];
      page.on("request", (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
      const verify = async (text: string): Promise<string> => {
        const buffer = Buffer.from(text);
        await page
          .getByLabel("A file")
          .setInputFiles({ name: "a.json", mimeType: "application/json", buffer });
        await page.getByRole("button", { name: "Verify" }).click();
        await page.locator("#result:focus:not([aria-busy]) .verdict").waitFor();
        return page.locator("#result").innerText();
      };
      const genuine = await verify(sample.evidence);
      expect(genuine).toMatch(/^Verified/);
      expect(genuine).toContain(sample.recordId);
      expect(await verify(sample.evidence.replace('"language":"en"', '"language":"de"'))).toMatch(
        /^Not verified: /,
      );
      expect(await verify(sample.body)).toMatch(/^Verified/);
      const { business_uuid: uuid } = JSON.parse(sample.body) as { readonly business_uuid: string };
      const about = `/v1/certificates/${uuid}`;
      expect(new Set(sent.filter((each) => !each.startsWith("GET /verify/assets/")))).toEqual(
        new Set(["/.well-known/keys", about, `${about}/keys`].map((each) => `GET ${each}`)),
      );
    },
    240_000,
  );

  it.skipIf(isSkipped)(
    "says a mandate in the words that were shown before it was sealed",
    async () => {
      const { services } = watched.node;
      const { business_uuid: uuid } = JSON.parse(sample.body) as { readonly business_uuid: string };
      const [mandate] = await services.register.mandates(uuid);
      const { payloadType, payload } = JSON.parse(mandate?.envelope ?? "{}") as Envelope;
      const sealed = { payload: Uint8Array.fromBase64(payload), document: null };
      const words = sealedWords(services.crypto, payloadType, sealed);
      await using opened = await open();
      const { page } = opened;
      await page.getByLabel("Or its text").fill(mandate?.envelope ?? "");
      await page.getByRole("button", { name: "Verify" }).click();
      expect({ ok: true, value: (await page.locator("#words").innerText()).split("\n") }).toEqual(words);
      expect(await faultsOf(page)).toEqual([]);
    },
    240_000,
  );

  it.skipIf(isSkipped).each<View>([
    { width: 1280, scheme: "dark" },
    { width: 390, scheme: "light" },
    { width: 800, scheme: "light", isOnPaper: true },
  ])(
    "can be read by everybody: $width wide, $scheme",
    async (view) => {
      await using opened = await open(view);
      await opened.page.getByLabel("Or its text").fill(sample.body);
      // On paper there is no button.
      await opened.page.locator("#verify").dispatchEvent("click");
      await opened.page.locator("#result:focus:not([aria-busy]) .verdict").waitFor();
      expect(await faultsOf(opened.page)).toEqual([]);
      expect(opened.complaints).toEqual([]);
    },
    240_000,
  );
});
