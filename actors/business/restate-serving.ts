// Has the store and every region's index follow what is served of a business now (SV1 in serving.ts). Both activities may be repeated:
// the change of a record orders what is told of it.

import type { RecordHead } from "../../storage/record-store.ts";
import { regionRef } from "../messages/refs.ts";
import { restatedRows, type ServedState } from "../messages/serving.ts";
import type { ActivityContext } from "../system/definition.ts";
import type { BusinessPorts } from "./activities.ts";
import { restatedMax } from "./serving.ts";

type Context = ActivityContext<"business">;

export function servedHead(businessUuid: string, { collection: type, ...state }: ServedState): RecordHead {
  return { ...state, business_uuid: businessUuid, type };
}

/** Tells of these records; it is done once every region has confirmed. */
export async function restateServing(
  { records: store, regions }: Pick<BusinessPorts, "records" | "regions">,
  records: readonly ServedState[],
  context: Context,
): Promise<null> {
  await store.putHeads(records.map((each) => servedHead(context.actor.id, each)));
  const commands = restatedRows(records);
  const told = await Promise.allSettled(
    // A region that cannot be reached does not delay the others.
    regions().flatMap((region) => commands.map((command) => tell(region, command, context))),
  );
  for (const each of told) if (each.status === "rejected") throw each.reason;
  return null;
}

async function tell(
  region: string,
  command: ReturnType<typeof restatedRows>[number],
  context: Context,
): Promise<void> {
  const reply = await context.ask(regionRef(region), command);
  if (reply.status !== "applied") throw new Error(`The index of region ${region} is unavailable.`);
}

/** Has the actor go through all its records; what each page tells is work of its own. */
export async function restateAll(context: Context): Promise<null> {
  for (let after: string | null = ""; after !== null; ) {
    const page: { readonly next: string | null } = await context.ask(context.actor, {
      type: "serving.restate",
      ...{ after, limit: restatedMax },
    });
    after = page.next;
  }
  return null;
}
