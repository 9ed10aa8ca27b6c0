// Markdown as a tree of nodes: its texts are escaped like all others, and HTML in it is shown as it is written.

import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { type ComponentChild, h } from "preact";

/** A heading, and the text up to the next one; what precedes the first heading belongs to the title. */
export interface Section {
  /** The anchor, as forges make it of the heading; empty for the title. */
  readonly id: string;
  readonly depth: number;
  readonly title: string;
  readonly text: string;
}

export interface Markdown {
  /** Of the first heading; empty where there is none. */
  readonly title: string;
  /** Without the title. */
  readonly content: readonly ComponentChild[];
  /** The title first. */
  readonly sections: readonly Section[];
}

export interface MarkdownOptions {
  /** Where a link leads. */
  readonly address: (href: string) => string;
  /** The name of a table for those who cannot see it. */
  readonly tableName: (count: number) => string;
}

/** What a page is made of. */
export function readMarkdown(markdown: string, options: MarkdownOptions): Markdown {
  const sections: { id: string; depth: number; title: string; text: string }[] = [];
  const page: Page = { ...options, ids: new Map(), tables: 0, nextId: "" };
  const content: ComponentChild[] = [];
  for (const token of lexer(markdown)) {
    const text = plainText(token);
    if (token.type === "heading") {
      const { depth } = token as Tokens.Heading;
      page.nextId = sections.length === 0 ? "" : idOf(text, page.ids);
      sections.push({ id: page.nextId, depth, title: text, text: "" });
      if (sections.length === 1) continue;
    } else {
      const last = sections.at(-1);
      if (last !== undefined) last.text += `${text} `;
    }
    content.push(nodeOf(token, page));
  }
  return { title: sections[0]?.title ?? "", content, sections };
}

interface Page extends MarkdownOptions {
  /** How often each anchor was made. */
  readonly ids: Map<string, number>;
  tables: number;
  /** The anchor of the heading that comes next. */
  nextId: string;
}

function idOf(title: string, ids: Map<string, number>): string {
  const id = title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
  const count = ids.get(id) ?? 0;
  ids.set(id, count + 1);
  return count === 0 ? id : `${id}-${count}`;
}

function nodesOf(tokens: readonly Token[] | undefined, page: Page): readonly ComponentChild[] {
  return (tokens ?? []).map((each) => nodeOf(each, page));
}

/** Where a token has no element of its own, its text is shown. */
function nodeOf(token: Token, page: Page): ComponentChild {
  const each = token as MarkedToken;
  switch (each.type) {
    case "space":
    case "def":
      return null;
    case "hr":
    case "br":
      return h(each.type, null);
    case "heading":
      return h(`h${each.depth}`, { id: page.nextId }, nodesOf(each.tokens, page));
    case "paragraph":
      return h("p", null, nodesOf(each.tokens, page));
    case "strong":
    case "em":
    case "del":
      return h(each.type, null, nodesOf(each.tokens, page));
    case "blockquote":
      return h("blockquote", null, nodesOf(each.tokens, page));
    case "codespan":
      return h("code", null, each.text);
    case "code":
      return h("pre", null, h("code", null, each.text));
    case "link":
      return h("a", { href: page.address(each.href) }, nodesOf(each.tokens, page));
    case "image":
      return h("img", { src: page.address(each.href), alt: each.text, loading: "lazy" });
    case "list":
      return h(
        each.ordered ? "ol" : "ul",
        null,
        each.items.map((item) => h("li", null, nodesOf(item.tokens, page))),
      );
    case "table":
      return tableOf(each, page);
    case "html":
      return each.text.startsWith("<!--") ? null : each.text;
    case "text":
      return each.tokens === undefined ? each.text : nodesOf(each.tokens, page);
    default:
      return "text" in each ? each.text : null;
  }
}

/** It can be focused, so that it can be scrolled without a mouse. */
function tableOf({ header, rows }: Tokens.Table, page: Page): ComponentChild {
  page.tables += 1;
  const row = (cells: readonly Tokens.TableCell[]) =>
    h(
      "tr",
      null,
      cells.map(({ tokens, text, header: isHeader }) =>
        isHeader && text !== ""
          ? h("th", { scope: "col" }, nodesOf(tokens, page))
          : h("td", null, nodesOf(tokens, page)),
      ),
    );
  const head = header.every(({ text }) => text === "") ? null : h("thead", null, row(header));
  const table = h("table", null, head, h("tbody", null, rows.map(row)));
  return h(
    "div",
    { class: "scroll", tabIndex: 0, role: "region", "aria-label": page.tableName(page.tables) },
    table,
  );
}

function plainText(token: Token): string {
  const each = token as MarkedToken;
  if (each.type === "table") return [each.header, ...each.rows].flat().map(textOf).join(" ");
  if (each.type === "list") return each.items.map(textOf).join(" ");
  return each.type === "br" ? " " : textOf(token as Worded);
}

interface Worded {
  readonly tokens?: Token[];
  readonly text?: string;
}

function textOf(each: Worded): string {
  if (each.tokens !== undefined && each.tokens.length > 0) return each.tokens.map(plainText).join("");
  return each.text?.startsWith("<!--") ? "" : (each.text ?? "");
}
