import type { RowClause, RowQuery } from "../storage/row-index.ts";
import { collections } from "./collections.ts";
import { fieldByName, indexField, textMatchKey } from "./definition.ts";
import type { SearchRequest } from "./search-request.ts";

/**
 * Translates a search into the query for the index, with field names resolved for its country (`price_amount` is
 * `price_US`). Rows of `excludeBusinesses`, the businesses that blocked the caller, are left out. `sponsored` are the ids of
 * the records that are sponsored now in that country, for the filter of this name.
 */
export function toRowQuery(
  request: SearchRequest,
  excludeBusinesses: readonly string[] = [],
  sponsored: readonly string[] = [],
): RowQuery {
  const definition = collections[request.collection];
  const { country, text } = request;
  const clauses = request.clauses.map(
    ({ field, ...rest }): RowClause =>
      field.isOnRows
        ? { ...rest, field: indexField(field, country) }
        : { op: rest.op === "eq" && rest.value === true ? "among" : "except", records: sponsored },
  );
  const sort = request.sort.map(({ key, direction }) => {
    const field = key === textMatchKey ? null : fieldByName(definition, key);
    return { field: field === null ? key : indexField(field, country), direction };
  });
  return {
    collection: request.collection,
    country,
    ...(text === undefined ? {} : { text: { words: text.words, fields: text.fields } }),
    clauses,
    sort,
    limit: request.limit,
    excludeBusinesses,
  };
}
