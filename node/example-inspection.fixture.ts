// The examples of what operators read of nodes and actors. For tests.

import { formOf } from "./example-forms.fixture.ts";

type AskOps = (path: string, route: string) => Promise<void>;

export async function inspectionExamples(
  askOps: AskOps,
  { id, pushId }: { readonly id: string; readonly pushId: string },
): Promise<void> {
  for (const last of ["nodes", "counts", "attention", "machines"])
    await askOps(`/ops/${last}`, `/ops/${last}`);
  await askOps("/ops/actors?kind=push", "/ops/actors");
  await askOps("/ops/machines/push", "/ops/machines/:kind");
  await askOps(`/ops/search?q=${pushId}`, "/ops/search");
  const event = encodeURIComponent('{"type":"push.accepted"}');
  for (const [path, route] of [
    ["", ""],
    ["/journal?limit=2", "/journal"],
    ["/states/newest", "/states/:seq"],
    ["/changes?from=0", "/changes"],
    [`/what-if?event=${event}&seq=1`, "/what-if"],
  ])
    await askOps(`/ops/actors/push/${encodeURIComponent(id)}${path}`, `/ops/actors/:kind/:id${route}`);
}

/** What an operator sees of actors depends on what each was doing: only the members are compared. */
const momentary = /^GET \/ops\/(?:nodes|counts|attention|search|actors(?:\/:kind\/:id.*)?)$/;

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
