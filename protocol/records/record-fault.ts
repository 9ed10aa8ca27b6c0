import type { JsonFault } from "../strict-json.ts";

/** What can be wrong with one record (specification, «Errors», publish codes, and «Push, outcome, status», `errors[]`). */
export type RecordFaultCode =
  | JsonFault
  /** The value has a different JSON type than the member. */
  | "type_invalid"
  | "member_missing"
  /** A member that the record type does not have; `suggestion` names the nearest one that it does. */
  | "member_unknown"
  /** The value has the right type but is not allowed. */
  | "value_invalid"
  /** A code that is not in the controlled vocabulary; `suggestion` names the nearest one that is. */
  | "vocabulary_unknown"
  /** A JSON number where money must be a decimal string. */
  | "money_not_string"
  /** A version of the record schema that this service does not know. */
  | "version_unknown"
  /** The schema string names another record type. */
  | "record_type_mismatch"
  /** A country that the mandate does not cover. */
  | "out_of_scope"
  | "scope_violation"
  | "url_flagged"
  | "display_domain_mismatch";

export interface RecordFault {
  readonly code: RecordFaultCode;
  /** RFC 6901 pointer into the record; empty for the record as a whole. */
  readonly pointer: string;
  /** One sentence for the person who maintains the record, without words of the record. */
  readonly detail: string;
  /** The nearest valid name or code. */
  readonly suggestion?: string;
  /** The words of the record that the fault is about. They are never stored. */
  readonly quote?: string;
}

/** Maximum number of faults reported for one record; further ones would add nothing useful. */
export const recordFaultsMax = 100;

/** Maximum length of a quote, in UTF-16 units. */
const quoteMax = 256;

/** The faults as they are stored: words of a record stay only where the record is purged with them. */
export function withoutQuotes(faults: readonly RecordFault[]): readonly RecordFault[] {
  return faults.map(({ quote: _, ...fault }) => fault);
}

/** Collects the faults of one record, up to {@link recordFaultsMax}. */
export class FaultList {
  readonly faults: RecordFault[] = [];

  add(code: RecordFaultCode, pointer: string, detail: string, suggestion: string | null = null): void {
    this.#push({ code, pointer, detail, ...(suggestion === null ? {} : { suggestion }) });
  }

  /** Adds a fault about words of the record, of which the beginning is quoted. */
  addQuoting(fault: RecordFault & { readonly quote: string }): void {
    this.#push({ ...fault, quote: fault.quote.slice(0, quoteMax) });
  }

  #push(fault: RecordFault): void {
    if (this.faults.length < recordFaultsMax) this.faults.push(fault);
  }
}
