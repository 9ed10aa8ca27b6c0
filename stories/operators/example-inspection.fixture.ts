// The examples of what operators read of nodes and actors, and of what they do about brands. For tests.

import { readFile } from "node:fs/promises";
import { contractFetch } from "../../api/contract.fixture.ts";
import type { RunningNode } from "../../node/composition/start.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { formOf } from "../contract/example-forms.fixture.ts";

type AskOps = (path: string, route: string, body?: object, method?: string) => Promise<void>;

/** Stands for the operators' token, which no example shows. */
export const tokenPlace = "the-token-of-the-operators";

/** The first event of a live view, as it comes; the rest is not waited for. */
async function firstEvent(url: string): Promise<string> {
  const stop = new AbortController();
  const { body } = await fetch(url, { signal: stop.signal });
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of body as ReadableStream<Uint8Array>) {
    text += decoder.decode(part, { stream: true });
    if (text.includes("\n\n")) break;
  }
  stop.abort();
  return `${text.split("\n")[0]}\ndata: …`;
}

export async function inspectionExamples(
  askOps: AskOps,
  {
    id,
    pushId,
    seen,
  }: {
    readonly id: string;
    readonly pushId: string;
    /** What an act on a party names of what was seen. */
    readonly seen: (party: string) => Promise<{ readonly expected: number }>;
  },
): Promise<void> {
  for (const last of ["nodes", "counts", "attention", "machines", "refusals"])
    await askOps(`/ops/${last}`, `/ops/${last}`);
  await askOps("/ops/actors?kind=push", "/ops/actors");
  await askOps("/ops/machines/push", "/ops/machines/:kind");
  await askOps(`/ops/search?q=${pushId}`, "/ops/search");
  for (const [path, route] of [
    ["", ""],
    ["/journal?limit=2", "/journal"],
  ])
    await askOps(`/ops/actors/push/${encodeURIComponent(id)}${path}`, `/ops/actors/:kind/:id${route}`);
  const [business = ""] = id.split(".");
  const act = { reason: "It is looked at." };
  for (const name of ["retry", "release", "cancel", "passivate"])
    await askOps(`/ops/actors/push/${encodeURIComponent(id)}/${name}`, `/ops/actors/:kind/:id/${name}`, {
      expected: { status: "active" },
      ...act,
    });
  const drain = { expected: { state: "active" }, ...act };
  await askOps("/ops/nodes/f00dfeed1234/drain", "/ops/nodes/:incarnation/drain", drain);
  await askOps("/ops/session", "/ops/session");
  await askOps(`/ops/brands/${business}`, "/ops/brands/:business_uuid");
  for (const name of ["confirm", "unconfirm"]) {
    const brand = { name: "Lindqvist & Rowe", reason: "The entry in the register of trade marks was shown." };
    const body = { ...brand, ...(await seen(business)) };
    await askOps(`/ops/brands/${business}/${name}`, `/ops/brands/:business_uuid/${name}`, body);
  }
  await askOps("/ops/session", "/ops/session", {
    token: tokenPlace,
    rights: ["read"],
    by: "Ada at the desk",
  });
  await askOps("/ops/session", "/ops/session", undefined, "DELETE");
}

/** What an operator sees of actors depends on what each was doing: only the members are compared. */
const momentary =
  /^(?:GET \/ops\/(?:nodes|counts|attention|refusals|audit|search|actors(?:\/:kind\/:id.*)?)|POST \/ops\/actors\/.*)$/;

export function comparedForm(
  key: string,
  example: { readonly answers: Readonly<Record<string, unknown>> } | undefined,
): unknown {
  if (!momentary.test(key)) return formOf(example);
  return Object.entries(example?.answers ?? {}).map(([status, body]) => [
    status,
    Object.keys(body as object).sort(),
  ]);
}

/** The live views, and the file that would fill a page. */
export async function liveExamples(
  { urls, config }: Pick<RunningNode, "urls" | "config">,
  id: string,
  note: (key: string, text: string) => void,
): Promise<void> {
  const base = urls.ops_url;
  note("GET /ops/live/counts", await firstEvent(`${base}/ops/live/counts`));
  note("GET /ops/live/actors/:kind/:id", await firstEvent(`${base}/ops/live/actors/push/${id}`));
  const token = (await readFile(`${config.home}/ops-token`, "utf8")).trim();
  const headers = { authorization: signedIn(token) };
  const file = await (await contractFetch(`${base}/ops/actors/push/${id}/export`, { headers })).text();
  note("GET /ops/actors/:kind/:id/export", `${file.split("\n")[0]}\n{…}`);
}
