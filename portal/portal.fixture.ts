// A node with its portal, and somebody who visits it without a browser. For tests.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { type RunningNode, startNode } from "../node/composition/start.ts";
import {
  type CreationOptions,
  type Oddity,
  type Passkey,
  type RequestOptions,
  TestAuthenticator,
} from "./authenticator.fixture.ts";

export interface PortalNode extends AsyncDisposable {
  readonly node: RunningNode;
  /** Where it listens. */
  readonly url: string;
  /** What browsers know it as. */
  readonly origin: string;
}

/** A node whose home is given is started again on it later, at the same ports: its home stays. */
export async function openPortalNode(
  env: Readonly<Record<string, string>> = {},
  portBase = 0,
  changes: Parameters<typeof startNode>[1] = {},
  kept: string | null = null,
): Promise<PortalNode> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const home = kept ?? mkdtempSync(join(tmpdir(), "svc-portal-"));
  // Each visitor has an address of their own, as behind a proxy.
  vi.stubEnv("SVC_TRUSTED_PROXIES", "127.0.0.1");
  vi.stubEnv("SVC_OPS_LISTEN", "127.0.0.1:0");
  const node = await startNode({ home, portBase, samples: false, logLevel: "silent" }, changes).finally(() =>
    vi.unstubAllEnvs(),
  );
  return {
    node,
    url: node.urls.portal_url,
    origin: node.urls.portal_url,
    [Symbol.asyncDispose]: async () => {
      await node[Symbol.asyncDispose]();
      if (kept === null) rmSync(home, { recursive: true, force: true });
    },
  };
}

/** A form of a page. */
export interface ShownForm {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
  /** What the controls that people see have in them, as a browser would send it. */
  readonly controls: Readonly<Record<string, string>>;
  /** What an authenticator is asked; null for a plain form. */
  readonly options: CreationOptions & RequestOptions;
  readonly ceremony: string | null;
}

export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** The form with this action. */
  form(action: string): ShownForm;
}

/** What an authenticator does otherwise than it should, or which passkey its person chooses. */
type Answering = Oddity & { readonly passkey?: Passkey };

let visitors = 0;

/** A visitor with cookies and an authenticator. */
export class Visitor {
  #url: string;
  readonly #origin: string;
  /** What the browser was told to keep. */
  readonly setCookies: string[] = [];
  readonly authenticator: TestAuthenticator;
  readonly cookies = new Map<string, string>();
  readonly address: string;
  /** What its browser asks for (Accept-Language). */
  language = "en";

  /** Visits the portal at `url`; its pages are of `origin`. */
  constructor(url: string, authenticator = new TestAuthenticator(url), origin = url) {
    this.#url = url;
    this.#origin = origin;
    visitors += 1;
    this.address = `198.51.${visitors}.7`;
    this.authenticator = authenticator;
  }

  static of({ url, origin }: Pick<PortalNode, "url" | "origin">): Visitor {
    return new Visitor(url, new TestAuthenticator(origin), origin);
  }

  /** From now on the balancer leads to the node that listens there. */
  leadTo(url: string): void {
    this.#url = url;
  }

  /** The id of the person who is signed in; empty for nobody. */
  get personId(): string {
    const [cookie = ""] = this.cookies.values();
    return /^([0-9a-f-]{36})\./.exec(cookie)?.[1] ?? "";
  }

  /** Confirms with the passkey that signs in, which is the first. */
  confirm(form: ShownForm): Promise<Seen> {
    const [own] = this.authenticator.passkeys;
    return this.answer(form, own && { passkey: own });
  }

  async get(path: string): Promise<Seen> {
    return this.#follow(await this.#fetch(path, {}));
  }

  /** Sends a form as a page of the portal does; `headers` replace what a browser says, and null leaves it out. */
  async post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string | null>> = {},
  ): Promise<Seen> {
    const said: Record<string, string> = {
      origin: this.#origin,
      "sec-fetch-site": "same-origin",
      "content-type": "application/x-www-form-urlencoded",
    };
    for (const [name, value] of Object.entries(headers)) {
      if (value === null) delete said[name];
      else said[name] = value;
    }
    const body = new URLSearchParams(fields).toString();
    return this.#follow(await this.#fetch(path, { method: "POST", body, headers: said }));
  }

  /** Sends a form of a page, with what a person wrote into it. */
  send(form: ShownForm, written: Readonly<Record<string, string>> = {}): Promise<Seen> {
    return this.post(form.action, { ...form.fields, ...written });
  }

  /** Sends a form of a page with a file, as a browser does. */
  async upload(
    form: ShownForm,
    file: { readonly name: string; readonly type: string; readonly bytes: Uint8Array },
  ) {
    const body = new FormData();
    for (const [name, value] of Object.entries(form.fields)) body.append(name, value);
    body.append("file", new Blob([new Uint8Array(file.bytes)], { type: file.type }), file.name);
    const headers = { origin: this.#origin, "sec-fetch-site": "same-origin" };
    return this.#follow(await this.#fetch(form.action, { method: "POST", body, headers }));
  }

  /** Has the authenticator answer a form, and sends it. */
  answer(form: ShownForm, odd: Answering = {}): Promise<Seen> {
    return this.send(form, { credential: this.credentialFor(form, odd) });
  }

  credentialFor({ ceremony, options }: ShownForm, odd: Answering = {}): string {
    const made =
      ceremony === "create" ? this.authenticator.create(options, odd) : this.authenticator.get(options, odd);
    return JSON.stringify(made);
  }

  /** Comes in as somebody new. */
  async signUp(name = "Ada Lovelace"): Promise<Seen> {
    const asked = await this.send((await this.get("/sign-up")).form("/sign-up"), { name });
    return this.answer(asked.form("/sign-up/passkey"));
  }

  /** Applies for a business with a new sealing passkey, as somebody who is signed in; returns the page after it. */
  async apply(legal_name = "Ada Ltd", country = "GB", odd: Answering = {}): Promise<Seen> {
    const asked = await this.send((await this.get("/apply")).form("/apply"), { legal_name, country });
    const made = await this.answer(asked.form("/apply/passkey"), odd);
    return this.answer(made.form("/apply/file"));
  }

  async signIn(odd: Answering = {}): Promise<Seen> {
    return this.answer((await this.get("/sign-in")).form("/sign-in"), odd);
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = {
      ...init.headers,
      "x-forwarded-for": this.address,
      "accept-language": this.language,
      ...(cookie === "" ? {} : { cookie }),
    };
    const answer = await fetch(new URL(path, this.#url), { ...init, headers, redirect: "manual" });
    for (const each of answer.headers.getSetCookie()) {
      this.setCookies.push(each);
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(each) ?? [];
      if (value === "") this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return answer;
  }

  async #follow(answer: Response): Promise<Seen> {
    const { status, headers } = answer;
    const html = await answer.text();
    const to = headers.get("location");
    if (status === 303 && to !== null) return this.get(to);
    return { status, headers, html, form: (action) => formIn(html, action) };
  }
}

function formIn(html: string, action: string): ShownForm {
  const forms = [...html.matchAll(/<form((?:[^>"]|"[^"]*")*)>(.*?)<\/form>/gs)];
  const found = forms.find(([, attributes = ""]) => attributeIn(attributes, "action") === action);
  if (found === undefined) throw new Error(`The page has no form for ${action}: ${html.slice(0, 4_000)}`);
  const [, attributes = "", inside = ""] = found;
  const inputs = [...inside.matchAll(/<input((?:[^>"]|"[^"]*")*)>/g)].map(([, input = ""]) => input);
  const hidden = inputs.filter((each) => attributeIn(each, "type") === "hidden");
  const options = attributeIn(attributes, "data-options");
  return {
    action,
    ceremony: attributeIn(attributes, "data-ceremony"),
    controls: controlsIn(inside),
    options: options === null ? null : JSON.parse(options),
    fields: Object.fromEntries(
      hidden.map((each) => [attributeIn(each, "name") ?? "", attributeIn(each, "value") ?? ""]),
    ),
  };
}

/** The visible controls of a piece of HTML, with what a browser would send of them (HTML, «constructing the entry list»). */
export function controlsIn(html: string): Readonly<Record<string, string>> {
  const tags = html.matchAll(
    /<(input)((?:[^>"]|"[^"]*")*)>|<(textarea|select)((?:[^>"]|"[^"]*")*)>(.*?)<\/\3>/gs,
  );
  const sent = [...tags].flatMap(([, input, ofInput = "", , ofOther = "", inside = ""]) => {
    const attributes = ofInput + ofOther;
    const [name, type] = ["name", "type"].map((each) => attributeIn(attributes, each));
    if (name == null || type === "hidden" || type === "file") return [];
    if (type === "checkbox") return attributeIn(attributes, "checked") === null ? [] : [[name, "on"]];
    if (input !== undefined) return [[name, attributeIn(attributes, "value") ?? ""]];
    const options = [...inside.matchAll(/<option((?:[^>"]|"[^"]*")*)>/g)].map(([, option = ""]) => option);
    if (options.length === 0) return [[name, unescaped(inside).replaceAll(/\r?\n/g, "\r\n")]];
    const chosen = options.find((each) => attributeIn(each, "selected") !== null) ?? options[0] ?? "";
    return [[name, attributeIn(chosen, "value") ?? ""]];
  });
  return Object.fromEntries(sent);
}

function attributeIn(text: string, name: string): string | null {
  const found = new RegExp(`(?:^|\\s)${name}(?:="([^"]*)")?(?=\\s|/|$)`).exec(text);
  return found === null ? null : unescaped(found[1] ?? "");
}

function unescaped(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
