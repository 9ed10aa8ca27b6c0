// GET /verify: the verifier as a page. What is given to it is judged in the browser, by the same code as `svc verify`.
//   VB1. Nothing that is given to the page leaves the browser. It asks this host for the key set and, by the id of the business that a file
//        names, for what the service publishes about that business.
//   VB2. The anchors are in the page, so it is believed as far as this host is: it says so, and what does not need that.

import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress } from "node:zlib";
import type { FastifyRequest } from "fastify";
import { h } from "preact";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import { anyText } from "../../protocol/shape.ts";
import { refusedWith } from "../../service/answer.ts";
import { makeDocument } from "../../service/verification/published-reads.ts";
import { type Asset, type Assets, assetAt, createAssets } from "../../web/assets.ts";
import { applicationHeaders, applicationPage } from "../../web/document.ts";
import { code, heading, link, paragraph, verdict } from "../../web/parts.ts";
import { english } from "../../web/texts/catalogue.ts";
import { answerHeld, parameter, publicRead, type Read } from "../public-read.ts";
import type { Route } from "../route.ts";
import { docsBase } from "./docs.ts";

export interface VerifierPageDeps {
  readonly anchors: Anchors;
  /** Whether the page says that it is a sandbox's. */
  readonly isSandbox: boolean;
  readonly failed: (error: unknown) => void;
}

const base = "/verify/assets/";
const { verifier: texts, sandbox, language } = english;
const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

/** The page and what it loads; nothing is looked up for it, so it waits for no turn. */
export function verifierPageRoutes(deps: VerifierPageDeps): readonly Route[] {
  const { failed } = deps;
  const assets = createAssets({ entry: new URL("./browser/verify.ts", import.meta.url), base, failed });
  const shown = once(async () =>
    makeDocument(
      pageOf(deps, await assets()),
      { mediaType: "text/html; charset=utf-8", maxAgeSeconds: 300 },
      sha256,
    ),
  );
  const packed = once(async () => {
    const { script } = await assets();
    return script === null ? null : await promisify(brotliCompress)(script.body);
  });
  return [
    page("/verify", async (request) => {
      const answer = answerHeld(request, await shown());
      return { ...answer, headers: { ...applicationHeaders, ...answer.headers } };
    }),
    page(`${base}:named`, async (request) => {
      const made = await assets();
      const asset = assetAt(made, `${base}${parameter(request, "named")}`);
      if (asset === null) return refusedWith("not_found", "There is no such asset.");
      const small = asset === made.script && takesBrotli(request) ? await packed() : null;
      return {
        kind: "answer",
        status: 200,
        headers: headersOf(asset, small !== null),
        body: small ?? asset.body,
      };
    }),
  ];
}

function page(path: string, answer: Read<never>): Route {
  const answers = { 200: { description: "A page, or what it loads", body: anyText } };
  return { ...publicRead(path, { summary: "Pages for people", answers }, [], answer), isPage: true };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

function takesBrotli({ headers }: FastifyRequest): boolean {
  return /(?:^|,)\s*br\s*(?:,|$)/.test(String(headers["accept-encoding"] ?? ""));
}

function headersOf({ mediaType }: Asset, isPacked: boolean): Readonly<Record<string, string>> {
  return {
    "content-type": mediaType,
    "cache-control": "public, max-age=31536000, immutable",
    vary: "accept-encoding",
    ...(isPacked ? { "content-encoding": "br" } : {}),
  };
}

/** It has no form, so that nothing can be submitted (VB1). */
function pageOf({ anchors, isSandbox }: VerifierPageDeps, assets: Assets): string {
  const { title, words, trust, form } = texts;
  const content = h(
    "main",
    null,
    isSandbox ? verdict(...sandbox) : null,
    h("h1", null, title),
    paragraph(words),
    h("noscript", null, verdict("warn", ...texts.noScript)),
    assets.script === null ? verdict("warn", ...texts.noScript) : null,
    h(
      "section",
      { class: "card", "aria-labelledby": "given" },
      h("h2", { id: "given" }, form.heading),
      h(
        "p",
        null,
        h("label", null, form.file, h("input", { type: "file", id: "file", accept: ".json,.txt" })),
      ),
      h(
        "p",
        null,
        h(
          "label",
          null,
          form.text,
          h("textarea", { id: "text", rows: 8, spellcheck: false, autocomplete: "off" }),
        ),
      ),
      h("p", null, h("button", { type: "button", id: "verify" }, form.button)),
    ),
    h("section", {
      id: "result",
      tabIndex: -1,
      role: "status",
      "data-anchors": JSON.stringify(anchors),
      "data-texts": JSON.stringify(texts.result),
    }),
    heading(trust.heading),
    paragraph(trust.words),
    paragraph(trust.leaves),
    paragraph(trust.roots),
    h(
      "ul",
      null,
      anchors.roots.map(({ key_id, alg }) => h("li", null, code(key_id), ` ${alg}`)),
    ),
    paragraph(link(`${docsBase}/verifier`, trust.more)),
  );
  return applicationPage({ title, language, content }, assets);
}
