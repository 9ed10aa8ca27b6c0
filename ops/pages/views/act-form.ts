// A form that acts: what to do is chosen, reasoned, and confirmed. What happens then is decided by the node.
//   AF1. What is sent is what was confirmed, to its expected state. The page is live: meanwhile a node may have gone, so that another one
//        is the first of the list, and an actor may be in another state, so that other acts are offered.
//   AF2. One press is one answer: the second click of a double click, or a key that is held down, neither confirms nor sends again.

import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import type { Account } from "../../../protocol/wire/allowance.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import { AnswerError, readJson, signInPath } from "./frame.ts";

type Values = Readonly<Record<string, string>>;

/** What an act needs besides the reason; who acts is who signed in. */
export interface ActField {
  readonly name: string;
  readonly label: string;
  /** The values to choose from, each with its words; null for a text. */
  readonly options: readonly (readonly [value: string, words: string])[] | null;
  /** The text is that of a file. */
  readonly isFile?: boolean;
  /** A text that may be left empty. */
  readonly isOptional?: boolean;
  /** Of a text: 200 if it is left out. What may be very long has several lines. */
  readonly maxLength?: number;
}

export interface ActRequest {
  /** An address of the documented API. */
  readonly address: string;
  /** The members of its body besides the reason. */
  readonly members: object;
  /** Where it is read before the question what it is done to, whose `change` is then a member as well: what the page does not show. */
  readonly look?: string;
  /** What it is done to, for the question whether it is meant. */
  readonly subject: string;
  /** What follows from it and cannot be taken back, for the same question. */
  readonly consequences?: string;
}

export interface ActChoice {
  readonly key: string;
  readonly words: string;
  readonly fields: readonly ActField[];
  /** Why what was given makes no request; null where it does. */
  readonly fault?: (values: Values) => string | null;
  readonly request: (values: Values) => ActRequest;
}

export interface ActFormProps {
  /** None where nothing can be done. */
  readonly choices: readonly ActChoice[];
  readonly help: string;
  /** The page to which one returns after signing in. */
  readonly page: string;
  /** Called once something was done, with what the API answered. */
  readonly onDone?: (answer: ActAnswer) => void;
  readonly texts: Texts["operations"]["acts"];
}

interface Typed {
  readonly currentTarget: { readonly value: string };
}

interface Picked {
  readonly currentTarget: { readonly files: FileList | null };
}

interface Given {
  readonly key: string;
  readonly reason: string;
  readonly values: Values;
  /** How often something was done: each time, a file is chosen again. */
  readonly times: number;
}

type Stage =
  | { readonly is: "asking" }
  | { readonly is: "confirming"; readonly asked: { readonly words: string; readonly request: ActRequest } }
  | { readonly is: "looking"; readonly request: ActRequest }
  | { readonly is: "sending" }
  | { readonly is: "done"; readonly outcome: string }
  | { readonly is: "refused"; readonly detail: string; readonly needsSignIn: boolean };

export function ActForm({ choices, help, page, onDone, texts: acts }: ActFormProps): ComponentChild {
  const [given, setGiven] = useState<Given>({ key: "", reason: "", values: {}, times: 0 });
  const [stage, setStage] = useState<Stage>({ is: "asking" });
  const choice = choices.find(({ key }) => key === given.key) ?? choices[0];
  // What was done may leave nothing to do, and is still said.
  if (choice === undefined)
    return h(
      "div",
      null,
      h("p", { class: "quiet" }, acts.none),
      h("div", { role: "status" }, said(stage, { acts, page })),
    );
  const values = { ...firstValues(choice), ...given.values };
  const change = (part: Partial<Given>): void => {
    setGiven({ ...given, ...part });
    setStage({ is: "asking" });
  };
  const ask = (words: string, request: ActRequest): void => {
    if (request.look === undefined) {
      setStage({ is: "confirming", asked: { words, request } });
      return;
    }
    setStage({ is: "looking", request });
    // What was changed meanwhile is asked for again.
    const next = (stage: Stage) => (now: Stage) =>
      now.is === "looking" && now.request === request ? stage : now;
    seen(request).then(
      (whole) => setStage(next({ is: "confirming", asked: { words, request: whole } })),
      (error: Error) => setStage(next(refusedBy(error))),
    );
  };
  const onSubmit = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    if (stage.is === "sending" || stage.is === "looking") return;
    if (stage.is !== "confirming") {
      const fault = choice.fault?.(values) ?? null;
      if (fault !== null) setStage({ is: "refused", detail: fault, needsSignIn: false });
      else ask(choice.words, choice.request(values));
      return;
    }
    setStage({ is: "sending" });
    send(stage.asked.request, given).then(
      (answer) => {
        setStage({ is: "done", outcome: outcomeOf(answer, acts) });
        // What was said of one thing is not said of the next.
        setGiven({ key: given.key, reason: "", values: {}, times: given.times + 1 });
        onDone?.(answer);
      },
      (error: Error) => setStage(refusedBy(error)),
    );
  };
  const options = choices.map(({ key, words }): readonly [string, string] => [key, words]);
  return h(
    "form",
    { onSubmit, onKeyDown: onlyOnce },
    h("p", { class: "quiet small" }, help),
    select(acts.act, choice.key, { options, change: (key) => change({ key, values: {} }) }),
    choice.fields.map(
      ({ name, label, options: each, isOptional = false, maxLength = 200, isFile = false }) => {
        // What is typed while a file is read stays.
        const set = (value: string): void => {
          setGiven((before) => ({ ...before, values: { ...before.values, [name]: value } }));
          setStage({ is: "asking" });
        };
        const value = values[name] ?? "";
        if (isFile)
          return h(FileText, { key: `${name} ${given.times}`, label, change: set, refused: acts.noText });
        return each === null
          ? text(label, value, { maxLength, isOptional, change: set })
          : select(label, value, { options: each, change: set });
      },
    ),
    text(acts.reason, given.reason, {
      maxLength: 500,
      isOptional: false,
      change: (reason) => change({ reason }),
    }),
    h(
      "p",
      null,
      h("button", { type: "submit", onClick: onlyOnce }, stage.is === "confirming" ? acts.confirm : acts.go),
    ),
    h("div", { role: "status" }, said(stage, { acts, page })),
  );
}

function refusedBy(error: Error): Stage {
  const needsSignIn = error instanceof AnswerError && error.status === 401;
  return { is: "refused", detail: error.message, needsSignIn };
}

/** The request with what it is done to as it is now: the only member of the answer. */
async function seen({ look = "", ...request }: ActRequest): Promise<ActRequest> {
  const [shown] = Object.values(await readJson<Record<string, { readonly change: number }>>(look));
  return { ...request, members: { ...request.members, expected: shown?.change } };
}

interface Pressed {
  readonly detail: number;
  readonly key?: string;
  readonly repeat?: boolean;
  preventDefault(): void;
}

/** AF2. `detail` of a click is how many followed each other at the same place. */
function onlyOnce(event: Pressed): void {
  if (event.detail > 1 || (event.key === "Enter" && event.repeat === true)) event.preventDefault();
}

/** What the API answers: what was done, whether that changed anything and what, or the account as it is now. */
export type ActAnswer =
  | { readonly outcome: string }
  | {
      readonly changed: boolean;
      readonly party?: { readonly uuid: string; readonly legal_name: string };
      readonly key?: { readonly key_id: string };
    }
  | { readonly account: Pick<Account, "balance" | "currency"> };

function outcomeOf(answer: ActAnswer, { changed, unchanged, balance }: ActFormProps["texts"]): string {
  if ("outcome" in answer) return answer.outcome;
  if ("account" in answer) return balance(`${answer.account.balance} ${answer.account.currency}`);
  return answer.changed ? changed : unchanged;
}

/** What a form that was not touched shows in its fields. */
export function firstValues({ fields }: ActChoice): Values {
  return Object.fromEntries(fields.map(({ name, options }) => [name, options?.[0]?.[0] ?? ""]));
}

function send({ address, members }: ActRequest, { reason }: Given) {
  const body = JSON.stringify({ ...members, reason: reason.trim() });
  return readJson<ActAnswer>(address, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
}

interface Selected {
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly change: (value: string) => void;
}

function select(label: string, value: string, { options, change }: Selected): ComponentChild {
  const onChange = ({ currentTarget }: Typed): void => change(currentTarget.value);
  return h(
    "label",
    null,
    label,
    h(
      "select",
      // A choice that nobody made has no value, and is not sent.
      { value, onChange, required: true },
      options.map(([each, words]) => h("option", { value: each, selected: each === value }, words)),
    ),
  );
}

interface FileTextProps {
  readonly label: string;
  readonly change: (text: string) => void;
  /** What is said of a file that is no text. */
  readonly refused: string;
}

/** A file whose text is a value. Until it is read, that of another file does not count. */
function FileText({ label, change, refused }: FileTextProps): ComponentChild {
  const [isRefused, setRefused] = useState(false);
  const onChange = ({ currentTarget: input }: Picked): void => {
    change("");
    setRefused(false);
    const file = input.files?.[0];
    if (file !== undefined)
      void textOf(file).then((read) => {
        // Another one may have been chosen meanwhile.
        if (input.files?.[0] !== file) return;
        if (read === null) setRefused(true);
        else change(read);
      });
  };
  return h(
    "label",
    null,
    label,
    h("input", { type: "file", required: true, onChange }),
    isRefused ? h("span", { class: "bad", role: "alert" }, refused) : null,
  );
}

/** As it is, with a mark of its byte order; null for what is not UTF-8. */
async function textOf(file: File): Promise<string | null> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
  } catch {
    return null;
  }
}

/** A longer text has several lines. */
const lineLengthMax = 500;

interface Written {
  readonly maxLength: number;
  readonly isOptional: boolean;
  readonly change: (value: string) => void;
}

function text(label: string, value: string, { maxLength, isOptional, change }: Written): ComponentChild {
  const onInput = ({ currentTarget }: Typed): void => change(currentTarget.value);
  const given = { value, maxLength, required: !isOptional, onInput };
  const isLong = maxLength > lineLengthMax;
  return h("label", null, label, isLong ? h("textarea", { ...given, rows: 6 }) : h("input", given));
}

interface Said {
  readonly acts: Texts["operations"]["acts"];
  readonly page: string;
}

function said(stage: Stage, { acts, page }: Said): ComponentChild {
  if (stage.is === "confirming") {
    const { words, request } = stage.asked;
    return [
      h("p", null, acts.sure(words, request.subject)),
      request.consequences === undefined ? null : h("p", { class: "bad" }, request.consequences),
    ];
  }
  if (stage.is === "done") return h("p", { class: "badge good" }, acts.done(stage.outcome));
  if (stage.is === "asking" || stage.is === "looking" || stage.is === "sending") return null;
  return [
    h("p", { class: "badge bad" }, stage.detail),
    stage.needsSignIn ? h("p", null, h("a", { href: signInPath(page) }, acts.signIn)) : null,
  ];
}
