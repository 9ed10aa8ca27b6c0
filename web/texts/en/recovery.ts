// What the portal says of an owner who lost all passkeys and comes back, in English.

export const recover = {
  title: "I lost my passkeys",
  words:
    "You came in here as somebody new. Name the business whose owner you were: two operators of this service verify who you are. Then everybody who binds the business is told, and may stop it for 72 hours. After that you are its owner in your former place, and your former key is revoked.",
  uuid: "UUID of the business",
  uuidHint: "It is in whatever the business published, and on its certificate.",
  button: "Continue",
  stop: {
    title: "An owner is about to be replaced",
    words: (applicant: string, name: string) =>
      `Somebody who is called ${applicant} says that they are ${name} and lost their passkeys. If that is not so, stop it. Otherwise they are owner in the place of ${name} at`,
    button: "Stop it",
  },
} as const;

export const recoveryStates = {
  waiting: "waits for two operators of this service",
  approved: "waits for a second operator of this service",
  announcing: "approved",
  announced: "approved; the people of the business may stop it until",
  replacing: "approved, and is being done",
  done: "done",
  refused: "refused",
  stopped: "stopped by the business",
} as const;

/** Of the notice to those who bind the business. */
export const recoveryNotice = (of: { state: string; name: string; applicant_name: string; until: string }) =>
  of.state === "announced"
    ? {
        title: "An owner is about to be replaced",
        words: `Somebody who is called ${of.applicant_name} says that they are ${of.name} and lost their passkeys, and two operators of this service believe it. At ${of.until} they are owner in the place of ${of.name}. If that is not so, stop it before, on the page of the business: any owner or admin can.`,
      }
    : of.state === "stopped"
      ? {
          title: "No owner is replaced",
          words: `${of.name} stays owner: it was stopped that ${of.applicant_name} takes their place.`,
        }
      : {
          title: "An owner was replaced",
          words: `${of.applicant_name} is owner in the place of ${of.name}, whose role and key ended.`,
        };

type Act = readonly [title: string, ...sentences: string[]];

export const recoveryActs = {
  recover: (uuid: string): Act => [
    "Ask for your place as an owner",
    `You ask for the place of an owner of the business ${uuid}, which you were.`,
    "If two operators approve it and nobody who binds the business stops it within 72 hours, you are its owner in that place, and the passkey that signs this seals for it.",
  ],
  stopRecovery: (name: string, applicant: string): Act => [
    "Stop it",
    `${applicant} does not become an owner of ${name}. The owner stays who they are.`,
  ],
};

export const recoveryProblems = {
  uuid_invalid: ["Not a UUID", "Write the UUID of the business: 32 digits and letters with four dashes."],
  member_known: ["You work for it", "You work for this business already."],
  recovery_known: [
    "You asked before",
    "You asked for a place in this business before. Take it back on your first page, and ask again after a moment.",
  ],
} as const;
