// The operators' pages. They show what the API answers, read from the same functions, and are complete before their script runs.
//   OP1. A page that cannot be answered says so as a page, with the status that the API would have.
//   OP2. An asset never changes under its address, so it is kept; a page is never kept.

import type {
  FastifyBaseLogger,
  FastifyError,
  FastifyInstance,
  FastifyReply,
  RouteShorthandOptions,
} from "fastify";
import { type ComponentChild, h } from "preact";
import { parseTimestamp } from "../../protocol/identifiers.ts";
import type { OperatorCampaigns } from "../../service/ads/campaign-renders.ts";
import { failureAnswer } from "../../service/failure.ts";
import type { OperatorLedgers } from "../../service/money/ledgers.ts";
import type { OperatorApplications } from "../../service/portal/applications.ts";
import type { OperatorRecoveries } from "../../service/portal/recoveries.ts";
import type { Blocks } from "../../service/register/blocks.ts";
import type { Enrolment } from "../../service/register/enrolment.ts";
import type { Revocations } from "../../service/register/revocations.ts";
import type { Takedowns as OpsTakedowns } from "../../service/register/takedowns.ts";
import { type Asset, type Assets, assetAt, createAssets } from "../../web/assets.ts";
import { applicationHeaders, applicationPage } from "../../web/document.ts";
import { island } from "../../web/island.ts";
import { english } from "../../web/texts/catalogue.ts";
import type { ClusterOps } from "../cluster.ts";
import type { Inspection } from "../inspection.ts";
import type { MachineChart } from "../inspection-shapes.ts";
import type { ListActs } from "../lists.ts";
import { shownApplications, shownRecoveries } from "../parties.ts";
import { createLayouts, type Layouts } from "./chart/layouts.ts";
import { Actor } from "./views/actor.ts";
import { kindWords } from "./views/actor-facts.ts";
import { Applications } from "./views/applications.ts";
import {
  accountsPath,
  applicationsPath,
  auditPath,
  type FrameOptions,
  frame,
  listsPath,
  nodesPath,
  partiesPath,
  refusalsPath,
  rendersPath,
  takedownsPath,
  uiBase,
} from "./views/frame.ts";
import { Key } from "./views/key.ts";
import {
  accountsList,
  actorList,
  auditList,
  type ListQuery,
  rendersList,
  searchResults,
} from "./views/lists.ts";
import { Nodes } from "./views/nodes.ts";
import { OperatorLists } from "./views/operator-lists.ts";
import { Overview, type OverviewData } from "./views/overview.ts";
import { PartyActs, partyList } from "./views/parties.ts";
import { Party } from "./views/party.ts";
import { Refusals } from "./views/refusals.ts";
import { SignIn } from "./views/sign-in.ts";
import { Takedowns } from "./views/takedowns.ts";

export interface PagesDeps {
  readonly inspection: Inspection;
  /** Null if the node is standalone. */
  readonly cluster: Pick<ClusterOps, "state"> | null;
  readonly applications: Pick<OperatorApplications, "list">;
  readonly recoveries: Pick<OperatorRecoveries, "list">;
  readonly enrolment: Pick<Enrolment, "party">;
  readonly blocks: Pick<Blocks, "ofBusiness">;
  readonly ledgers: Pick<OperatorLedgers, "account" | "list">;
  readonly revocations: Pick<Revocations, "key" | "acts" | "hasGrants">;
  readonly takedowns: Pick<OpsTakedowns, "inForce">;
  readonly campaigns: Pick<OperatorCampaigns, "unusual">;
  readonly lists: Pick<ListActs, "all">;
  readonly logger: FastifyBaseLogger;
}

interface Made extends Omit<PagesDeps, "logger"> {
  readonly layouts: Layouts;
  readonly assets: () => Promise<Assets>;
  readonly failed: (detail: unknown) => void;
}

const texts = english.operations;
const { language } = english;
const journalLimit = 50;
const listLimit = 50;
const againSeconds = 5;

type Query = Readonly<Record<string, string | undefined>>;

/** The schema of a query that has these members, each a text. */
function query(...names: readonly string[]) {
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  return { schema: { querystring: { type: "object", properties, additionalProperties: false } } };
}

export function addPages(server: FastifyInstance, deps: PagesDeps): void {
  const { logger, ...shown } = deps;
  const failed = (detail: unknown) => logger.warn({ err: detail }, "a part of the pages could not be made");
  const entry = new URL("./browser/main.ts", import.meta.url);
  const made: Made = {
    ...shown,
    failed,
    layouts: createLayouts(failed),
    assets: createAssets({ entry, base: `${uiBase}assets/`, failed }),
  };
  const asPage: RouteShorthandOptions = {
    errorHandler: (error, _request, reply) => notNow(reply, made, error),
  };
  server.get("/", async (_request, reply) => reply.redirect(uiBase));
  server.get(uiBase, asPage, async (_request, reply) => overviewPage(reply, made));
  server.get(nodesPath, asPage, async (_request, reply) => nodesPage(reply, made));
  server.get<{ Querystring: Query }>(
    `${uiBase}actors`,
    { ...asPage, ...query("scope", "kind", "state", "region", "node", "after") },
    async (request, reply) => listPage(reply, made, request.query),
  );
  server.get<{ Querystring: Query }>(
    `${uiBase}search`,
    { ...asPage, ...query("q") },
    async (request, reply) => searchPage(reply, made, request.query["q"] ?? ""),
  );
  server.get<{ Params: { kind: string; id: string } }>(
    `${uiBase}actors/:kind/:id`,
    asPage,
    async (request, reply) => actorPage(reply, made, request.params),
  );
  server.get<{ Querystring: Query }>(
    refusalsPath,
    { ...asPage, ...query("surface", "code") },
    async (request, reply) => refusalsPage(reply, made, request.query),
  );
  server.get<{ Querystring: Query }>(
    applicationsPath,
    { ...asPage, ...query("after", "recoveries") },
    async (request, reply) => applicationsPage(reply, made, request.query),
  );
  server.get<{ Querystring: Query }>(
    partiesPath,
    { ...asPage, ...query("q", "after") },
    async (request, reply) => partiesPage(reply, made, request.query),
  );
  server.get<{ Params: { uuid: string } }>(`${partiesPath}/:uuid`, asPage, async (request, reply) =>
    partyPage(reply, made, request.params.uuid),
  );
  server.get<{ Querystring: Query }>(accountsPath, { ...asPage, ...query("after") }, async (request, reply) =>
    accountsPage(reply, made, request.query["after"] ?? ""),
  );
  server.get(takedownsPath, asPage, async (_request, reply) => takedownsPage(reply, made));
  server.get(listsPath, asPage, async (_request, reply) => listsPage(reply, made));
  server.get<{ Querystring: Query }>(rendersPath, { ...asPage, ...query("after") }, async (request, reply) =>
    rendersPage(reply, made, request.query["after"] ?? ""),
  );
  server.get<{ Querystring: Query }>(auditPath, { ...asPage, ...query("before") }, async (request, reply) =>
    auditLogPage(reply, made, textOf(request.query["before"])),
  );
  server.get<{ Params: { key_id: string } }>(`${uiBase}keys/:key_id`, asPage, async (request, reply) =>
    keyPage(reply, made, request.params.key_id),
  );
  server.get<{ Querystring: Query }>(`${uiBase}sign-in`, query("next"), async (request, reply) =>
    signInPage(reply, made, request.query["next"] ?? uiBase),
  );
  server.get<{ Params: { name: string } }>(`${uiBase}assets/:name`, async (request, reply) => {
    const asset = assetAt(await made.assets(), `${uiBase}assets/${request.params.name}`);
    return asset === null ? notFound(reply, made, texts.notFound.words) : sendAsset(reply, asset);
  });
}

async function readOverview(inspection: Inspection): Promise<OverviewData> {
  const [nodes, counts, attention] = await Promise.all([
    inspection.nodes(),
    inTime(inspection.counts(), answerMs),
    inTime(inspection.attention(), answerMs),
  ]);
  return { nodes, counts, attention };
}

const answerMs = 3_000;
/** A long journal is not waited for: its page asks again for it by itself. */
const journalMs = 1_000;

/** What is not there in time, or fails, is null. */
async function inTime<T>(work: Promise<T>, maxMs: number): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), maxMs);
  const found = work.catch(() => null);
  return Promise.race([found, late.promise]).finally(() => clearTimeout(timer));
}

async function overviewPage(reply: FastifyReply, made: Made): Promise<FastifyReply> {
  // Both at once: a node bundles its script when the first page is asked for.
  const [data] = await Promise.all([readOverview(made.inspection), made.assets()]);
  const content = island("overview", Overview, { language, data });
  return show(reply, made, { title: texts.overview.title, current: "overview", content });
}

async function nodesPage(reply: FastifyReply, made: Made): Promise<FastifyReply> {
  const nodes = await made.inspection.nodes();
  const cluster = made.cluster?.state() ?? null;
  const content = island("nodes", Nodes, { language, nodes, cluster });
  return show(reply, made, { title: texts.nodesPage.title, current: "nodes", content });
}

async function listPage(reply: FastifyReply, made: Made, given: Query): Promise<FastifyReply> {
  const { inspection } = made;
  const chosen: ListQuery = {
    // Those that are not in memory are listed by kind alone.
    scope: given["scope"] === "known" && (given["kind"] ?? "") !== "" ? "known" : "active",
    kind: textOf(given["kind"]),
    state: textOf(given["state"]),
    region: textOf(given["region"]),
    node: textOf(given["node"]),
  };
  const page = await inspection.list({
    ...chosen,
    node: chosen.scope === "known" ? null : chosen.node,
    part: null,
    after: given["after"] ?? "",
    limit: listLimit,
  });
  const content = actorList({ query: chosen, page, machines: kindsIn(inspection) }, texts);
  return show(reply, made, { title: texts.actors.title, current: "actors", content });
}

async function searchPage(reply: FastifyReply, made: Made, text: string): Promise<FastifyReply> {
  const wanted = text.trim();
  const found =
    wanted.length < 2
      ? { actors: [], is_complete: true, missing: [] }
      : await made.inspection.search(wanted.slice(0, 256), listLimit);
  const content = searchResults(wanted, found, texts);
  return show(reply, made, { title: texts.searched.title(wanted), current: null, query: wanted, content });
}

async function actorPage(
  reply: FastifyReply,
  made: Made,
  ref: { readonly kind: string; readonly id: string },
): Promise<FastifyReply> {
  const { inspection } = made;
  const chart = kindsIn(inspection).find(({ kind }) => kind === ref.kind);
  const inner = inspection.machines().filter(({ part_of }) => part_of === ref.kind);
  // What a node makes once takes longest, so it begins first.
  void made.assets();
  const drawn = chart === undefined ? null : made.layouts(chart);
  const detail = await inspection.detail(ref);
  if (detail === null || chart === undefined) return notFound(reply, made, texts.actor.notThereWords);
  const newest = { before: Number.MAX_SAFE_INTEGER, limit: journalLimit };
  const [layout, parts, journal] = await Promise.all([
    drawn,
    Promise.all(inner.map(async (each) => ({ kind: each.kind, layout: await made.layouts(each) }))),
    inTime(inspection.past.journal(ref, newest), journalMs),
  ]);
  const content = island("actor", Actor, {
    language,
    detail,
    layout,
    parts,
    isLate: journal === null,
    journal: journal?.ok === true ? journal.value : null,
  });
  const { party } = detail;
  const title = `${party === null ? "" : `${party.legal_name}: `}${kindWords({ kind: ref.kind, party }, texts)} ${ref.id}`;
  return show(reply, made, { title, current: "actors", content });
}

/** The machines of the kinds of actors, without those that they run for what they keep. */
function kindsIn(inspection: Inspection): readonly MachineChart[] {
  return inspection.machines().filter(({ part_of }) => part_of === null);
}

async function refusalsPage(reply: FastifyReply, made: Made, given: Query): Promise<FastifyReply> {
  const [surface, code] = [textOf(given["surface"]), textOf(given["code"])];
  const refused = await made.inspection.refused({ surface, code, key_id: null });
  const content = island("refusals", Refusals, { language, surface, code, refused });
  return show(reply, made, { title: texts.refusals.title, current: "refusals", content });
}

async function applicationsPage(reply: FastifyReply, made: Made, given: Query): Promise<FastifyReply> {
  const [after, afterRecovery] = [textOf(given["after"]) ?? "", textOf(given["recoveries"]) ?? ""];
  const [list, lost] = await Promise.all([
    made.applications.list(after),
    made.recoveries.list(afterRecovery),
  ]);
  const recoveries = { after: afterRecovery, list: shownRecoveries(lost) };
  const content = island("applications", Applications, {
    language,
    after,
    list: shownApplications(list),
    recoveries,
  });
  return show(reply, made, { title: texts.applications.title, current: "applications", content });
}

/** All of them, or those of the actors that a search finds. */
async function partiesPage(reply: FastifyReply, made: Made, given: Query): Promise<FastifyReply> {
  const { inspection } = made;
  const wanted = (given["q"] ?? "").trim().slice(0, 256);
  const listed = { kind: "business", state: null, region: null, node: null, part: null, limit: listLimit };
  const found =
    wanted.length < 2
      ? await inspection.list({ ...listed, scope: "known", after: given["after"] ?? "" })
      : { ...(await inspection.search(wanted, listLimit)), next_after: null };
  const actors = found.actors.filter(({ kind }) => kind === "business");
  const { hasGrants } = made.revocations;
  const content = [
    partyList({ query: wanted, found: { ...found, actors } }, texts),
    island("party-acts", PartyActs, { language, hasGrants }),
  ];
  return show(reply, made, { title: texts.party.title, current: "parties", content });
}

async function partyPage(reply: FastifyReply, made: Made, uuid: string): Promise<FastifyReply> {
  const found = await made.enrolment.party(uuid);
  if (!found.ok) return notFound(reply, made, texts.party.notThere);
  const party = found.value;
  const [acts, blocks, account] = await Promise.all([
    made.revocations.acts(uuid, { after: 0, entry: null }),
    party.kind === "business" ? made.blocks.ofBusiness(uuid) : null,
    party.kind === "business" ? null : made.ledgers.account(uuid),
  ]);
  const content = island("party", Party, {
    language,
    shown: { party },
    blocks: blocks?.ok === true ? { blocks: blocks.value } : null,
    account,
    acts: { uuid, ...acts },
  });
  return show(reply, made, { title: party.legal_name, current: "parties", content });
}

async function accountsPage(reply: FastifyReply, made: Made, after: string): Promise<FastifyReply> {
  const content = accountsList(await made.ledgers.list(after), texts);
  return show(reply, made, { title: texts.accounts.title, current: "accounts", content });
}

async function takedownsPage(reply: FastifyReply, made: Made): Promise<FastifyReply> {
  const content = island("takedowns", Takedowns, { language, list: made.takedowns.inForce() });
  return show(reply, made, { title: texts.takedowns.title, current: "takedowns", content });
}

async function listsPage(reply: FastifyReply, made: Made): Promise<FastifyReply> {
  const content = island("lists", OperatorLists, { language, shown: { lists: made.lists.all() } });
  return show(reply, made, { title: texts.lists.title, current: "lists", content });
}

async function rendersPage(reply: FastifyReply, made: Made, after: string): Promise<FastifyReply> {
  const content = rendersList(await made.campaigns.unusual(after), texts);
  return show(reply, made, { title: texts.renders.title, current: "renders", content });
}

async function auditLogPage(reply: FastifyReply, made: Made, before: string | null): Promise<FastifyReply> {
  if (before !== null && parseTimestamp(before) === null)
    return notFound(reply, made, texts.notFound.words, 400);
  const content = auditList(await made.inspection.audit(before), texts);
  return show(reply, made, { title: texts.audit.title, current: "audit", content });
}

async function keyPage(reply: FastifyReply, made: Made, keyId: string): Promise<FastifyReply> {
  const { revocations, inspection } = made;
  const found = await revocations.key(keyId);
  if (!found.ok) return notFound(reply, made, texts.key.notThere);
  const { party_uuid: uuid } = found.value;
  const [acts, refused] = await Promise.all([
    revocations.acts(uuid, { after: 0, entry: `key/${keyId}` }),
    inspection.refused({ surface: null, code: null, key_id: keyId }),
  ]);
  const content = island("key", Key, {
    language,
    shown: { key: found.value },
    acts: { uuid, ...acts },
    refused,
  });
  return show(reply, made, { title: texts.key.title(keyId), current: null, content });
}

/** Where one goes afterwards is a page of this surface, and no other address. */
function signInPage(reply: FastifyReply, made: Made, wanted: string): Promise<FastifyReply> {
  const next = /^\/ui\/[^\\]*$/.test(wanted) ? wanted : uiBase;
  const content = island("sign-in", SignIn, { language, next, hasSession: hasSession(reply) });
  return show(reply, made, { title: texts.login.title, current: null, content });
}

function hasSession({ request }: FastifyReply): boolean {
  return request.admission?.via === "session";
}

/** OP1; the browser asks again by itself, except for an address that no page has. */
function notNow(reply: FastifyReply, made: Made, error: FastifyError): Promise<FastifyReply> {
  const { title, words, reasons, again } = texts.notNow;
  if (error.validation !== undefined) return notFound(reply, made, texts.notFound.words, 400);
  const problem = failureAnswer(error)?.problem;
  if (problem === undefined) made.failed(error);
  const reason = problem?.reason === "store" || problem?.reason === "lease" ? problem.reason : "other";
  const content = [
    h("h1", null, title),
    h("p", { role: "alert" }, words(reasons[problem === undefined ? "failed" : reason])),
    h("p", null, again, " ", h("a", { href: nodesPath }, texts.navigation.nodes)),
  ];
  reply.code(problem?.status ?? 500).header("refresh", String(againSeconds));
  return show(reply, made, { title, current: null, content });
}

function notFound(reply: FastifyReply, made: Made, words: string, status = 404): Promise<FastifyReply> {
  const content = [h("h1", null, texts.notFound.title), h("p", null, words)];
  return show(reply.code(status), made, { title: texts.notFound.title, current: null, content });
}

interface Shown extends Omit<FrameOptions, "texts" | "visitor"> {
  readonly title: string;
  readonly content: ComponentChild;
}

async function show(reply: FastifyReply, { assets }: Made, page: Shown): Promise<FastifyReply> {
  const { title, content, ...place } = page;
  const { admission, url } = reply.request;
  const visitor = { name: admission?.user ?? null, hasSession: hasSession(reply), at: url };
  const framed = frame({ texts, ...place, visitor }, content);
  const html = applicationPage({ title, language, content: framed }, await assets());
  return reply.headers(applicationHeaders).send(html);
}

function sendAsset(reply: FastifyReply, { mediaType, body }: Asset): FastifyReply {
  return reply
    .header("content-type", mediaType)
    .header("cache-control", "private, max-age=31536000, immutable")
    .header("cross-origin-resource-policy", "same-origin")
    .send(body);
}

function textOf(given: string | undefined): string | null {
  return given === undefined || given === "" ? null : given;
}
