// The addresses of the documentation, the same on every surface: `/docs` and what is below it, `/llms.txt`, and `/` where it is free.

import type { FastifyReply, FastifyRequest } from "fastify";
import { anyText } from "../../protocol/shape.ts";
import { type Outcome, refusedWith } from "../../service/answer.ts";
import { applicationHeaders } from "../../web/document.ts";
import { answerHeld } from "../public-read.ts";
import { isRefused, parseQuery, prefersHtml, prefersMarkdown, send } from "../request-parts.ts";
import type { Route } from "../route.ts";
import { type Docs, docsBase } from "./docs.ts";

export const docsPaths = ["/", "/llms.txt", docsBase, `${docsBase}/*`] as const;

/** One unsigned GET for each of {@link docsPaths}. */
export function docsRoutes(docs: Docs): readonly Route[] {
  return docsPaths.map((path) => ({
    method: "GET",
    path,
    tags: [],
    doc: { summary: "Pages for people", answers: { 200: { description: "A page", body: anyText } } },
    handle: async (request: FastifyRequest, reply: FastifyReply) =>
      send(reply, await answerDocs(docs, request)),
  }));
}

/** The page, text or file that was asked for; what is not there is a page for those who prefer one, and else a problem. */
export async function answerDocs(docs: Docs, request: FastifyRequest): Promise<Outcome> {
  const url = request.raw.url ?? "/";
  const query = parseQuery(url, ["q"]);
  if (isRefused(query)) return query;
  const { accept = "" } = request.headers;
  const path = (url.split("?", 1)[0] ?? "").replace(docsBase, "").replace(/^\//, "");
  const found = await docs.find(path, prefersMarkdown(accept) ? "markdown" : "html");
  if (found !== null) return withPolicy(answerHeld(request, found));
  if (!prefersHtml(accept)) return refusedWith("not_found", "There is no such page.", {}, { vary: "accept" });
  const body = await docs.notFound();
  return withPolicy({
    kind: "answer",
    status: 404,
    headers: { "content-type": "text/html; charset=utf-8" },
    body,
  });
}

/** Every page is an application's document: it has a form and a script of its own. */
function withPolicy(outcome: Outcome): Outcome {
  return { ...outcome, headers: { ...applicationHeaders, vary: "accept", ...outcome.headers } };
}
