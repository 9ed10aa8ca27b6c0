// Every page of the portal in a real browser: axe-core finds nothing, Tab goes through its controls in their order and shows where it is,
// and nothing delays its first paint. The pages follow from the portal's own description and from the forms on them, so a new one is here.

import { gzipSync } from "node:zlib";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { businessRef, ledgerRef } from "../../actors/messages/refs.ts";
import { createDomainProbe } from "../../node/domains/domain-probe.ts";
import { type DomainServers, startDomainServers } from "../../node/domains/domain-servers.fixture.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { domainChallenge } from "../../protocol/keys/certificate.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { findBrowser } from "../../tools/browser.ts";
import { faultsOf } from "../operators/inspector.fixture.ts";
import { priced } from "../publishing/hold-decisions.fixture.ts";
import { openBusiness, publish } from "../publishing/publishing.fixture.ts";
import { batchBody } from "../retrieval/attack.fixture.ts";
import { newVisit } from "./browser.fixture.ts";
import {
  act,
  appliedBy,
  approvedAt,
  companyAppliedAt,
  newBusinessAt,
  type Owned,
  portalRoutes,
  provenKey,
  registerKeyAt,
  showMandate,
  writeRecord,
} from "./business.fixture.ts";

const path = findBrowser();
if (path === null)
  console.warn("NOT TESTED: no Chromium on this machine, so no page of the portal was looked at.");
const inBrowser = it.skipIf(path === null && process.env["CI"] === undefined);
const domain = "harrier.example";
const host = `hooks.${domain}`;

let portal: PortalNode;
let servers: DomainServers;
let browser: Browser;
let shop: Owned;
let company: Owned;
let applicant: Visitor;
/** An owner of the shop who has no passkey that seals. */
let newcomer: Visitor;

beforeAll(async () => {
  if (path === null) return;
  servers = await startDomainServers([domain, host]);
  servers.dns.a.set(host, ["127.0.0.1"]);
  const mail = { SVC_SMTP_URL: "smtp://127.0.0.1:9", SVC_NOTICE_FROM: "notices@svc.example" };
  portal = await openPortalNode({ SVC_DOMAIN_CHECKS: "yes", ...mail }, 0, {
    domainProbe: createDomainProbe(servers.options),
    webhookResolving: servers.options,
  });
  shop = await newShop();
  company = await approvedAt(portal, await companyAppliedAt(portal, "Answers Ltd"));
  await registerKeyAt(portal, company, await provenKey(company, "retrieval"));
  const paid = {
    type: "money.enter",
    entry_id: "first",
    kind: "top_up",
    amount: 12_500_000,
    currency: "EUR",
  } as const;
  await portal.node.services.actors.ask(ledgerRef(company.uuid), { ...paid, ...act });
  applicant = Visitor.of(portal);
  await applicant.signUp();
  await applicant.apply("Waiting Ltd");
  const evidence = `/applications/${await appliedBy(portal, applicant)}`;
  const pdf = { name: "extract.pdf", type: "application/pdf", bytes: utf8("%PDF-1.7\n") };
  await applicant.upload((await applicant.get(evidence)).form(`${evidence}/evidence`), pdf);
  await portal.node.services.parties.setListed({ uuid: company.uuid, listed: true, act });
  newcomer = Visitor.of(portal);
  await newcomer.signUp();
  const member = { type: "member.set", person_id: newcomer.personId, role: "owner", act } as const;
  await portal.node.services.actors.ask(businessRef(shop.uuid), member);
  browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox"] });
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await portal?.[Symbol.asyncDispose]();
  await servers?.[Symbol.asyncDispose]();
});

/** A business that has something on each of its pages. */
async function newShop(): Promise<Owned> {
  const owned = await newBusinessAt(portal, "Harrier Ltd");
  const { owner, uuid } = owned;
  const { services } = portal.node;
  const at = (days: number) => new Date(services.clock.now() + days * 86_400_000).toISOString().slice(0, 16);
  servers.txt(domain, [domainChallenge(uuid, domain)]);
  await registerKeyAt(portal, owned, await provenKey(owned));
  await owner.answer((await showMandate(owned)).form("/mandates/seal"));
  const { brands_owned: _, ...file } = sampleRecords.business_files;
  for (const [type, record] of [
    ["business_files", file],
    ["products", sampleRecords.products],
  ] as const)
    await owner.answer((await writeRecord(owned, type, record)).form("/records/seal"));
  const isConfirmed = async () => {
    const { domains } = await services.actors.ask(businessRef(uuid), { type: "domains.read" });
    return domains[0]?.status === "confirmed";
  };
  await vi.waitUntil(isConfirmed, { timeout: 30_000 });
  const webhook = { url: `https://${host}/notices`, "role.changed": "on" };
  const asked = await owner.send((await owner.get(`/webhooks/${uuid}`)).form("/webhooks/add"), webhook);
  await owner.confirm(asked.form("/confirm"));
  const [own] = owner.authenticator.passkeys;
  const mailForm = (await owner.get(`/notices/${uuid}`)).form("/notices/mail");
  await owner.confirm((await owner.send(mailForm, { address: "ada@harrier.example" })).form("/confirm"));
  await new Visitor(portal.url, owner.authenticator).signIn(own && { passkey: own });
  const invitation = {
    type: "invitation.set",
    id: "i",
    role: "viewer",
    person_id: owned.personId,
    act,
  } as const;
  await services.actors.ask(businessRef(uuid), {
    ...invitation,
    until_ms: services.clock.now() + 86_400_000,
  });
  const campaign = {
    "/campaign_id": "spring",
    "/price": "0.25",
    "/budget": "500",
    "/starts_at": at(-1),
    "/ends_at": at(29),
    "/paused": "false",
  };
  const made = await owner.send(
    (await owner.get(`/businesses/${uuid}/campaigns/new`)).form("/campaigns/make"),
    campaign,
  );
  await owner.answer(made.form("/ads/seal"));
  const ad = {
    "/language": "en",
    "/business_ad_id": "shoes",
    "/campaign_id": "spring",
    "/countries": "GB",
    "/keywords": "running shoes",
    "/headline": "Shoes for the trail",
    "/display_domain": "shoes.example",
    "/destination_url": "https://shoes.example/trail",
  };
  const adForm = (await owner.send((await owner.get(`/campaigns/${uuid}.spring`)).form("/ads/new"))).form(
    "/ads/make",
  );
  await owner.answer((await owner.send(adForm, ad)).form("/ads/seal"));
  const business = await openBusiness(services, uuid, "Harrier Ltd");
  const catalogue = Array.from({ length: 25 }, (_each, index) => priced(`item-${index}`, "10.00"));
  await publish(services, business, (await batchBody(business, catalogue)).body);
  await publish(
    services,
    business,
    (await batchBody(business, [priced("item-3", "99.00")], { seq: 2 })).body,
  );
  return owned;
}

/** A page of the browser of somebody who is signed in. */
async function pageOf(context: BrowserContext, who: Visitor): Promise<Page> {
  await context.addCookies([...who.cookies].map(([name, value]) => ({ name, value, url: portal.url })));
  return context.newPage();
}

let addresses = 0;

/** A page, and the forms that lead to another one, each sent as it is. */
type Steps = readonly [path: string, ...actions: string[]];

async function reach(page: Page, [first, ...actions]: Steps): Promise<void> {
  addresses += 1;
  await page.setExtraHTTPHeaders({ "x-forwarded-for": `203.0.${addresses >> 8}.${addresses & 255}` });
  await page.goto(`${portal.url}${first}`);
  for (const action of actions) {
    const loaded = page.waitForEvent("load");
    await page
      .locator(`form[action="${action}"]`)
      .first()
      .evaluate((form: HTMLFormElement) => {
        form.noValidate = true;
        form.requestSubmit();
      });
    await loaded;
  }
}

/** The actions of the forms on the page: those that somebody sends, and those that a passkey answers. */
function formsOn(
  page: Page,
): Promise<{ readonly plain: readonly string[]; readonly asked: readonly string[] }> {
  return page.evaluate(() => {
    const forms = [...document.forms].map(
      (form) => [form.dataset["ceremony"] === undefined, form.getAttribute("action") ?? ""] as const,
    );
    const of = (isPlain: boolean) => [
      ...new Set(forms.flatMap(([each, action]) => (each === isPlain ? [action] : []))),
    ];
    return { plain: of(true), asked: of(false) };
  });
}

/** Whether a page with faults has the focus on them. */
function isAtFaults(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const faults = document.querySelector("[aria-labelledby=faults]");
    return faults === null || document.activeElement === faults;
  });
}

const controls =
  'a[href], button:not([disabled]), input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
const pressesMax = 60;

/** What Tab comes by does not follow the order of the page, or is not seen. */
async function tabFaults(page: Page): Promise<readonly string[]> {
  const count = await page.evaluate((of) => {
    const shown = [...document.querySelectorAll<HTMLElement>(of)].filter((each) => each.checkVisibility());
    for (const [at, each] of shown.entries()) each.dataset["at"] = String(at);
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
    return shown.length;
  }, controls);
  const faults: string[] = [];
  let last = -1;
  for (let press = 0; press < pressesMax && last < count - 1; press += 1) {
    await page.keyboard.press("Tab");
    const { at, html, isSeen } = await page.evaluate(() => {
      const focused = document.activeElement as HTMLElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(focused);
      return {
        at: Number(focused.dataset["at"] ?? -1),
        html: focused.outerHTML.slice(0, 200),
        isSeen: outlineStyle !== "none" && Number.parseFloat(outlineWidth) > 0,
      };
    });
    // A control for a date has several places to stop at.
    if (at !== last && at !== last + 1) faults.push(`after control ${last} comes ${at}: ${html}`);
    if (!isSeen) faults.push(`not seen to be focused: ${html}`);
    last = at;
    if (faults.length > 2) break;
  }
  const positive = await page.locator('[tabindex]:not([tabindex="0"]):not([tabindex="-1"])').count();
  return positive === 0 ? faults : [...faults, `${positive} controls have a place of their own in the order`];
}

/** What could delay the first paint. */
async function paintFaults(page: Page): Promise<readonly string[]> {
  const { blocking, loaded, paintMs, bytes } = await page.evaluate(() => {
    const scripts = [...document.scripts].filter(
      (each) => each.type !== "module" && !each.async && !each.defer,
    );
    const resources = performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname);
    const [paint] = performance.getEntriesByName("first-contentful-paint");
    return {
      blocking: scripts.length,
      loaded: resources.filter(
        (each) => !/^\/assets\/(?:style|icon|app)\.[0-9a-f]{16}\.(?:css|svg|js)$/.test(each),
      ),
      paintMs: Math.round(paint?.startTime ?? 0),
      bytes: document.documentElement.outerHTML.length,
    };
  });
  painted.push([new URL(page.url()).pathname, paintMs, bytes]);
  return [
    ...(blocking === 0 ? [] : [`${blocking} scripts hold it up`]),
    ...loaded.filter((each) => !each.endsWith("/pushes/state")).map((each) => `${each} is loaded`),
  ];
}

const painted: (readonly [path: string, paintMs: number, characters: number])[] = [];

/** They need what is on no page here, and are looked at elsewhere. */
const elsewhere = [
  // journey-in-browser.full.test.ts has somebody come in, and recovery.test.ts somebody come back.
  "/sign-up/passkey",
  "/passkeys/make",
  "/sealing/passkey",
  "/sealing/register",
  "/apply/passkey",
  "/apply/file",
  "/recover/passkey",
  "/recover/file",
  "/recoveries/stop",
];

inBrowser(
  "every page and whatever its forms lead to has no fault, is gone through by Tab, and is painted from one answer",
  async () => {
    const routes = await portalRoutes(portal);
    const posts = routes.flatMap((route) => (route.startsWith("post ") ? [route.slice(5)] : []));
    const pages = routes.flatMap((route) => {
      const [method, at = ""] = route.split(" ");
      return method === "get" && !/^\/(?:assets|openapi|\.well-known)|\/(?:state|json|csv)$/.test(at)
        ? [at]
        : [];
    });
    expect(pages.length).toBeGreaterThan(30);
    const applied = await appliedBy(portal, applicant);
    const named = (at: string): string => {
      if (at.startsWith("/companies/")) return company.uuid;
      if (at.startsWith("/applications/")) return applied;
      return at.startsWith("/campaigns/") ? `${shop.uuid}.spring` : shop.uuid;
    };
    const { html: pushes } = await shop.owner.get(`/businesses/${shop.uuid}/pushes`);
    const [push = ""] = /bat_[0-9a-f]{24}/.exec(pushes) ?? [];
    const month = new Date(portal.node.services.clock.now()).toISOString().slice(0, 7);
    const inner = (at: string): string => (at.startsWith("/companies/") ? month : push);
    const isAtDoor = (at: string) => /^\/sign-/.test(at);
    const whose = (at: string): Visitor | null => {
      if (isAtDoor(at)) return null;
      if (at.startsWith("/companies/")) return company.owner;
      return at.startsWith("/applications/") ? applicant : shop.owner;
    };
    const found = new Set<string>();
    const [faults, assets]: [string[], string[]] = [[], []];
    for (const who of [null, shop.owner, company.owner, applicant, newcomer]) {
      await using stack = new AsyncDisposableStack();
      const context = await browser.newContext();
      stack.defer(() => context.close());
      const page = await pageOf(context, who ?? new Visitor(portal.url));
      const waiting: Steps[] = pages
        .filter((at) => whose(at) === who)
        .map((at) => [at.replace("{named}", named(at)).replace("{inner}", inner(at))]);
      if (who === applicant) waiting.push(["/"]);
      if (who === newcomer) waiting.push([`/businesses/${shop.uuid}`]);
      for (const steps of waiting) {
        await reach(page, steps);
        const shown = `${steps.join(" then ")} (${new URL(page.url()).pathname})`;
        if (steps.length === 1 && new URL(page.url()).pathname !== steps[0])
          faults.push(`${shown}: it led elsewhere`);
        const forms = await formsOn(page);
        if (!(await isAtFaults(page))) faults.push(`${shown}: its faults do not have the focus`);
        faults.push(
          ...[...(await faultsOf(page)), ...(await tabFaults(page)), ...(await paintFaults(page))].map(
            (each) => `${shown}: ${each}`,
          ),
        );
        for (const action of forms.asked) found.add(action.replace(applied, "{named}"));
        for (const action of forms.plain) {
          const known = action.replace(applied, "{named}");
          if (found.has(known)) continue;
          found.add(known);
          if (action !== "/sign-out" && !action.endsWith("/evidence")) waiting.push([...steps, action]);
        }
      }
    }
    console.log(
      painted.map(([at, ms, characters]) => `${at}: ${ms} ms, ${characters} characters`).join("\n"),
    );
    expect(faults).toEqual([]);
    expect(posts.filter((each) => !found.has(each)).sort()).toEqual(elsewhere.toSorted());
    // All pages share one script and one style, which a browser asks for once.
    const { html } = await new Visitor(portal.url).get("/sign-in");
    for (const [, asset = "", , ending = ""] of html.matchAll(
      /"(\/assets\/(\w+)\.[0-9a-f]{16}\.(css|js))"/g,
    )) {
      const answer = await fetch(`${portal.url}${asset}`);
      expect(answer.headers.get("cache-control")).toContain("immutable");
      const bytes = gzipSync(await answer.arrayBuffer()).length;
      expect(bytes, asset).toBeLessThan(ending === "css" ? 8_000 : 100_000);
      assets.push(`${asset}: ${bytes} bytes`);
    }
    expect(assets).toHaveLength(2);
    console.log(assets.join("\n"));
  },
  600_000,
);

/** Goes on by Tab until the control has the focus. */
async function tabTo(control: Locator): Promise<void> {
  await control.waitFor();
  for (let press = 0; press < pressesMax; press += 1) {
    if (await control.evaluate((each) => each === document.activeElement)) return;
    await control.page().keyboard.press("Tab");
  }
  throw new Error(`Tab does not come to ${control}.`);
}

inBrowser(
  "a keyboard alone suffices, from the first page to an application",
  async () => {
    await using visit = await newVisit(browser);
    const { page, complaints } = visit;
    const { keyboard } = page;
    const at = (selector: string) =>
      page.locator(selector).evaluate((each) => each === document.activeElement);
    await page.goto(portal.url);
    await tabTo(page.getByRole("link", { name: "I have no passkey here yet", exact: true }));
    await keyboard.press("Enter");
    await tabTo(page.getByLabel("Your name", { exact: true }));
    await keyboard.type("Ada Lovelace");
    await tabTo(page.getByRole("button", { name: "Continue", exact: true }));
    await keyboard.press("Space");
    await tabTo(page.getByRole("button", { name: "Make my passkey", exact: true }));
    await keyboard.press("Enter");
    await page.getByText("Welcome, Ada Lovelace").waitFor();
    await keyboard.press("Tab");
    expect([
      await at(".skip"),
      await page.locator(".skip").evaluate((each) => each.getBoundingClientRect().left),
    ]).toEqual([true, 0]);
    await keyboard.press("Enter");
    expect(await at("#content")).toBe(true);
    await keyboard.press("Tab");
    expect(await at('a[href="/apply"]')).toBe(true);
    await keyboard.press("Enter");
    await tabTo(page.getByLabel("Legal name", { exact: true }));
    await keyboard.type("Crumb & Crust Ltd");
    await keyboard.press("Tab");
    await keyboard.type("gb");
    await keyboard.press("Enter");
    await tabTo(page.getByRole("button", { name: "Make the sealing passkey", exact: true }));
    await keyboard.press("Space");
    await tabTo(page.getByRole("button", { name: "Apply, with the sealing passkey", exact: true }));
    await keyboard.press("Enter");
    await page.getByText("waits for the operators").waitFor();
    // What is behind was answered: going back sends nothing again, and the page after it is as it was.
    await page.goBack().catch(() => null);
    await expect.poll(() => page.url()).toMatch(/^chrome-error:/);
    await page.goto(portal.url);
    expect(await page.getByText("waits for the operators").count()).toBe(1);
    expect(complaints.filter((each) => !each.includes("ERR_CACHE_MISS"))).toEqual([]);
  },
  120_000,
);

inBrowser(
  "a keyboard alone suffices for a form with faults, which has the focus on them first",
  async () => {
    const owned = await newBusinessAt(portal, "Faults Ltd");
    await using stack = new AsyncDisposableStack();
    const context = await browser.newContext();
    stack.defer(() => context.close());
    const page = await pageOf(context, owned.owner);
    const { keyboard } = page;
    await page.goto(`${portal.url}/businesses/${owned.uuid}/new/updates`);
    const write = async (name: string, text: string) => {
      await tabTo(page.getByLabel(name, { exact: true }));
      await keyboard.type(text);
    };
    for (const [name, text] of [
      ["Language", "en"],
      ["Business product id", "hours"],
      ["Countries", "GB, UK"],
      ["Headline", "Open on Sundays"],
      ["Body", "From nine to noon."],
    ] as const)
      await write(name, text);
    await tabTo(page.getByRole("button", { name: "Show its words", exact: true }));
    await keyboard.press("Enter");
    await page.getByRole("alert", { name: /things? (?:is|are) not right/ }).waitFor();
    expect(await isAtFaults(page)).toBe(true);
    await keyboard.press("Tab");
    const link = page.getByRole("alert").getByRole("link").first();
    expect(await link.evaluate((each) => each === document.activeElement)).toBe(true);
    await tabTo(page.getByRole("link", { name: /^\/countries\/1/ }));
    await keyboard.press("Enter");
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute("name")))
      .toBe("/countries");
    await keyboard.press("ControlOrMeta+A");
    await keyboard.type("GB");
    await keyboard.press("Enter");
    await page.getByText("/countries/1").waitFor({ state: "detached" });
  },
  120_000,
);
