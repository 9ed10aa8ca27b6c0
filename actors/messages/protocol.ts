// The commands that a kind of actor takes and its replies: one interface for each kind, with a signature for each command.
//
//   export interface DoorProtocol {
//     "door.open"(command: { readonly key: string }): { readonly status: "open" | "locked" };
//   }
//
// The command is sent as `{type: "door.open", key: …}`. `ask` infers the reply from the actor's kind and the command's
// type, and the kind's `decide` is checked against the same replies, so no caller has to assert what it will get.

/** Commands and events are plain JSON objects, named by `type`. */
export interface Message {
  readonly type: string;
}

export type CommandType<P> = keyof P & string;

type Asked<Signature> = Signature extends (command: infer Members) => unknown ? Members : never;
type Answered<Signature> = Signature extends (command: never) => infer Reply ? Reply : never;

/** The command of the given type, as it is sent. */
export type CommandOf<P, T extends CommandType<P>> = { readonly type: T } & Asked<P[T]>;

export type Commands<P> = { [T in CommandType<P>]: CommandOf<P, T> }[CommandType<P>];

/** The reply to a command of the given type. */
export type ReplyOf<P, T extends CommandType<P>> = Answered<P[T]>;

/** The reply to a command that has nothing to report except that it was done. */
export interface DoneReply {
  readonly status: "done";
}

/** The reply of a command that only changes the register. */
export type RegisterReply =
  /** `changed` is set if the command changed something. */
  | { readonly status: "done"; readonly changed?: true }
  | { readonly status: "refused"; readonly code: string; readonly detail: string };

/**
 * The number of the last change of the entry that its sender saw, 0 where there was none: if it is another by now, nothing is done. So a
 * command that arrives late changes nothing after its opposite was done.
 */
export interface Seen {
  readonly expected?: number;
}

/** Who requested a change of a party's register or cancelled its push, and why. The party's actor keeps it, and it is published nowhere. */
export interface RegisterAct {
  readonly by: string;
  readonly reason: string;
}
