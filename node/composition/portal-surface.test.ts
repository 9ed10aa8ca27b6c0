// Where the portal is: at an origin that the anchors name, over HTTPS with a cookie that only this host can set.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestAuthenticator } from "../../portal/authenticator.fixture.ts";
import { openPortalNode, type PortalNode, Visitor } from "../../portal/portal.fixture.ts";
import { freePorts, surfacePorts } from "../../tools/free-ports.ts";
import { loadConfig } from "../configuration/config.ts";
import { withOwnPortal } from "../configuration/key-config.ts";
import { portalUrlOf } from "./portal-surface.ts";

const origins = ["https://portal.example", "https://other.example"];
const passkeys = { rp_ids: ["portal.example", "other.example"], origins };
const local = "http://localhost:7305";

describe("the portal", () => {
  it("is where the setting says, or where the anchors do", () => {
    expect(portalUrlOf(passkeys, { given: undefined, local })).toBe("https://portal.example");
    expect(portalUrlOf(passkeys, { given: "https://other.example", local })).toBe("https://other.example");
    const own = { ...passkeys, origins: [...origins, local] };
    expect(portalUrlOf(own, { given: undefined, local })).toBe(local);
  });

  it("is at no address where what is sealed would verify for nobody (PS1)", () => {
    expect(() => portalUrlOf(passkeys, { given: "https://elsewhere.example", local })).toThrow(
      /SVC_PORTAL_URL/,
    );
  });

  it("of a sandbox without settings is its own as well, and of any other the one that is set", () => {
    const config = loadConfig({}, {});
    expect(withOwnPortal(config, local).passkeys?.origins).toEqual(["https://portal.svc.example", local]);
    const set = { SVC_PASSKEY_ORIGINS: "http://localhost:8080", SVC_PASSKEY_RP_IDS: "localhost" };
    const other = loadConfig({}, set);
    expect(withOwnPortal(other, local)).toBe(other);
  });
});

describe("a portal behind HTTPS", () => {
  const origin = "https://portal.svc.example";
  let portal: PortalNode;
  let url: string;
  beforeAll(async () => {
    const portBase = await freePorts(surfacePorts);
    portal = await openPortalNode({ SVC_PORTAL_URL: origin }, portBase);
    url = `http://localhost:${portBase + 5}`;
  }, 120_000);
  afterAll(() => portal?.[Symbol.asyncDispose]());

  it("keeps the session in a cookie that this host alone sets, over HTTPS", async () => {
    const ada = new Visitor(url, new TestAuthenticator(origin), origin);
    expect((await ada.signUp()).html).toContain("Welcome");
    expect([...ada.cookies.keys()]).toEqual(["__Host-svc_portal"]);
    expect(ada.setCookies).toEqual([expect.stringMatching(/; Path=\/; .*HttpOnly; SameSite=Lax; Secure$/)]);
    // Under the name of a portal that is not behind HTTPS it is none.
    const [[, value = ""] = []] = ada.cookies;
    ada.cookies.clear();
    ada.cookies.set("svc_portal", value);
    expect((await ada.get("/")).html).toContain("Sign in with a passkey");
  });

  it("takes forms and passkeys of its own origin, not of the address on which it listens", async () => {
    const local = new Visitor(url, new TestAuthenticator(origin));
    expect((await local.post("/sign-up", { name: "Eve" })).status).toBe(403);
    const elsewhere = new Visitor(url, new TestAuthenticator(url), origin);
    expect((await elsewhere.signUp()).status).toBe(401);
  });
});
