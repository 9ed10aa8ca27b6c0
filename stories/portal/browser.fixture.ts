// Somebody in a real browser, with a virtual authenticator. For tests.

import type { Browser, BrowserContext, Page } from "playwright-core";

export interface Visit extends AsyncDisposable {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly complaints: string[];
}

/** A browser of somebody, with an authenticator that knows who they are. */
export async function newVisit(browser: Browser): Promise<Visit> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const devTools = await context.newCDPSession(page);
  await devTools.send("WebAuthn.enable");
  await devTools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  return { context, page, complaints, [Symbol.asyncDispose]: () => context.close() };
}
