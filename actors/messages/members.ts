// The people of a business, as commands of its actor: who may do what at the portal.

import type { PersonRole } from "./party.ts";
import type { RegisterAct, RegisterReply } from "./protocol.ts";

/** A viewer sees everything of the business and changes nothing. */
export type MemberRole = PersonRole | "viewer";

export interface MembersProtocol {
  /** Gives the person this role; with null, takes the one that it has. A business that has an owner keeps one. */
  "member.set"(command: {
    readonly person_id: string;
    readonly role: MemberRole | null;
    readonly act: RegisterAct;
  }): RegisterReply;
  /** Read-only: the role of a person in the business; null for none. */
  "member.read"(command: { readonly person_id: string }): MemberRole | null;
}
