// What the portal says, in English.

type Act = readonly [title: string, ...sentences: string[]];

export const portal = {
  brand: "Business portal",
  skip: "Skip to the content",
  pageTitle: (title: string) => `${title} – Business portal`,
  navigation: { label: "Pages", home: "Businesses", account: "My account" },
  signOut: (name: string) => `Sign out ${name}`,
  goOn: "Go on",
  confirm: "Confirm with a passkey",
  make: "Make the passkey",
  doNothing: "Go back, and change nothing",
  needsScript: "Passkeys need JavaScript. Allow it for this page.",
  noAnswer: "No passkey was used. Try again, or use another device that has one.",
  unknownNetwork: "not known",
  signIn: {
    title: "Sign in",
    words:
      "With a passkey: your device asks for your fingerprint, your face or its PIN. There are no passwords here.",
    button: "Sign in with a passkey",
    fresh: "I have no passkey here yet",
  },
  join: {
    title: "Sign up",
    words: "You come in with a passkey, which your device keeps. Nothing about you is published.",
    name: {
      label: "Your name",
      hint: "The people of your business see it, and the operators of this service.",
      button: "Continue",
    },
    known: "I have a passkey here",
    makeWords: (name: string) =>
      `Your device now makes a passkey for ${name}. Add a second one afterwards: with only one, you cannot come in again once it is lost.`,
    make: "Make my passkey",
  },
  home: {
    title: "Businesses",
    welcome: (name: string) => `Welcome, ${name}`,
    words: "You work for no business here yet.",
    caption: "Your businesses and applications",
    columns: ["Business", "Country", "State"],
    states: {
      waiting: "waits for the operators of this service",
      approved: "approved, and is being opened",
      opened: "open",
      refused: "refused",
    },
    apply: "Apply for a business",
  },
  apply: {
    title: "Apply for a business",
    words:
      "The operators of this service verify that the business exists and that you may act for it. Then it gets a certificate, and you are its owner.",
    legalName: "Legal name",
    legalNameHint: "Exactly as in the register in which the business is entered: its certificate states it.",
    country: "Country",
    countryHint: "The two letters of the country in which it is registered, such as GB or DE.",
    button: "Continue",
    makeTitle: "Make the passkey that seals",
    makeWords: (name: string) =>
      `What binds ${name} is sealed with a passkey of its own. Your device now makes it. It is published with the business, and signs nobody in.`,
    make: "Make the sealing passkey",
    sealedAs: (name: string) => `Seal for ${name}`,
    confirm: "Apply, with the sealing passkey",
  },
  account: {
    title: "My account",
    passkeys: {
      title: "Passkeys",
      words: "Any of them lets you in. They only sign you in: nothing of them is published.",
      caption: "Your passkeys",
      columns: ["Name", "Added", "Last used", "Remove"],
      never: "never",
      remove: "Remove",
      removeNamed: (name: string) => `Remove the passkey ${name}`,
      add: {
        label: "Name of a further passkey",
        hint: "Where it is kept, such as «phone» or «key in the safe».",
        button: "Add a passkey",
      },
    },
    sessions: {
      title: "Where you are signed in",
      caption: "Your sessions, this one marked",
      columns: ["Passkey", "Since", "Last used", "Network", "End"],
      current: "this one",
      end: "End",
      endSince: (since: string) => `End the session since ${since}`,
    },
    acts: {
      title: "What you did",
      words: "The newest first. Nobody can change it. Networks are forgotten after 90 days.",
      caption: "Your acts, the newest first",
      columns: ["At", "What", "About", "Passkey", "Network"],
      removedPasskey: "one that was removed",
      names: {
        "person.join": "signed up",
        "session.open": "signed in",
        "session.end": "ended a session",
        "passkey.allow": "allowed a further passkey",
        "passkey.add": "added a passkey",
        "passkey.remove": "removed a passkey",
        "business.apply": "applied for a business",
      },
    },
    leave: {
      title: "Leave",
      words:
        "Everything that is kept of you here is forgotten: your name, your passkeys, your sessions and what you did.",
      button: "Leave",
    },
  },
  acts: {
    addPasskey: (name: string): Act => [
      "Add a passkey",
      `A further passkey is made, which is called ${name}. It signs in as you, like this one.`,
    ],
    removePasskey: (name: string): Act => [
      "Remove a passkey",
      `The passkey ${name} is removed. It signs nobody in any more, and the sessions that it opened end.`,
    ],
    apply: (name: string, country: string): Act => [
      "Apply for a business",
      `You apply for ${name} of ${country}.`,
      "If the operators approve it, the business gets a certificate, you are its owner, and the passkey that signs this seals for it.",
    ],
    leave: (name: string): Act => [
      "Leave the portal",
      `Everything that is kept of ${name} here is forgotten, at once and for good.`,
    ],
  },
  problems: {
    not_verified: ["Not let in", "This passkey was not accepted. Try again, or use another one."],
    signed_out: ["Signed out", "Your session is over. Sign in again."],
    form_stale: [
      "Open the page again",
      "This form is of an earlier session, or not of this page. Open the page again.",
    ],
    challenge_expired: ["Too late", "The time to confirm this is over. Begin again."],
    challenge_used: ["Done before", "This was confirmed before. Nothing was done twice."],
    name_invalid: ["Not a name", "A name has up to 100 visible characters. Go back and write another one."],
    passkey_last: [
      "The last passkey",
      "It stays: without it nobody could come in as you. Add another one first.",
    ],
    too_many_businesses: ["Enough businesses", "You applied for twenty businesses, or work for them."],
    has_business: [
      "You work for a business",
      "Leave your businesses first, or wait until your applications are decided.",
    ],
    too_many_applications: ["Too many applications", "Too many come from your network at the moment. Try again in a minute."],
    country_invalid: ["Not a country", "Write the two letters of a country, such as GB or DE."],
    not_there: ["Not there", "There is no such page, or you do not work for this business."],
    passkey_gone: ["Not there", "You have no such passkey."],
    too_many_passkeys: ["Enough passkeys", "You have twenty passkeys. Remove one first."],
  },
} as const;
