// The frame around every page of operators: where one can go, and the search.

import { type ComponentChild, type ComponentChildren, h } from "preact";
import type { Texts } from "../../../web/texts/catalogue.ts";

export const uiBase = "/ui/";
export const nodesPath = `${uiBase}nodes`;
export const refusalsPath = `${uiBase}refusals`;
export const takedownsPath = `${uiBase}takedowns`;
export const rendersPath = `${uiBase}renders`;
export const auditPath = `${uiBase}audit`;

/** Where one can go from every page. */
type Entry = "overview" | "nodes" | "actors" | "refusals" | "takedowns" | "renders" | "audit";

export interface FrameOptions {
  readonly texts: Texts["operations"];
  readonly current: Entry | null;
  readonly query?: string;
}

export function frame(
  { texts, current, query = "" }: FrameOptions,
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
        entry("refusals", refusalsPath),
        entry("takedowns", takedownsPath),
        entry("renders", rendersPath),
        entry("audit", auditPath),
      ),
      h(
        "form",
        { class: "row", role: "search", action: `${uiBase}search`, method: "get" },
        h("input", {
          ...{ type: "search", name: "q", value: query, required: true, maxLength: 200, size: 28 },
          ...{ "aria-label": texts.search.label, placeholder: texts.search.placeholder },
        }),
        h("button", { type: "submit" }, texts.search.button),
      ),
    ),
    h("main", { id: "content", tabIndex: -1 }, content),
  );
}

export function actorPath(kind: string, id: string): string {
  return `${uiBase}actors/${encodeURIComponent(kind)}/${encodeURIComponent(id)}`;
}

/** The page of a push, by the id of its actor. */
export function pushPath(id: string): string {
  return `${uiBase}pushes/${encodeURIComponent(id)}`;
}

/** The page of what a search finds. */
export function searchPath(text: string): string {
  return `${uiBase}search?q=${encodeURIComponent(text)}`;
}

/** The page of a key, whether it is of a business, a company or a person. */
export function keyPath(keyId: string): string {
  return `${uiBase}keys/${encodeURIComponent(keyId)}`;
}

/** The page for signing in, which leads to `next` afterwards. */
export function signInPath(next: string): string {
  return `${uiBase}sign-in?next=${encodeURIComponent(next)}`;
}
