// The resources: documents of the service by name, each of them one read. There is no resource that lists or collects.
//   R1. An address that fits no template, or names what cannot exist, is refused here and nothing is sent.

import { collectionNames, isUuidV4 } from "../protocol/identifiers.ts";
import { vocabularyNames } from "../protocol/records/vocabularies/vocabulary-document.ts";
import type { ToolDeps } from "./tool.ts";

export interface ResourceTemplateEntry {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly mimeType: string;
}

export const resourceTemplates: readonly ResourceTemplateEntry[] = [
  entry("masterdb://terms/{version}", "terms", "Terms of AI companies by version"),
  entry("masterdb://certificates/{uuid}", "certificate", "Certificate of a business or AI company by UUID"),
  entry(
    "masterdb://projections/{type}/{version}",
    "projection",
    "Projection specification by type and version",
  ),
  entry("masterdb://vocabularies/{name}", "vocabulary", "Controlled vocabulary by name"),
];

function entry(uriTemplate: string, name: string, title: string): ResourceTemplateEntry {
  return { uriTemplate, name, title, description: `${title}.`, mimeType: "application/json" };
}

/** Those that are always there. */
export const resources = [
  resource("masterdb://spec", "spec", "Specification of everything that is signed"),
  ...vocabularyNames.map((name) =>
    resource(`masterdb://vocabularies/${name}`, `vocabulary_${name}`, `Controlled vocabulary ${name}`),
  ),
];

function resource(uri: string, name: string, title: string) {
  return { uri, name, title, mimeType: "application/json" };
}

interface Read {
  readonly surface: "retrieval" | "verification";
  readonly path: string;
}

/** The read behind an address; null for one that names no resource. */
export function resourceRead(uri: string): Read | null {
  if (uri === "masterdb://spec") return { surface: "verification", path: "/v1/envelope-specification" };
  const [, kind, first = "", second] = /^masterdb:\/\/([a-z]+)\/([^/?#]+)(?:\/([^/?#]+))?$/.exec(uri) ?? [];
  const isNumber = (text: string | undefined): boolean => /^[1-9][0-9]{0,5}$/.test(text ?? "");
  if (kind === "projections") {
    const isKnown = ([...collectionNames, "ads"] as readonly string[]).includes(first);
    return isKnown && isNumber(second) ? verification(`/v1/projections/${first}/${second}`) : null;
  }
  if (second !== undefined) return null;
  if (kind === "terms" && isNumber(first))
    return { surface: "retrieval", path: `/v1/terms?version=${first}` };
  if (kind === "certificates" && isUuidV4(first)) return verification(`/v1/certificates/${first}`);
  const isVocabulary = (vocabularyNames as readonly string[]).includes(first);
  return kind === "vocabularies" && isVocabulary ? verification(`/v1/vocabularies/${first}`) : null;
}

function verification(path: string): Read {
  return { surface: "verification", path };
}

/** The exact body of a resource. Rejects with what the client throws. */
export async function readResource(
  { client }: Pick<ToolDeps, "client">,
  { surface, path }: Read,
): Promise<string> {
  const tag = surface === "retrieval" ? "svc-retrieval" : null;
  return (await client.send(surface, { method: "GET", path, tag })).text;
}
