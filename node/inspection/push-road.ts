// The road of one push over the actors that took part in it, as a timeline from their journals: what was received, charged, numbered,
// held, judged, signed, stored and indexed, where and when.
//   PR1. Each journal is read for itself, so the steps of two actors may be of different instants; each step has its own time.
//   PR2. A journal keeps the events since its last snapshot: actors of which earlier events may be missing are named.

import { businessRef, keyRef, pushRef } from "../../actors/messages/refs.ts";
import type { ActorDefinition, Message } from "../../actors/system/definition.ts";
import { readActivations, type WalkedEvent, walkJournal } from "../../actors/system/journal-walk.ts";
import { MachineDriver } from "../../actors/system/machine-driver.ts";
import type { PushContext, PushEvent } from "../../machines/push.ts";
import type { PushRoad } from "../../ops/push-road-shape.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { compareTexts, nameOf } from "./look.ts";

type Step = PushRoad["steps"][number];
/** What a step is, before it is known where it happened. */
type Said = Pick<Step, "what" | "words"> & Partial<Pick<Step, "chunk" | "region" | "at">>;

export interface PushRoadDeps {
  readonly store: Pick<ActorStore, "readHead" | "readRows">;
  readonly definitions: readonly ActorDefinition[];
  readonly pause: () => Promise<void>;
}

/** Null for a push that was never accepted. */
export async function readPushRoad(
  deps: PushRoadDeps,
  businessUuid: string,
  pushId: string,
): Promise<PushRoad | null> {
  const push = await stepsOf(deps, pushRef(businessUuid, pushId), ({ event }) => ofPush(event));
  const facts = (push?.context as PushContext | undefined)?.facts ?? null;
  if (push === null || facts === null) return null;
  const isOfPush = (event: Message): boolean => "push_id" in event && event.push_id === pushId;
  const others = await Promise.all([
    stepsOf(deps, businessRef(businessUuid), ({ event }) => (isOfPush(event) ? ofBusiness(event) : [])),
    stepsOf(deps, keyRef(businessUuid, facts.key_id), ({ event }) => (isOfPush(event) ? ofKey(event) : [])),
  ]);
  const parts = [push, ...others].filter((part) => part !== null);
  const received: Step = {
    ...{ at: facts.received_at, what: "received", actor: nameOf(pushRef(businessUuid, pushId)) },
    words: `${facts.records} records of ${facts.collection} were received (${facts.source}, path ${facts.path}).`,
    ...{ chunk: null, region: null, node: null },
  };
  const steps = [received, ...parts.flatMap((part) => part.steps)];
  return {
    business_uuid: businessUuid,
    push_id: pushId,
    // A sort keeps the order of steps of the same instant.
    steps: steps.sort((a, b) => compareTexts(a.at, b.at)),
    pruned: parts.filter(({ isPruned }) => isPruned).map(({ actor }) => actor),
  };
}

interface Part {
  readonly actor: string;
  readonly steps: readonly Step[];
  readonly isPruned: boolean;
  readonly context: unknown;
}

async function stepsOf(
  { store, definitions, pause }: PushRoadDeps,
  ref: ActorRef,
  say: (walked: WalkedEvent) => readonly Said[],
): Promise<Part | null> {
  const definition = definitions.find(({ kind }) => kind === ref.kind);
  if (definition === undefined) return null;
  const owners = new Map((await readActivations(store, ref)).map(({ p, o }) => [p, o]));
  let steps: Step[] = [];
  const walk = await walkJournal(ref, {
    ...{ store, pause, driver: new MachineDriver(definition) },
    again: () => {
      steps = [];
    },
    visit: (walked) => {
      const owner = owners.get(walked.epoch ?? -1) ?? null;
      const [home = null, node = null] = owner === null ? [] : owner.split("/", 2);
      const at = new Date(walked.atMs).toISOString();
      for (const { region = home, chunk = null, ...said } of say(walked))
        steps.push({ at, actor: nameOf(ref), node, region, chunk, ...said });
      return true;
    },
  });
  if (walk === null) return null;
  return { actor: nameOf(ref), steps, isPruned: walk.prunedUpTo > 0, context: walk.end?.context };
}

function ofPush(written: Message): readonly Said[] {
  const event = written as PushEvent;
  switch (event.type) {
    case "push.accepted":
      return [
        { what: "accepted", words: "The push was accepted: it survives any node from here on." },
        ...(event.held_reasons.length === 0 ? [] : [heldBy(event.held_reasons)]),
      ];
    case "push.prepared":
      return [
        { what: "prepared", words: "The whole file was read, and it was decided whether it is held." },
        ...(event.held_reasons.length === 0 ? [] : [heldBy(event.held_reasons)]),
      ];
    case "chunk.settled":
      return settled(event);
    case "chunk.indexed": {
      const { chunk, region } = event;
      return [
        { what: "indexed", words: `The index of ${region} confirmed chunk ${chunk + 1}.`, chunk, region },
      ];
    }
    case "push.failed":
      return [{ what: "failed", words: `The push failed: ${event.code}.` }];
    case "hold.confirmed":
      return [{ what: "confirmed", words: "An owner or admin confirmed the held push." }];
    case "hold.rejected":
      return [{ what: "rejected", words: "The held push is not published." }];
    default:
      return [];
  }
}

function heldBy(reasons: readonly { readonly code: string }[]): Said {
  const codes = [...new Set(reasons.map(({ code }) => code))].join(", ");
  return { what: "held", words: `The push is held until it is decided about (${codes}).` };
}

function settled({
  chunk,
  tally,
  unindexed,
  failed,
}: Extract<PushEvent, { type: "chunk.settled" }>): readonly Said[] {
  const { accepted, updated, rejected } = tally;
  const counts = `${accepted} accepted, ${updated} updated, ${rejected} rejected`;
  const words =
    failed === undefined
      ? `Chunk ${chunk + 1} was judged, signed and stored: ${counts}.`
      : `Chunk ${chunk + 1} was given up (${failed.code}).`;
  const behind = unindexed.map((region) => ({
    ...{ what: "index_behind", words: `The index of ${region} has yet to confirm chunk ${chunk + 1}.` },
    ...{ chunk, region },
  }));
  const isIndexed = unindexed.length === 0 && failed === undefined;
  const indexed = { what: "indexed", words: `Every index has confirmed chunk ${chunk + 1}.`, chunk };
  return [{ what: "stored", words, chunk }, ...behind, ...(isIndexed ? [indexed] : [])];
}

function ofBusiness({ type }: Message): readonly Said[] {
  const words: Readonly<Record<string, readonly [what: string, words: string]>> = {
    "push.admitted": ["numbered", "The business gave the push its number."],
    "push.held": ["held", "The business notes that the push is held."],
    "hold.settled": ["decided", "The business settled the hold."],
    "push.finished": ["finished", "The business is done with the push."],
    "push.cancelled": ["cancelled", "The push was cancelled before anything of it was published."],
  };
  const [what, said] = words[type] ?? [];
  return what === undefined || said === undefined ? [] : [{ what, words: said }];
}

function ofKey({ type }: Message): readonly Said[] {
  return type === "push.charged"
    ? [{ what: "charged", words: "The records and bytes were charged to the key." }]
    : [];
}
