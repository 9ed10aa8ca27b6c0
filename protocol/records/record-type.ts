import type { JsonObject } from "../canonical-json.ts";
import type { ShownType } from "../identifiers.ts";
import { ownIdLengthMax } from "../limits.ts";
import { array, code, countryCodes, type Field, type Members, text } from "./fields.ts";
import type { FaultList } from "./record-fault.ts";
import { languages } from "./vocabularies/languages.ts";

/** One record type, `svc/<collection>/<version>`, where ads count as one. */
export interface RecordType {
  readonly collection: ShownType;
  readonly version: number;
  readonly title: string;
  readonly members: Members;
  /**
   * Rules on what no single member shows. A rule must tolerate members of any JSON type, because their own checks report
   * those.
   */
  readonly rules: readonly RecordRule[];
}

export type RecordRule = (record: JsonObject, faults: FaultList) => void;

/** Members that every record type has. */
export interface RecordCore {
  readonly schema: string;
  readonly language: string;
  readonly business_product_id: string;
  readonly countries: readonly string[];
}

/**
 * The members of {@link RecordCore}; every type carries the business's own id under the same name, which the catalogue
 * shows.
 */
export function coreMembers(schema: string): Members {
  return {
    schema: { kind: "schema", value: schema, description: "Record type and version." },
    language: code(languages, "Language of the record's texts."),
    business_product_id: text(
      ownIdLengthMax,
      "The business's own id of this record, unique within the business and record type; the record id follows from it.",
      "identifier",
    ),
    countries: countryCodes("Countries that the record is published for."),
  };
}

/** Free search terms. */
export function tags(description: string): Field {
  return array(text(64, "One tag."), { min: 0, max: 20 }, description);
}
