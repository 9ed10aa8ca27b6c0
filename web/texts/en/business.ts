// What the portal says to people of businesses about how they are found, in English.

export const business = {
  asking: {
    title: "Who is asking",
    words:
      "AI companies whose searches found your records, or that fetched one. What was answered in the last seconds is not counted yet.",
    filter: {
      from: "From the day, in UTC",
      to: "Until before the day",
      country: "Country of the searches, such as GB (empty: all)",
      type: "Records",
      anyType: "all types",
      button: "Show",
    },
    window: (from: string, to: string) => `From ${from} until before ${to}`,
    totals: { searches: "Searches", rows: "Rows", fetches: "Fetches" },
    who: "AI companies",
    whoCaption: "AI companies, those that asked most first",
    whoColumns: ["AI company", "Searches", "Rows", "Fetches", "Last asked"],
    certificate: (name: string) => `Certificate of ${name}`,
    days: "Days",
    daysCaption: "Answers by day, the newest first",
    dayColumns: ["Day", "Searches", "Rows", "Fetches"],
    where: "Countries and types",
    whereCaption: "Answers by country and type, the most first",
    whereColumns: ["Country", "Records", "Searches", "Rows", "Fetches"],
    noCountry: "none (fetches name no country)",
    none: "Nobody asked.",
    demand: "What for",
    demandWords: (companies: number, searches: number, country: string, type: string) =>
      `Subjects of searches for ${type} in ${country}. A day counts for a subject if at least ${companies} AI companies named it in at least ${searches} searches.`,
    demandCaption: "Subjects, those asked for most first",
    demandColumns: ["Subject", "Searches", "Days"],
    noDemand: "No subject was named by so many.",
    more: (shown: number) => `These are the first ${shown}.`,
  },
} as const;
