// The people of a business, as commands of its actor: who may do what at the portal.

import type { PersonRole } from "./party.ts";
import type { RegisterAct, RegisterReply } from "./protocol.ts";

/** A viewer sees everything of the business and changes nothing. */
export type MemberRole = PersonRole | "viewer";

/** The roles that bind the business: what they seal, everybody can verify. */
export const bindingRoles: readonly MemberRole[] = ["owner", "admin"];

/** What a person may do for the business, and with what they seal. */
export interface Member {
  readonly role: MemberRole;
  /** The passkey that was made for this business; null for somebody who has none. */
  readonly sealing: SealingPasskey | null;
}

export interface SealingPasskey {
  /** Its key in the register. */
  readonly key_id: string;
  /** By which a browser finds it, in base64url. */
  readonly credential_id: string;
}

export interface MembersProtocol {
  /**
   * Gives the person this role, and a passkey if one is given; with a role of null, takes both. A business that has an owner keeps one.
   * Somebody who seals and is to have a role that does not bind, or another passkey, loses the key that they sealed with: it has to be named,
   * and is revoked in the same commit.
   */
  "member.set"(command: {
    readonly person_id: string;
    readonly role: MemberRole | null;
    readonly sealing?: SealingPasskey;
    /** The key_id of the passkey that it takes. */
    readonly revokes?: string;
    readonly act: RegisterAct;
  }): RegisterReply;
  /** Read-only; null for a person who has no role in the business. */
  "member.read"(command: { readonly person_id: string }): Member | null;
}
