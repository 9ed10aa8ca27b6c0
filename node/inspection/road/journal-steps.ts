// What the journals of a push, of its business and of its key say of its steps. Each has the time and the node of its commit.
//   JS1. Each journal is read for itself, so the steps of two actors may be of different instants.
//   JS2. A journal keeps the events since its last snapshot; `isPruned` says that there were earlier ones.

import type { ActorDefinition, Message } from "../../../actors/system/definition.ts";
import type { ActivationBody } from "../../../actors/system/journal.ts";
import { readActivations, walkJournal } from "../../../actors/system/journal-walk.ts";
import { MachineDriver } from "../../../actors/system/machine-driver.ts";
import type { PushEvent } from "../../../machines/push.ts";
import type { PushRoad } from "../../../ops/push-road-shape.ts";
import type { ActorRef, ActorStore } from "../../../storage/actor-store.ts";
import { nameOf } from "../look.ts";

export type Step = PushRoad["steps"][number];
/** What a step is, before it is known where it happened. */
export type Said = Pick<Step, "what" | "words"> & Partial<Pick<Step, "region">>;

export interface JournalDeps {
  readonly store: Pick<ActorStore, "readHead" | "readRows">;
  readonly definitions: readonly ActorDefinition[];
  readonly pause: () => Promise<void>;
}

export interface JournalPart {
  readonly actor: string;
  readonly steps: readonly Step[];
  /** The events that the caller wanted, with the times of their commits. */
  readonly events: readonly { readonly event: Message; readonly atMs: number }[];
  readonly activations: readonly ActivationBody[];
  readonly isPruned: boolean;
  /** The context after the newest event; undefined if it cannot be read. */
  readonly context: unknown;
}

/** Null for an actor that never existed. */
export async function readJournalPart(
  { store, definitions, pause }: JournalDeps,
  ref: ActorRef,
  { isWanted, say }: { isWanted(event: Message): boolean; say(event: Message): readonly Said[] },
): Promise<JournalPart | null> {
  const definition = definitions.find(({ kind }) => kind === ref.kind);
  if (definition === undefined) return null;
  const activations = await readActivations(store, ref);
  let steps: Step[] = [];
  let events: JournalPart["events"][number][] = [];
  const walk = await walkJournal(ref, {
    ...{ store, pause, driver: new MachineDriver(definition) },
    again: () => {
      [steps, events] = [[], []];
    },
    visit: ({ event, atMs, epoch }) => {
      if (!isWanted(event)) return true;
      events.push({ event, atMs });
      const owner = ownerOf(activations.find(({ p }) => p === epoch));
      for (const said of say(event)) steps.push(stepOf(nameOf(ref), said, { atMs, ...owner }));
      return true;
    },
  });
  if (walk === null) return null;
  const { prunedUpTo, end } = walk;
  const part = { actor: nameOf(ref), steps, events, activations };
  return { ...part, isPruned: prunedUpTo > 0, context: end?.context };
}

interface Owner {
  readonly region: string | null;
  readonly node: string | null;
}

export function stepOf(
  actor: string,
  { region, ...said }: Said,
  { atMs, ...owner }: Owner & { readonly atMs: number },
): Step {
  const at = new Date(atMs).toISOString();
  return { at, actor, node: owner.node, region: region ?? owner.region, ...said };
}

/** Who had the actor at an instant: the last one whose first commit was not later. */
export function ownerAt(activations: readonly ActivationBody[], atMs: number): Owner {
  return ownerOf(activations.find(({ t }) => t <= atMs));
}

function ownerOf(activation: ActivationBody | undefined): Owner {
  const [region = null, node = null] = activation?.o.split("/", 2) ?? [];
  return { region, node };
}

/** The steps of the whole push; those of its chunks are in chunk-road.ts. */
export function ofPush(written: Message): readonly Said[] {
  const event = written as PushEvent;
  switch (event.type) {
    case "push.accepted":
      return [acceptedStep, ...heldBy(event.held_reasons)];
    case "push.prepared": {
      const words = "The whole file was read, and it was decided whether it is held.";
      return [{ what: "prepared", words }, ...heldBy(event.held_reasons)];
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

export const acceptedStep: Said = {
  what: "accepted",
  words: "The push was accepted: it survives any node from here on.",
};
export const chargedStep: Said = {
  what: "charged",
  words: "The records and bytes were charged to the key.",
};
export const numberedStep: Said = { what: "numbered", words: "The business gave the push its number." };

function heldBy(reasons: readonly { readonly code: string }[]): readonly Said[] {
  if (reasons.length === 0) return [];
  const codes = [...new Set(reasons.map(({ code }) => code))].join(", ");
  return [{ what: "held", words: `The push is held until it is decided about (${codes}).` }];
}

export function ofBusiness(event: Message & { readonly act?: unknown }): readonly Said[] {
  const { type } = event;
  const who = event.act === undefined ? "" : " by an operator";
  const said: Readonly<Record<string, Said>> = {
    "push.admitted": numberedStep,
    "push.held": { what: "held", words: "The business notes that the push is held." },
    "hold.settled": { what: "decided", words: "The business settled the hold." },
    "push.finished": { what: "finished", words: "The business is done with the push." },
    "push.cancelled": {
      what: "cancelled",
      words: `The push was cancelled${who} before anything of it was published.`,
    },
  };
  const found = said[type];
  return found === undefined ? [] : [found];
}

export function ofKey({ type }: Message): readonly Said[] {
  return type === "push.charged" ? [chargedStep] : [];
}
