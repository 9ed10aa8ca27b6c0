// The people of a business, as commands of its actor: who may do what at the portal.

import type { KeyFacts } from "./business.ts";
import type { RegisterAct, RegisterReply } from "./protocol.ts";

/** A viewer sees everything of the business and changes nothing; each other role may be that of a key as well. */
export const memberRoles = ["owner", "admin", "developer", "viewer"] as const;
export type MemberRole = (typeof memberRoles)[number];

/** The roles that bind the business: what they seal, everybody can verify. */
export const bindingRoles: readonly MemberRole[] = ["owner", "admin"];

/** Which roles a member of each role gives and takes. */
export const givenBy: Readonly<Record<MemberRole, readonly MemberRole[]>> = {
  owner: memberRoles,
  admin: ["developer", "viewer"],
  developer: [],
  viewer: [],
};

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

export interface ListedMember extends Member {
  readonly person_id: string;
  readonly since_ms: number;
}

/** A role that waits for somebody who has its link. */
export interface Invitation {
  /** The hash of the link's secret, in base64url. */
  readonly id: string;
  readonly role: MemberRole;
  /** Who invites, and until when. */
  readonly person_id: string;
  readonly until_ms: number;
}

export interface ListedPeople {
  readonly members: readonly ListedMember[];
  readonly invitations: readonly Invitation[];
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
    /** The member who does it, whose role has to give and take these roles; everybody may take their own. */
    readonly by_person?: string;
    /** The invitation by which somebody new has the role; it is used then. */
    readonly invitation?: string;
    readonly act: RegisterAct;
  }): RegisterReply;
  /**
   * A member of a role that binds seals from now on for the business with a new passkey, whose key is registered in the same commit. Who
   * has one keeps it, unless its key was revoked and is named. Repeatable.
   */
  "sealer.set"(command: {
    readonly person_id: string;
    readonly credential_id: string;
    /** With the member's role. It belongs to the business already (`claimProvenKey` in service/register/parties.ts). */
    readonly key: KeyFacts;
    /** The key_id of the passkey that the member had, which is revoked. */
    readonly replaces?: string;
    readonly act: RegisterAct;
  }): RegisterReply;
  /** A member invites somebody to a role that they give, or takes back an invitation to one, with a role of null. Repeatable by its id. */
  "invitation.set"(
    command: Omit<Invitation, "role"> & { readonly role: MemberRole | null; readonly act: RegisterAct },
  ): RegisterReply;
  /** Read-only; null for one that is used, taken back or over, or whose member does not give the role any more. */
  "invitation.read"(command: { readonly id: string }): Invitation | null;
  /** Read-only: all people, and the invitations that wait, whose members still give what they offer; null for somebody who has no role. */
  "members.list"(command: { readonly person_id: string }): ListedPeople | null;
  /** Read-only; null for a person who has no role in the business. */
  "member.read"(command: { readonly person_id: string }): Member | null;
}
