// In which language the portal speaks: the one among those of the catalogue (web/texts/) that the browser of a request asks for.

import { AsyncLocalStorage } from "node:async_hooks";
import type { FastifyRequest } from "fastify";
import Negotiator from "negotiator";
import type { Route } from "../api/route.ts";
import { english, languages, type Texts, textsOf } from "../web/texts/catalogue.ts";

const current = new AsyncLocalStorage<Texts>();

/** The texts for the request that is being answered; English outside of one. */
export function wording(): Texts {
  return current.getStore() ?? english;
}

/** A route whose pages are in the language that its request asks for. */
export function inItsLanguage(route: Route): Route {
  const { handle } = route;
  return {
    ...route,
    handle: (request, reply) => inLanguageOf(request, () => handle(request, reply)),
  };
}

/** Does what takes its words from {@link wording} in the language that the request asks for. */
export function inLanguageOf<T>({ headers }: Pick<FastifyRequest, "headers">, work: () => T): T {
  return current.run(textsFor(headers["accept-language"] ?? ""), work);
}

/** The texts in the language that an Accept-Language prefers (RFC 9110 §12.5.4); English where it takes none of them. */
export function textsFor(acceptLanguage: string): Texts {
  const negotiator = new Negotiator({ headers: { "accept-language": acceptLanguage } });
  return textsOf(negotiator.language([...languages.keys()]) ?? english.language);
}
