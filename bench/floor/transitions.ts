// Child process, floor of in-memory messages: the machine's own transition function with one scope for all calls.

import type { AnyMachineSnapshot, AnyStateMachine } from "xstate";
import { type Added, counterMachine } from "../actors/counter.ts";
import type { MessageLoad } from "../actors/messages.ts";
import { answerParent } from "../answer-parent.ts";

type Scope = Parameters<AnyStateMachine["transition"]>[2];

/** Milliseconds that the transitions took. */
function run({ actors, messages }: MessageLoad): number {
  const machine: AnyStateMachine = counterMachine;
  const scope = inertScope();
  const event: Added = { type: "added", by: 1 };
  const snapshots: AnyMachineSnapshot[] = Array.from({ length: actors }, () =>
    machine.getInitialSnapshot(scope),
  );
  const turn = (): void => {
    for (let actor = 0; actor < actors; actor += 1) {
      const snapshot = snapshots[actor];
      if (snapshot !== undefined) snapshots[actor] = machine.transition(snapshot, event, scope);
    }
  };
  for (let warming = 0; warming < 40; warming += 1) turn();
  const startedMs = performance.now();
  for (let done = 0; done < messages; done += actors) turn();
  return performance.now() - startedMs;
}

/** A scope in which a machine without effects or children runs. */
function inertScope(): Scope {
  const nothing = (): void => {};
  const system = { _sendInspectionEvent: nothing };
  const self = { id: "", sessionId: "", system, send: nothing };
  const scope = { self, system, id: "", sessionId: "", logger: nothing, defer: nothing, emit: nothing };
  return { ...scope, stopChild: nothing, actionExecutor: nothing } as unknown as Scope;
}

answerParent({ run });
