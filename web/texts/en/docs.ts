// What stands around the pages of the documentation, in English: the pages themselves are Markdown.

export const docs = {
  brand: "svc",
  skip: "Skip to the content",
  navigation: {
    label: "Documentation",
    start: "Guides",
    reference: "Reference",
    problems: "Problems",
  },
  search: {
    title: "Search",
    label: "Search the documentation",
    button: "Search",
    words: "Every heading of the documentation. With a script, a search shows what has all of its words.",
    found: "found",
    none: "Nothing has all of these words.",
    failed: "The index cannot be read now.",
  },
  contents: "On this page",
  asMarkdown: "This page as Markdown",
  table: (count: number): string => `Table ${count}`,
  notFound: {
    title: "There is no such page",
    words: "The address was mistyped, or the page is of another release.",
    start: "All guides",
  },
};
