// What a kind of actor may be told, and what it answers: one interface a kind, with a signature for each command.
//
//   export interface DoorProtocol {
//     "door.open"(command: { readonly key: string }): { readonly status: "open" | "locked" };
//   }
//
// The command on its way is `{type: "door.open", key: …}`. `ask` infers the reply from the actor's kind and the command's
// type, and `decide` of the kind is held to the same answers, so that no caller has to claim what it will get.

/** Commands and events are plain JSON objects named by `type`. */
export interface Message {
  readonly type: string;
}

/** Names of the commands of a protocol. */
export type CommandType<P> = keyof P & string;

type Asked<Signature> = Signature extends (command: infer Members) => unknown ? Members : never;
type Answered<Signature> = Signature extends (command: never) => infer Reply ? Reply : never;

/** The command of that type, as it is sent. */
export type CommandOf<P, T extends CommandType<P>> = { readonly type: T } & Asked<P[T]>;

/** Every command of a protocol. */
export type Commands<P> = { [T in CommandType<P>]: CommandOf<P, T> }[CommandType<P>];

/** What a command of that type is answered. */
export type ReplyOf<P, T extends CommandType<P>> = Answered<P[T]>;

/** The reply of a command that has nothing to tell but that it was done. */
export interface DoneReply {
  readonly status: "done";
}
