// The frame around every page of the portal: where one can go, who one is, and the way out.

import { type ComponentChild, type ComponentChildren, h } from "preact";
import { verdict } from "../../web/parts.ts";
import { wording } from "../language.ts";

interface Framed {
  /** Who is signed in; null for nobody. */
  readonly name: string | null;
  readonly form_code: string | null;
  readonly isSandbox: boolean;
}

const texts = () => wording().portal;

export const accountPath = "/account";

export const frame = {
  around: ({ name, form_code, isSandbox }: Framed, content: ComponentChildren): ComponentChild =>
    h(
      "div",
      null,
      h("a", { class: "skip", href: "#content" }, texts().skip),
      h(
        "header",
        { class: "bar" },
        h("a", { class: "brand", href: "/" }, texts().brand),
        name === null ? null : signedIn(name, form_code ?? ""),
      ),
      h("main", { id: "content", tabIndex: -1 }, isSandbox ? verdict(...wording().sandbox) : null, content),
    ),
  problem: (title: string, words: string): ComponentChild =>
    h(
      "section",
      { class: "card narrow" },
      h("h1", null, title),
      h("p", { role: "alert" }, words),
      h("p", null, h("a", { href: "/" }, texts().goOn)),
    ),
};

function signedIn(name: string, formCode: string): ComponentChildren {
  return [
    h(
      "nav",
      { "aria-label": texts().navigation.label },
      h("a", { href: "/" }, texts().navigation.home),
      h("a", { href: accountPath }, texts().navigation.account),
    ),
    plainForm({ action: "/sign-out", form_code: formCode, button: texts().signOut(name) }),
  ];
}

interface PlainForm {
  readonly action: string;
  readonly form_code: string;
  readonly button: string;
  readonly fields?: Readonly<Record<string, string>>;
  /** What tells a button apart from others with the same words, for those who cannot see where it is. */
  readonly label?: string;
}

/** A form that is a button. */
export function plainForm({ action, form_code, button, fields = {}, label }: PlainForm): ComponentChild {
  return h(
    "form",
    { method: "post", action },
    hiddenFields({ ...fields, form_code }),
    h("button", { type: "submit", ...(label === undefined ? {} : { "aria-label": label }) }, button),
  );
}

export function hiddenFields(fields: Readonly<Record<string, string>>): ComponentChildren {
  return Object.entries(fields).map(([name, value]) => h("input", { type: "hidden", name, value }));
}

/** A form with one line of text. */
export function nameForm(given: {
  readonly action: string;
  readonly form_code: string | null;
  readonly label: string;
  readonly hint: string;
  readonly button: string;
  readonly autocomplete: string;
  readonly fields?: Readonly<Record<string, string>>;
}): ComponentChild {
  const { action, form_code, fields = {}, label, hint, button, autocomplete } = given;
  return h(
    "form",
    { method: "post", action },
    hiddenFields(form_code === null ? fields : { ...fields, form_code }),
    h("label", null, label, h("input", { name: "name", required: true, maxLength: 100, autocomplete })),
    h("p", { class: "quiet small" }, hint),
    h("p", null, h("button", { type: "submit" }, button)),
  );
}
