// What an expression of PromQL names: its selectors with their matchers, and the labels by which it groups and joins. The
// grammar is that of Prometheus itself.

import { parser } from "@prometheus-io/lezer-promql";

export interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** The function of a range, such as `rate`; null for an instant. */
  readonly over: string | null;
}

export interface Named {
  readonly selectors: readonly Selector[];
  /** The labels of `by`, `without`, `on`, `ignoring`, `group_left` and `group_right`. */
  readonly labels: readonly string[];
}

/** Throws for an expression that is not PromQL. */
export function namedIn(expression: string): Named {
  const selectors: { metric: string; matchers: Matcher[]; over: string | null }[] = [];
  const labels: string[] = [];
  const functions: string[] = [];
  const textOf = (node: { readonly from: number; readonly to: number }): string =>
    expression.slice(node.from, node.to);
  let isRange = false;
  parser.parse(expression).iterate({
    enter: (node) => {
      if (node.type.isError) throw new SyntaxError(`${expression}: not PromQL at ${node.from}`);
      if (node.name === "FunctionIdentifier") functions.push(textOf(node));
      if (node.name === "MatrixSelector") isRange = true;
      if (node.name === "VectorSelector") {
        const over = isRange ? (functions.at(-1) ?? null) : null;
        selectors.push({ metric: "", matchers: [], over });
        isRange = false;
      }
      const selector = selectors.at(-1);
      if (node.name === "Identifier" && selector !== undefined) selector.metric = textOf(node);
      if (node.name === "UnquotedLabelMatcher") selector?.matchers.push(matcherOf(textOf(node)));
      if (node.name === "LabelName" && node.node.parent?.name === "GroupingLabels") labels.push(textOf(node));
    },
  });
  return { selectors, labels };
}

function matcherOf(text: string): Matcher {
  const [, label = "", operator = "", value = ""] = /^(\w+)\s*(=~|!~|!=|=)\s*"(.*)"$/.exec(text) ?? [];
  if (label === "") throw new SyntaxError(`${text}: not a matcher that this test reads`);
  return { label, operator, value };
}
