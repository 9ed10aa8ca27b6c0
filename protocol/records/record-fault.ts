import { noteWork } from "../../std/work.ts";
import { nearestName } from "../nearest.ts";
import type { JsonFault } from "../strict-json.ts";

/** What can be wrong with one record (specification, «Errors», publish codes, and «Push, outcome, status», `errors[]`). */
export type RecordFaultCode =
  | JsonFault
  /** The value has a different JSON type than the member. */
  | "type_invalid"
  | "member_missing"
  /** A member that the record type does not have; of the first ones `suggestion` names the nearest that it does. */
  | "member_unknown"
  /** The value has the right type but is not allowed. */
  | "value_invalid"
  /** A code that is not in the controlled vocabulary; of the first ones `suggestion` names the nearest that is. */
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

/** Only the first faults of a record are looked up: to find the nearest of many names takes far longer than to find a fault. */
const suggestionsMax = 10;

/** Maximum length of a quote, in UTF-16 units. */
const quoteMax = 256;

/** The faults as they are stored: words of a record stay only where the record is purged with them. */
export function withoutQuotes(faults: readonly RecordFault[]): readonly RecordFault[] {
  return faults.map(({ quote: _, ...fault }) => fault);
}

/** Collects the faults of one record, up to {@link recordFaultsMax}. */
export class FaultList {
  readonly faults: RecordFault[] = [];
  #suggested = 0;

  /** Whether no further fault is kept, so that nobody has to look for any. */
  get isFull(): boolean {
    return this.faults.length >= recordFaultsMax;
  }

  /** The candidate that was probably meant, for the first faults; null for further ones, or where none is near. */
  nearest(name: string, candidates: readonly string[]): string | null {
    this.#suggested += 1;
    return this.#suggested > suggestionsMax ? null : nearestName(name, candidates);
  }

  add(code: RecordFaultCode, pointer: string, detail: string, suggestion: string | null = null): void {
    this.#push({ code, pointer, detail, ...(suggestion === null ? {} : { suggestion }) });
  }

  /** Adds a fault about words of the record, of which the beginning is quoted. */
  addQuoting(fault: RecordFault & { readonly quote: string }): void {
    this.#push({ ...fault, quote: fault.quote.slice(0, quoteMax) });
  }

  #push(fault: RecordFault): void {
    noteWork("fault", 1);
    if (!this.isFull) this.faults.push(fault);
  }
}
