// Signing in and out: the operators' token is sent once, and the browser then has a session that no script can read.

import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import { type Language, textsOf } from "../../../web/texts/catalogue.ts";
import { readJson } from "./frame.ts";

export interface SignInProps {
  readonly language: Language;
  /** Where to go afterwards: a path of these pages. */
  readonly next: string;
  readonly hasSession: boolean;
}

interface Typed {
  readonly currentTarget: { readonly value: string };
}

export function SignIn({ language, next, hasSession }: SignInProps): ComponentChild {
  const { login } = textsOf(language).operations;
  const [given, setGiven] = useState({ token: "", by: "" });
  const [fault, setFault] = useState<string | null>(null);
  const onSubmit = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    const { token, by } = given;
    const body = JSON.stringify({ token, by: by.trim() });
    send({ method: "POST", headers: { "content-type": "application/json" }, body });
  };
  const send = (init: RequestInit): void => {
    readJson("/ops/session", init).then(
      () => location.assign(next),
      (error: Error) => setFault(error.message),
    );
  };
  return h(
    "form",
    { class: "card narrow", onSubmit },
    h("h1", null, login.title),
    h("p", { class: "quiet" }, login.words),
    h(
      "label",
      null,
      login.token,
      h("input", {
        type: "password",
        name: "token",
        required: true,
        autocomplete: "current-password",
        value: given.token,
        onInput: ({ currentTarget }: Typed) => setGiven({ ...given, token: currentTarget.value }),
      }),
    ),
    h(
      "label",
      null,
      login.by,
      h("input", {
        name: "by",
        required: true,
        autocomplete: "name",
        maxLength: 200,
        value: given.by,
        onInput: ({ currentTarget }: Typed) => setGiven({ ...given, by: currentTarget.value }),
      }),
    ),
    h("p", null, h("button", { type: "submit" }, login.button)),
    hasSession
      ? h("p", null, h("button", { type: "button", onClick: () => send({ method: "DELETE" }) }, login.out))
      : null,
    h("div", { role: "alert" }, fault === null ? null : h("p", { class: "badge bad" }, fault)),
  );
}
