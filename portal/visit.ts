// A visit to the portal: who comes, what a form says, and what a browser is answered.
//   VI1. A form is taken from a page of this portal alone: its browser says so by Origin, and by Sec-Fetch-Site where it knows that.
//   VI2. A form of somebody who is signed in has the code of their session as well (CH3 in service/portal/challenges.ts).
//   VI3. The cookie can be set by this host alone and read by no script; over HTTPS its name says so (RFC 6265bis §4.1.3.2).
//   VI4. What is read of a form, and how often an address comes, are bounded. Of the address only the network is kept.
//   VI5. No page is kept by a cache, framed, or shown as anything else (web/document.ts).
//   VI6. Who comes is asked before a form of somebody who is signed in is read, and again once it is there: nothing is read for nobody,
//        and a session that ended while it was on its way sends nothing.
//   VI7. What is refused without a page of its own is a page to browsers, the same for everybody: nobody's session is asked for it.

import type { FastifyReply, FastifyRequest } from "fastify";
import { type ComponentChildren, h } from "preact";
import { closeUnread, readBody } from "../api/body.ts";
import type { Edge } from "../api/edge.ts";
import { boundaryOf, MultipartFault, MultipartReader } from "../api/multipart.ts";
import { isRefused, parseQuery, prefersHtml, send, sourceOfRequest } from "../api/request-parts.ts";
import type { Route } from "../api/route.ts";
import type { Clock } from "../crypto/port.ts";
import { utf8 } from "../protocol/bytes.ts";
import type { Problem } from "../protocol/problem.ts";
import { anyObject, anyText, parseShaped, type Shape, text } from "../protocol/shape.ts";
import {
  type Answer,
  answerJson,
  type Outcome,
  type Refused,
  refused,
  refusedWith,
} from "../service/answer.ts";
import type { AddressRate } from "../service/authentication/request-rate.ts";
import type { Challenges } from "../service/portal/challenges.ts";
import type { SentFile } from "../service/portal/evidence.ts";
import type { OpenedSession, People, SignedIn } from "../service/portal/people.ts";
import { networkOf } from "../std/ip-address.ts";
import type { Asset, Assets } from "../web/assets.ts";
import { applicationHeaders, applicationPage } from "../web/document.ts";
import { inLanguageOf, wording } from "./language.ts";
import { frame, hiddenFields } from "./pages/frame.ts";

export interface VisitDeps {
  /** The origin of the portal, as browsers say it. */
  readonly origin: string;
  readonly isSandbox: boolean;
  readonly edge: Edge;
  readonly clock: Clock;
  readonly people: People;
  readonly challenges: Challenges;
  readonly assets: () => Promise<Assets>;
  /** How often an address may ask for anything, and how often it may come to the door. */
  readonly visits: AddressRate;
  readonly doors: AddressRate;
}

/** Who comes, and from which network. */
export interface Visit {
  /** For limits alone; it is kept nowhere. */
  readonly address: string;
  readonly network: string | null;
  /** Null for somebody who is not signed in. */
  readonly who: SignedIn | null;
  /** The part of the path that a route names, and the one below it; empty where there is none. */
  readonly named: string;
  readonly inner: string;
  /** Where a page of a list begins; null for its first. */
  readonly cursor: string | null;
}

/** A visit by somebody who is signed in. */
export interface OwnVisit extends Visit {
  readonly who: SignedIn;
}

/** The fields of a form; an absent one is empty. */
export type Form = (name: string) => string;

/** The act of a form as it was shown; null for anything else. */
export function shapeIn<T>(shape: Shape<T>, form: Form): T | null {
  return parseShaped(shape, utf8(form("act")));
}

/** A passkey that was made, in such an act. */
export const passkeyMembers = { credential_id: text(1_400), public_key: text(400) };

export interface PageAnswer {
  readonly kind: "page";
  readonly status?: number;
  readonly title: string;
  readonly content: ComponentChildren;
}

interface Redirect {
  readonly kind: "redirect";
  /** A path of this portal. */
  readonly to: string;
  /** A session that begins; null for one that ends. */
  readonly session?: OpenedSession | null;
}

type VisitAnswer = PageAnswer | Redirect;

const texts = () => wording().portal;
export const signInPath = "/sign-in";
/** The credential of an authenticator takes a few kilobytes. */
const formBytesMax = 65_536;
/** The form of a record has hundreds of fields; one more costs its reader more than its bytes (VI4). */
const formFieldsMax = 5_000;

export function page(title: string, content: ComponentChildren, status = 200): PageAnswer {
  return { kind: "page", title, content, status };
}

/** A page of one card, whose heading is its title. */
export function cardPage(title: string, ...content: ComponentChildren[]): PageAnswer {
  return page(title, h("section", { class: "card narrow" }, h("h1", null, title), ...content));
}

/**
 * A page that takes the code of a link, which is after its #: the page's script puts it into the field. Without a script the whole link
 * can be pasted ({@link linkCodeIn}).
 */
export function linkCodePage(
  { title, words, code, button }: Readonly<Record<"title" | "words" | "code" | "button", string>>,
  {
    action,
    fields = {},
    lengthMax = linkLengthMax,
  }: {
    readonly action: string;
    readonly fields?: Readonly<Record<string, string>>;
    readonly lengthMax?: number;
  },
): PageAnswer {
  const field = { name: "code", required: true, maxLength: lengthMax, "data-from-hash": true };
  return cardPage(
    title,
    h(
      "form",
      { method: "post", action },
      h("p", null, words),
      hiddenFields(fields),
      h("label", null, code, h("input", { ...field, autocomplete: "off" })),
      h("p", null, h("button", { type: "submit" }, button)),
    ),
  );
}

const linkLengthMax = 400;

export function linkCodeIn(form: Form): string {
  return form("code").trim().replace(/^.*#/, "");
}

/** A title and sentences. */
export type Words = readonly [title: string, ...sentences: string[]];

/** What is asked in words, and what answers it. */
export function wordsPage([title, ...sentences]: Words, ...content: ComponentChildren[]): PageAnswer {
  return cardPage(title, ...sentences.map((sentence) => h("p", null, sentence)), ...content);
}

export function redirect(to: string, session?: OpenedSession | null): Redirect {
  return session === undefined ? { kind: "redirect", to } : { kind: "redirect", to, session };
}

const html = { description: "A page for people", body: anyText, mediaType: "text/html" } as const;
const elsewhere = { description: "Leads to a page", body: null } as const;

/** A page that anybody may see. */
export function openPage(
  deps: VisitDeps,
  path: string,
  summary: string,
  answer: (visit: Visit) => Promise<VisitAnswer> | VisitAnswer,
): Route {
  return {
    method: "GET",
    path,
    tags: [],
    doc: { summary, answers: { 200: html, 303: elsewhere } },
    handle: async (request, reply) => {
      const limited = limitedOf(deps, request);
      if (limited !== null) return send(reply, limited);
      const visit = await visitOf(deps, request);
      return show(deps, reply, visit, await answer(visit));
    },
  };
}

/** A page of somebody who is signed in; anybody else is led to the door. */
export function ownPage(
  deps: VisitDeps,
  path: string,
  summary: string,
  answer: (visit: OwnVisit) => Promise<VisitAnswer> | VisitAnswer,
): Route {
  return openPage(deps, path, summary, (visit) =>
    visit.who === null ? redirect(signInPath) : answer({ ...visit, who: visit.who }),
  );
}

/** What a page's script asks for, as JSON: 401 for nobody, and 404 where there is nothing. */
export function ownData(
  deps: VisitDeps,
  path: string,
  summary: string,
  answer: (visit: OwnVisit) => Promise<object | null>,
): Route {
  return {
    method: "GET",
    path,
    tags: [],
    doc: {
      summary,
      answers: { 200: { description: "What the page shows", body: anyObject }, 401: elsewhere },
      problems: ["not_found", "rate_limited"],
    },
    handle: async (request, reply) => {
      reply.headers({ "cache-control": "no-store" });
      const limited = limitedOf(deps, request);
      if (limited !== null) return send(reply, limited);
      const visit = await visitOf(deps, request);
      const { who } = visit;
      if (who === null) return send(reply, { kind: "answer", status: 401, headers: {}, body: "" });
      const body = await answer({ ...visit, who });
      return send(reply, body === null ? nothingThere : answerJson(200, body));
    },
  };
}

/** A file to keep, of somebody who is signed in; anybody else is led to the door, and null is a page that says it is not there. */
export function ownFile(
  deps: VisitDeps,
  path: string,
  summary: string,
  mediaType: string,
  answer: (visit: OwnVisit) => Promise<{ readonly name: string; readonly file: Answer } | null>,
): Route {
  return {
    method: "GET",
    path,
    tags: [],
    doc: {
      summary,
      answers: { 200: { description: "A file", body: anyText, mediaType }, 303: elsewhere, 404: html },
      problems: ["rate_limited"],
    },
    handle: async (request, reply) => {
      const limited = limitedOf(deps, request);
      if (limited !== null) return send(reply, limited);
      const visit = await visitOf(deps, request);
      const { who } = visit;
      if (who === null) return show(deps, reply, visit, redirect(signInPath));
      const found = await answer({ ...visit, who });
      if (found === null) return show(deps, reply, visit, problemPage("not_there", 404));
      const headers = {
        ...found.file.headers,
        "cache-control": "no-store",
        "content-disposition": `attachment; filename="${found.name}"`,
      };
      return send(reply, { ...found.file, headers });
    },
  };
}

const nothingThere = refusedWith("not_found", "There is nothing here, or not for you.");

/** A form at the door, where nobody is known yet. */
export function doorForm(
  deps: VisitDeps,
  path: string,
  summary: string,
  answer: (form: Form, visit: Visit) => Promise<VisitAnswer> | VisitAnswer,
): Route {
  return postRoute(deps, path, summary, { ...plainForms, bytesMax: formBytesMax }, async (request) => {
    const limited = deps.doors.take(addressOf(deps, request));
    return limited ?? ((form, visit) => answer(form, visit));
  });
}

/** A form of somebody who is signed in (VI2), of at most so many bytes. */
export function ownForm(
  deps: VisitDeps,
  path: string,
  summary: string,
  answer: (form: Form, visit: OwnVisit) => Promise<VisitAnswer> | VisitAnswer,
  bytesMax = formBytesMax,
): Route {
  const own = ofSession(deps, (form: Form) => form, answer);
  const open = async (request: FastifyRequest) => ((await whoOf(deps, request)) === null ? signedOut() : own);
  return postRoute(deps, path, summary, { ...plainForms, bytesMax }, open);
}

/** The fields of a form, and the one file in it; null for a form without one. */
export interface Upload {
  readonly form: Form;
  readonly file: SentFile | null;
}

/**
 * A form of somebody who is signed in that sends a file (RFC 7578), of at most so many bytes with its fields. Before anything of it is
 * read, `admit` answers where none is wanted; for a longer file there is `tooLong`.
 */
export function ownUpload(
  deps: VisitDeps,
  path: string,
  summary: string,
  {
    bytesMax,
    tooLong,
    admit,
    answer,
  }: {
    readonly bytesMax: number;
    readonly tooLong: () => PageAnswer;
    readonly admit: (visit: OwnVisit) => Promise<PageAnswer | null>;
    readonly answer: (upload: Upload, visit: OwnVisit) => Promise<VisitAnswer>;
  },
): Route {
  const own = ofSession(deps, ({ form }: Upload) => form, answer);
  const open = async (request: FastifyRequest) => {
    const visit = await visitOf(deps, request);
    const { who } = visit;
    return who === null ? signedOut() : ((await admit({ ...visit, who })) ?? own);
  };
  return postRoute(deps, path, summary, { ...uploads, bytesMax, tooLong }, open);
}

/** Answers what was sent by the session that it says it is from (VI2, VI6). */
function ofSession<F>(
  { challenges }: VisitDeps,
  formOf: (sent: F) => Form,
  answer: (sent: F, visit: OwnVisit) => Promise<VisitAnswer> | VisitAnswer,
): AnswerForm<F> {
  return (sent, visit) => {
    const { who } = visit;
    if (who === null) return signedOut();
    if (!challenges.isFormCode(who.session.session, formOf(sent)("form_code")))
      return problemPage("form_stale", 403);
    return answer(sent, { ...visit, who });
  };
}

function signedOut(): PageAnswer {
  return problemPage("signed_out", 401);
}

/** What the service says about something that it does not accept. */
export function saidPage(detail: string, status = 409): PageAnswer {
  const [title] = texts().notAccepted;
  return page(title, frame.problem(title, detail), status);
}

/** What could not be done, and what to do about it. */
export function problemPage(code: keyof ReturnType<typeof texts>["problems"], status = 400): PageAnswer {
  const [title, words] = texts().problems[code];
  return page(title, frame.problem(title, words), status);
}

type AnswerForm<F> = (form: F, visit: Visit) => Promise<VisitAnswer> | VisitAnswer;

/** How a body becomes a form. */
interface Reading<F> {
  readonly mediaType: string;
  readonly bytesMax: number;
  /** What a longer body is answered, where that is a page. */
  readonly tooLong?: () => PageAnswer;
  /** `contentType` begins with the media type. */
  readonly read: (bytes: Uint8Array, contentType: string) => F | Refused;
}

function postRoute<F extends object>(
  deps: VisitDeps,
  path: string,
  summary: string,
  { mediaType, bytesMax, tooLong, read }: Reading<F>,
  open: (request: FastifyRequest) => Promise<Refused | PageAnswer | AnswerForm<F>>,
): Route {
  return {
    method: "POST",
    path,
    tags: [],
    doc: {
      summary,
      body: { ...anyText, mediaType },
      answers: { 200: html, 303: elsewhere, 401: html, 409: html },
      problems: [
        "origin_not_allowed",
        "media_type_unsupported",
        "record_too_large",
        "rate_limited",
        "request_invalid",
      ],
    },
    handle: async (request, reply) => {
      if (!isOwnPage(deps, request)) return closing(reply, notOwnPage);
      const limited = limitedOf(deps, request);
      if (limited !== null) return closing(reply, limited);
      const contentType = request.headers["content-type"] ?? "";
      if (!contentType.startsWith(mediaType)) return closing(reply, notAForm(mediaType));
      const answer = await open(request);
      if (typeof answer !== "function")
        return answer.kind === "page"
          ? show(deps, reply.header("connection", "close"), { who: null }, answer)
          : closing(reply, answer);
      const body = await readBody(request.raw, { bytesMax, edge: deps.edge }, addressOf(deps, request));
      if (!body.ok) {
        const isTooLong = tooLong !== undefined && body.problem.code === "record_too_large";
        if (!isTooLong) return closing(reply, refused(body.problem));
        closeUnread(request, reply);
        return show(deps, reply, { who: null }, tooLong());
      }
      try {
        const visit = await visitOf(deps, request);
        const form = read(body.bytes, contentType);
        return isRefused(form)
          ? send(reply, form)
          : await show(deps, reply, visit, await answer(form, visit));
      } finally {
        body.release();
      }
    },
  };
}

/** Without any referrer a browser would not say either which page sends a form: its Origin would be `null` (Fetch, «append a request Origin»). */
const pageHeaders = { ...applicationHeaders, "referrer-policy": "same-origin", "cache-control": "no-store" };
const formType = "application/x-www-form-urlencoded";
const notOwnPage = refusedWith("origin_not_allowed", "Forms are taken from the pages of this portal alone.");
const tooManyFields = refusedWith("record_too_large", `A form has at most ${formFieldsMax} fields.`);
const notAForm = (mediaType: string) =>
  refusedWith("media_type_unsupported", `Send the form as ${mediaType}.`);

/** Answers a request whose body nobody reads. */
function closing(reply: FastifyReply, outcome: Outcome): FastifyReply {
  return send(reply.header("connection", "close"), outcome);
}

/** VI1: browsers say which page sends a form, and no page can change what they say. */
function isOwnPage({ origin }: VisitDeps, { headers }: FastifyRequest): boolean {
  const site = headers["sec-fetch-site"];
  return headers.origin === origin && (site === undefined || site === "same-origin");
}

function addressOf({ edge }: VisitDeps, request: FastifyRequest): string {
  return sourceOfRequest(request.raw, edge) ?? "unknown";
}

const queryNames = ["cursor"] as const;

/** Why nothing is read of a request; null for one that is. */
function limitedOf(deps: VisitDeps, request: FastifyRequest): Refused | null {
  const limited = deps.visits.take(addressOf(deps, request));
  if (limited !== null) return limited;
  const query = parseQuery(request.raw.url ?? "", queryNames);
  return isRefused(query) ? query : null;
}

async function visitOf(deps: VisitDeps, request: FastifyRequest): Promise<Visit> {
  const address = addressOf(deps, request);
  const who = await whoOf(deps, request);
  const { named = "", inner = "" } = request.params as { readonly named?: string; readonly inner?: string };
  const query = parseQuery(request.raw.url ?? "", queryNames);
  const cursor = isRefused(query) ? null : query.cursor;
  return { address, network: networkOf(address), who, named, inner, cursor };
}

function whoOf(deps: VisitDeps, request: FastifyRequest): Promise<SignedIn | null> {
  return deps.people.who(cookieIn(request.headers.cookie, cookieName(deps)));
}

const ampersand = 0x26;

const plainForms = { mediaType: formType, read: formOf };
const uploads = { mediaType: "multipart/form-data", read: uploadOf };

/** Of several fields of one name the first counts. They are counted before they are parsed. */
function formOf(bytes: Uint8Array): Form | Refused {
  let count = 1;
  for (const byte of bytes) if (byte === ampersand) count += 1;
  if (count > formFieldsMax) return tooManyFields;
  const fields = new Map([...new URLSearchParams(new TextDecoder().decode(bytes))].toReversed());
  return (name) => fields.get(name) ?? "";
}

const uploadPartsMax = 8;

/** The bytes of the file are those of the body, and no copy. */
function uploadOf(bytes: Uint8Array, contentType: string): Upload | Refused {
  const boundary = boundaryOf(contentType);
  if (boundary === null) return notAnUpload("The form has no valid boundary.");
  const [fields, reader] = [new Map<string, Uint8Array>(), new MultipartReader(boundary)];
  const sent: { file: SentFile | null } = { file: null };
  let part: { readonly name: string; readonly filename: string | null } | null = null;
  let count = 0;
  try {
    for (const event of reader.take(bytes)) {
      if (event.kind === "part") {
        const { name, filename, mediaType } = event;
        part = event;
        count += 1;
        if (count > uploadPartsMax || fields.has(name) || (filename !== null && sent.file !== null))
          return notAnUpload(`A form has at most ${uploadPartsMax} fields, each once, and one file.`);
        if (filename === null) fields.set(name, new Uint8Array());
        else sent.file = { filename, mediaType: mediaType ?? "", bytes: new Uint8Array() };
      } else if (part?.filename === null) fields.set(part.name, event.bytes);
      else if (sent.file !== null) sent.file = { ...sent.file, bytes: event.bytes };
    }
    reader.end();
  } catch (error) {
    if (!(error instanceof MultipartFault)) throw error;
    return notAnUpload(error.message);
  }
  const text = (name: string) => new TextDecoder().decode(fields.get(name));
  return { form: text, file: sent.file };
}

function notAnUpload(detail: string): Refused {
  return refusedWith("request_invalid", detail);
}

async function show(
  deps: VisitDeps,
  reply: FastifyReply,
  { who }: Pick<Visit, "who">,
  answer: VisitAnswer,
): Promise<FastifyReply> {
  reply.headers(pageHeaders);
  if (answer.kind === "redirect") {
    const { session } = answer;
    if (session !== undefined) reply.header("set-cookie", cookieOf(deps, session));
    return send(reply, { kind: "answer", status: 303, headers: { location: answer.to }, body: "" });
  }
  const body = await documentOf(deps, who, answer);
  return send(reply, { kind: "answer", status: answer.status ?? 200, headers: {}, body });
}

async function documentOf(
  deps: VisitDeps,
  who: SignedIn | null,
  { title, content }: Pick<PageAnswer, "title" | "content">,
): Promise<string> {
  const form_code = who === null ? null : deps.challenges.formCode(who.session.session);
  const framed = frame.around({ name: who?.name ?? null, form_code, isSandbox: deps.isSandbox }, content);
  const document = { title: texts().pageTitle(title), language: wording().language, content: framed };
  return applicationPage(document, await deps.assets());
}

/** See VI7. */
export async function refusalPage(
  deps: VisitDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { code, title, detail }: Problem,
): Promise<string | null> {
  reply.header("vary", "accept");
  if (!prefersHtml(request.headers.accept ?? "")) return null;
  const body = await inLanguageOf(request, () => {
    const { said } = wording();
    if (code === "not_found") return documentOf(deps, null, problemPage("not_there"));
    if (code === "unavailable") return documentOf(deps, null, problemPage("unavailable"));
    return documentOf(deps, null, {
      title: said(title),
      content: frame.problem(said(title), said(detail)),
    });
  });
  reply.headers(pageHeaders);
  return body;
}

/** Sends an asset, which never changes under its address. */
export function sendAsset(reply: FastifyReply, { mediaType, body }: Asset): FastifyReply {
  const headers = {
    "content-type": mediaType,
    "cache-control": "private, max-age=31536000, immutable",
    "cross-origin-resource-policy": "same-origin",
  };
  return send(reply, { kind: "answer", status: 200, headers, body });
}

function isSecure({ origin }: VisitDeps): boolean {
  return origin.startsWith("https:");
}

function cookieName(deps: VisitDeps): string {
  return isSecure(deps) ? "__Host-svc_portal" : "svc_portal";
}

/** Lax, so that a link from a mail or a terminal leads to a page of one's own. */
function cookieOf(deps: VisitDeps, session: OpenedSession | null): string {
  const seconds =
    session === null ? 0 : Math.max(0, Math.ceil((session.ends_at_ms - deps.clock.now()) / 1_000));
  const secure = isSecure(deps) ? "; Secure" : "";
  return `${cookieName(deps)}=${session?.cookie ?? ""}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
}

function cookieIn(cookies: string | undefined, wanted: string): string | null {
  for (const each of (cookies ?? "").split(";")) {
    const at = each.indexOf("=");
    if (at >= 0 && each.slice(0, at).trim() === wanted) return each.slice(at + 1).trim();
  }
  return null;
}
