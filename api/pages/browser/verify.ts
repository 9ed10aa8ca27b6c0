// The script of the page that verifies: it reads what somebody gives it, has the verifier judge it, and says the result in words.

import { type ComponentChild, h, render } from "preact";
import { formatTimestamp } from "../../../protocol/identifiers.ts";
import type { JsonValue } from "../../../protocol/json/canonical-json.ts";
import type { Anchors } from "../../../protocol/keys/anchors.ts";
import type { Receipt } from "../../../protocol/receipt.ts";
import type { IndexRow } from "../../../protocol/row.ts";
import { businessIn, type FileReport, verifyAnyFile } from "../../../verifier/any-file.ts";
import { code, dataTable, facts, heading, time, verdict } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";

type Words = Texts["verifier"]["result"];

const bytesMax = 8 * 2 ** 20;
const [file, text, button, result] = [
  document.querySelector<HTMLInputElement>("#file"),
  document.querySelector<HTMLTextAreaElement>("#text"),
  document.querySelector<HTMLButtonElement>("#verify"),
  document.querySelector<HTMLElement>("#result"),
];

if (file !== null && text !== null && button !== null && result !== null) {
  const words = JSON.parse(result.dataset["texts"] ?? "") as Words;
  const anchors = JSON.parse(result.dataset["anchors"] ?? "") as Anchors;
  // One of the two is given: what was given last.
  file.addEventListener("change", () => {
    text.value = "";
  });
  text.addEventListener("input", () => {
    file.value = "";
  });
  button.addEventListener("click", () => {
    button.disabled = true;
    result.setAttribute("aria-busy", "true");
    judged(file.files?.[0] ?? new Blob([text.value]), anchors, words)
      .catch(() => verdict("bad", words.unread.heading, words.unread.keys))
      .then((shown) => {
        render(shown, result);
        result.removeAttribute("aria-busy");
        button.disabled = false;
        result.focus();
      });
  });
}

async function judged(given: Blob, anchors: Anchors, words: Words): Promise<ComponentChild> {
  if (given.size === 0) return verdict("warn", words.unread.heading, words.unread.nothing);
  if (given.size > bytesMax) return verdict("warn", words.unread.heading, words.unread.tooLarge);
  const bytes = new Uint8Array(await given.arrayBuffer());
  const uuid = businessIn(bytes);
  const about = uuid === null ? null : `/v1/certificates/${encodeURIComponent(uuid)}`;
  const [keySet, businessKeys, certificate] = await Promise.all([
    read("/.well-known/keys"),
    about === null ? null : read(`${about}/keys`).catch(() => null),
    about === null ? null : read(about).catch(() => null),
  ]);
  const report = verifyAnyFile(
    {
      anchors,
      keySet,
      at: formatTimestamp(Date.now()),
      ...(businessKeys === null ? {} : { businessKeys }),
      ...(certificate === null ? {} : { certificate }),
    },
    bytes,
  );
  return h(
    "div",
    null,
    atAGlance(report, words),
    report.valid ? said(report, words) : null,
    checks(report, words),
  );
}

async function read(path: string): Promise<JsonValue> {
  const answer = await fetch(path, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return (await answer.json()) as JsonValue;
}

function atAGlance({ valid, complete, checks: all }: FileReport, words: Words): ComponentChild {
  if (valid) return verdict(complete ? "good" : "warn", ...(complete ? words.verified : words.partly));
  const failed = all.find(({ state }) => state === "failed");
  const left = failed ?? all.find(({ state }) => state === "not_checked");
  const reason = left?.reason === undefined ? "" : `: ${left.reason}`;
  return verdict("bad", `${words.refused}${reason}`, `${left?.name ?? ""}: ${left?.detail ?? ""}`);
}

/** What a file says that verified: who, when, and which records. */
function said({ words: sealed = [], receipts, rows }: FileReport, words: Words): ComponentChild {
  return [
    sealed.length === 0
      ? null
      : [heading(words.sealed), h("pre", { id: "words", tabIndex: 0 }, sealed.join("\n"))],
    receipts.map((receipt) => [heading(words.receipt.heading), receiptFacts(receipt, words.receipt)]),
    rows.length === 0 ? null : [heading(words.rows.heading), rowTable(rows, words.rows)],
  ];
}

function receiptFacts(receipt: Receipt, words: Words["receipt"]): ComponentChild {
  return facts([
    [words.who, code(receipt.ai_company_uuid)],
    ...(receipt.v === 1 ? [] : ([[words.key, code(receipt.key_id)]] as const)),
    [words.when, time(receipt.served_at)],
    [words.region, receipt.region],
    [words.kind, `${receipt.kind} ${receipt.collection ?? ""} ${receipt.country ?? ""}`.trim()],
    [words.retrieval, code(receipt.retrieval_id)],
    [
      words.records,
      receipt.rows.length === 0
        ? words.none
        : h(
            "ul",
            null,
            receipt.rows.map(({ record_id, adl_origin }) =>
              h("li", { key: record_id }, code(record_id), " ", code(adl_origin)),
            ),
          ),
    ],
  ]);
}

function rowTable(rows: readonly IndexRow[], words: Words["rows"]): ComponentChild {
  return dataTable(
    words.heading,
    words.columns,
    rows.map(({ record_id, business_uuid, type, published_at, adl_origin }) => ({
      key: record_id,
      cells: [
        code(record_id),
        type,
        code(business_uuid),
        time(new Date(published_at * 1_000).toISOString()),
        code(adl_origin),
      ],
    })),
  );
}

function checks({ checks: all }: FileReport, words: Words): ComponentChild {
  return [
    heading(words.checks.heading),
    dataTable(
      words.checks.heading,
      words.checks.columns,
      all.map(({ name, state, reason = "", detail = "" }) => ({
        key: name,
        cells: [code(name), words.checks.states[state], code(reason), detail],
      })),
    ),
  ];
}
