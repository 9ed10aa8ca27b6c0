// What the pages of takedowns and of the audit log say, in English.

export const operatorActs = {
  takedowns: {
    title: "Takedowns",
    help: "What operators took out of serving: no search, fetch or ad pool has it. Seals and certificates stay as they are.",
    inForce: "In force",
    caption: "Takedowns in force, the newest first",
    since: "Since",
    business: "Business",
    record: "Record",
    everything: "everything",
    statement: "What the business is told",
    none: "Nothing is taken down.",
    more: (count: string) => `${count} older ones are not shown.`,
    acts: "Act on it",
    actsHelp:
      "A record is named by its id, and everything of a business by the business's UUID. The reason is for the operators' own record.",
    impose: "take it out of serving",
    lift: "undo its takedown",
    subject: "Record id, or UUID of a business",
  },
  audit: {
    title: "Audit log",
    help: "What operators did or were refused on all nodes, newest first. An act is asked before it is done, and acted or refused after it. What log rotation moved away is in the files.",
    caption: "Entries of the audit logs, newest first",
    at: "At",
    who: "Who",
    what: "What",
    why: "Why",
    result: "Result",
    node: "Node",
    none: "The audit logs have no such entry.",
    older: "Older entries",
    unreadable: (nodes: string) =>
      `The audit log of ${nodes} goes to standard output and is read where that is collected.`,
  },
} as const;
