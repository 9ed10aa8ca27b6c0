// The script of the search page: it shows what the index has for the words in the address.

import { lookUp, type SearchIndex } from "../../../web/search-index.ts";

const asked = new URLSearchParams(location.search).get("q") ?? "";
const found = document.querySelector<HTMLElement>("#found");
const said = document.querySelector<HTMLElement>("#said");
const field = document.querySelector<HTMLInputElement>("input[name=q]");
const shownMax = 60;

if (field !== null) field.value = asked;
if (found !== null && said !== null && asked !== "")
  search(found, said).catch(() => {
    said.textContent = said.dataset["failed"] ?? "";
  });

async function search(list: HTMLElement, status: HTMLElement): Promise<void> {
  const answer = await fetch(list.dataset["index"] ?? "");
  const hits = lookUp((await answer.json()) as SearchIndex, asked);
  const { found: name = "", none = "" } = status.dataset;
  list.replaceChildren(
    ...hits.slice(0, shownMax).map(([href, title]) => {
      const link = document.createElement("a");
      link.href = href;
      link.textContent = title;
      const entry = document.createElement("li");
      entry.append(link);
      return entry;
    }),
  );
  status.textContent = hits.length === 0 ? none : `${hits.length} ${name}`;
}
