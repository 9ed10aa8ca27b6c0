// What an AI company decides for itself, as commands of its party's actor.

import type { RegisterAct, RegisterReply, Seen } from "./protocol.ts";

/** One version of the terms that an AI company agreed to. */
export interface TermsAgreement {
  readonly version: number;
  /** The hash of the text that it agreed to. */
  readonly sha256: string;
  readonly agreed_at: string;
}

export interface CompanyProtocol {
  /** An AI company chooses whether the key directory lists it. */
  "directory.choose"(command: { readonly listed: boolean; readonly act?: RegisterAct }): RegisterReply;
  /** It agrees to the text of a version. Repeated, it changes nothing: the first instant stands. `act` names key and request. */
  "terms.agree"(command: {
    readonly version: number;
    readonly sha256: string;
    readonly act: RegisterAct;
  }): RegisterReply;
  /** It belongs to another group from now on, and keeps the one that it leaves among its former groups. */
  "group.join"(command: { readonly group: string; readonly act?: RegisterAct } & Seen): RegisterReply;
}
