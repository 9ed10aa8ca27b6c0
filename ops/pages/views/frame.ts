// The frame around every page of operators: where one can go, and the search.

import { type ComponentChild, type ComponentChildren, h } from "preact";
import type { Texts } from "../../../web/texts/catalogue.ts";

export const uiBase = "/ui/";
export const nodesPath = `${uiBase}nodes`;
export const applicationsPath = `${uiBase}applications`;
export const partiesPath = `${uiBase}parties`;
export const accountsPath = `${uiBase}accounts`;
export const refusalsPath = `${uiBase}refusals`;
export const takedownsPath = `${uiBase}takedowns`;
export const listsPath = `${uiBase}lists`;
export const rendersPath = `${uiBase}renders`;
export const auditPath = `${uiBase}audit`;

/** Where one can go from every page. */
type Entry =
  | "overview"
  | "nodes"
  | "actors"
  | "applications"
  | "parties"
  | "accounts"
  | "refusals"
  | "takedowns"
  | "lists"
  | "renders"
  | "audit";

export interface FrameOptions {
  readonly texts: Texts["operations"];
  readonly current: Entry | null;
  readonly query?: string;
  /** Who signed in, null for nobody, whether by a session of this browser, and where signing in leads back to. */
  readonly visitor: { readonly name: string | null; readonly hasSession: boolean; readonly at: string };
}

export function frame(
  { texts, current, query = "", visitor: { name, hasSession, at } }: FrameOptions,
  content: ComponentChildren,
): ComponentChild {
  const entry = (name: Entry, href: string) =>
    h(
      "a",
      { href, ...(current === name ? { "aria-current": "page" as const } : {}) },
      texts.navigation[name],
    );
  return h(
    "div",
    null,
    h("a", { class: "skip", href: "#content" }, texts.skip),
    h(
      "header",
      { class: "bar" },
      h("a", { class: "brand", href: uiBase }, texts.brand),
      h(
        "nav",
        { "aria-label": texts.navigation.label },
        entry("overview", uiBase),
        entry("nodes", nodesPath),
        entry("actors", `${uiBase}actors`),
        entry("applications", applicationsPath),
        entry("parties", partiesPath),
        entry("accounts", accountsPath),
        entry("refusals", refusalsPath),
        entry("takedowns", takedownsPath),
        entry("lists", listsPath),
        entry("renders", rendersPath),
        entry("audit", auditPath),
      ),
      h(
        "form",
        { class: "row", role: "search", action: `${uiBase}search`, method: "get" },
        h("input", {
          type: "search",
          name: "q",
          value: query,
          required: true,
          maxLength: 200,
          size: 28,
          "aria-label": texts.search.label,
          placeholder: texts.search.placeholder,
        }),
        h("button", { type: "submit" }, texts.search.button),
      ),
      name === null || hasSession
        ? h("a", { href: signInPath(at) }, name === null ? texts.login.title : texts.login.as(name))
        : h("span", { class: "quiet small" }, texts.login.as(name)),
    ),
    h("main", { id: "content", tabIndex: -1 }, content),
  );
}

export function actorPath(kind: string, id: string): string {
  return `${uiBase}actors/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
}

/** The page of what a search finds. */
export function searchPath(text: string): string {
  return `${uiBase}search?q=${encodeURIComponent(text)}`;
}

/** The page of a business or an AI company. */
export function partyPath(uuid: string): string {
  return `${partiesPath}/${encodeURIComponent(uuid)}`;
}

/** The page of a key, whether it is of a business, a company or a person. */
export function keyPath(keyId: string): string {
  return `${uiBase}keys/${encodeURIComponent(keyId)}`;
}

/** The page for signing in, which leads to `next` afterwards. */
export function signInPath(next: string): string {
  return `${uiBase}sign-in?next=${encodeURIComponent(next)}`;
}

// The addresses of the documented API that the pages read, the same that scripts use.

export interface ActorName {
  readonly kind: string;
  readonly id: string;
}

export function apiOf(
  { kind, id }: ActorName,
  rest = "",
  query: Readonly<Record<string, string | number>> = {},
): string {
  const asked = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const name = `${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
  return `/ops/actors/${name}${rest}${asked.size === 0 ? "" : `?${asked}`}`;
}

/** Server-sent events: the counts of actors. */
export const liveCounts = "/ops/live/counts";

/** Server-sent events: one actor. */
export function liveActor({ kind, id }: ActorName): string {
  return `/ops/live/actors/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
}

/** What the API refused: its status, and its problem document's detail as the message. */
export class AnswerError extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** A read of the API. Throws {@link AnswerError}. */
export async function readJson<T>(address: string, init: RequestInit = {}): Promise<T> {
  const answer = await fetch(address, { headers: { accept: "application/json" }, ...init });
  const body = (await answer.json()) as T & { readonly detail?: string };
  if (!answer.ok) throw new AnswerError(answer.status, body.detail ?? `${answer.status}`);
  return body;
}
