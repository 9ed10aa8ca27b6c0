// The surroundings of a machine that is run as a pure function: it starts nothing, sends nothing and reads no clock.

import type { AnyStateMachine, ExecutableActionObject } from "xstate";

export type ActorScope = Parameters<AnyStateMachine["transition"]>[2];

/** All members of a scope that a machine without children reads (M1 in machine-driver.ts). */
export function inertScope(observe: {
  readonly collect: (action: ExecutableActionObject) => void;
  readonly inspect: (microstep: {
    readonly _transitions: readonly { readonly target: unknown; readonly actions: readonly unknown[] }[];
  }) => void;
}): ActorScope {
  const nothing = (): void => {};
  const system = { _sendInspectionEvent: observe.inspect };
  const self = {
    id: "",
    sessionId: "",
    system,
    send: () => forbid("send"),
    getSnapshot: () => forbid("getSnapshot"),
  };
  const scope = {
    self,
    system,
    id: "",
    sessionId: "",
    logger: nothing,
    defer: nothing,
    emit: () => forbid("emit"),
    stopChild: () => forbid("stopChild"),
    actionExecutor: observe.collect,
  };
  return scope as unknown as ActorScope;
}

function forbid(what: string): never {
  throw new Error(`a machine of this system has no ${what}`);
}
