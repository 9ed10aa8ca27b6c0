// What the portal says to people of AI companies, in English.

export const company = {
  listing: {
    title: "Directory",
    words: (isListed: boolean) =>
      isListed
        ? "The public directory of keys lists this company, with its name and its keys."
        : "The public directory of keys does not list this company. Its certificate and keys can still be verified.",
    button: (isListed: boolean) => (isListed ? "List it no more" : "List it"),
  },
  group: {
    title: "Group",
    words:
      "Companies that belong together are one group. A business blocks a whole group, and operators change it.",
  },
  keys: {
    none: "No key yet. A system signs every search and fetch with a key of its own.",
    caption: "Keys that search and fetch",
  },
  ask: {
    title: "Search",
    words: (file: string) => `Save this as ${file} beside the key, and ask with it:`,
  },
  terms: {
    title: "Terms",
    none: "There are no terms in force.",
    from: (version: number, from: string) => `Version ${version}, in force from ${from}. Its exact text:`,
    version: (version: number) => `Terms, version ${version}`,
    agreed: (at: string) => `Agreed to at ${at}.`,
    notAgreed: "Nobody has agreed to this version for the company.",
    button: (version: number) => `Agree to version ${version}`,
  },
  account: {
    title: "Account",
    notBilled: "Nothing is charged here.",
    none: "Nothing was paid in yet. The operators of this service note what you pay.",
    balance: "Balance",
    reserved: "Set aside for answers",
    available: "Available",
    caption: "Payments and corrections of this month, the newest first",
    columns: ["At", "What", "Amount", "Entry"],
    kinds: { top_up: "payment", correction: "correction" },
  },
  usage: {
    title: "Usage",
    ofMonth: "Usage of this month",
    none: "Nothing was asked in these days.",
    from: "From the day, in UTC",
    to: "Until before the day",
    button: "Show the usage",
    caption: (region: string) => `Answers of the region ${region} by day and key`,
    columns: ["Day", "Key", "Answers", "Billed", "Rows"],
    total: "All",
  },
  receipts: {
    title: "Receipts",
    words: "Every answer has a signed receipt. Anyone can check one, with its rows, on the page for it.",
    page: "Check a receipt",
    day: "Day, in UTC",
    key: "Key",
    anyKey: "any key",
    button: "Show the receipts",
    none: "No receipts of this day.",
    caption: (day: string) => `Receipts of ${day}`,
    columns: ["At", "Retrieval", "Key", "What", "Country", "Rows", "Billed"],
    kinds: { search: "search", fetch: "fetch", ad_pool: "pool of ads" },
    yes: "yes",
    no: "no",
    more: "Further receipts",
  },
} as const;
