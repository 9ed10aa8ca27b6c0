// The official conformance suite was written for libraries: most of its scenarios call tools, prompts and resources that a
// library's own test server offers under fixed names (`test_simple_text`, `test://static-text`). A server for people has none of
// them. This table says what each such scenario needs, and nothing is left out unless the server really does not offer it.

import type { ConformanceCheck } from "../tools/mcp-judges.fixture.ts";
import type { Assistant } from "./mcp-client.fixture.ts";

const inputs = "tool test_input_required_result_";

/** What a scenario, or one check of a scenario, needs of a server. */
const needs: Readonly<Record<string, string>> = {
  "completion-complete": "capability completions",
  "logging-set-level": "capability logging",
  "tools-call-with-logging": "capability logging",
  "resources-subscribe": "capability resources.subscribe",
  "resources-unsubscribe": "capability resources.subscribe",
  "resources-list": "capability resources",
  "sep-2164-resource-not-found": "capability resources",
  "prompts-list": "capability prompts",
  "tools-call-simple-text": "tool test_simple_text",
  "tools-call-image": "tool test_image_content",
  "tools-call-audio": "tool test_audio_content",
  "tools-call-embedded-resource": "tool test_embedded_resource",
  "tools-call-mixed-content": "tool test_multiple_content_types",
  "tools-call-error": "tool test_error_handling",
  "tools-call-with-progress": "tool test_tool_with_progress",
  "tools-call-sampling": "tool test_sampling",
  "tools-call-elicitation": "tool test_elicitation",
  "elicitation-sep1034-defaults": "tool test_elicitation_sep1034_defaults",
  "elicitation-sep1330-enums": "tool test_elicitation_sep1330_enums",
  "json-schema-2020-12": "tool json_schema_2020_12_tool",
  "http-custom-header-server-validation": "a tool with x-mcp-header",
  "resources-read-text": "resource test://static-text",
  "resources-read-binary": "resource test://static-binary",
  "resources-templates-read": "resource test://template/{id}/data",
  "prompts-get-simple": "prompt test_simple_prompt",
  "prompts-get-with-args": "prompt test_prompt_with_arguments",
  "prompts-get-embedded-resource": "prompt test_prompt_with_embedded_resource",
  "prompts-get-with-image": "prompt test_prompt_with_image",
  "input-required-result-basic-elicitation": `${inputs}elicitation`,
  "input-required-result-basic-list-roots": `${inputs}list_roots`,
  "input-required-result-basic-sampling": `${inputs}sampling`,
  "input-required-result-capability-check": `${inputs}capabilities`,
  "input-required-result-ignore-extra-params": `${inputs}elicitation`,
  "input-required-result-missing-input-response": `${inputs}elicitation`,
  "input-required-result-multi-round": `${inputs}multi_round`,
  "input-required-result-multiple-input-requests": `${inputs}multiple_inputs`,
  "input-required-result-non-tool-request": "prompt test_input_required_result_prompt",
  "input-required-result-request-state": `${inputs}request_state`,
  "input-required-result-result-type": `${inputs}elicitation`,
  "input-required-result-tampered-state": `${inputs}tampered_state`,
  "input-required-result-validate-input": `${inputs}elicitation`,
  "server-stateless/sep-2575-server-rejects-undeclared-capability": "tool test_missing_capability",
  "server-stateless/sep-2575-missing-capability-http-400": "tool test_missing_capability",
  "server-stateless/sep-2575-http-server-no-independent-requests-on-stream":
    "tool test_streaming_elicitation",
  "server-stateless/sep-2575-server-no-log-without-loglevel": "tool test_logging_tool",
  "server-stateless/sep-2575-server-sends-prompts-list-changed-on-subscription":
    "capability prompts.listChanged",
  "server-stateless/sep-2575-server-sends-tools-list-changed-on-subscription": "capability tools.listChanged",
  "server-stateless/sep-2575-server-sends-subscription-ack": "capability resources",
  "server-stateless/sep-2575-server-tags-subscription-id": "capability resources",
  "server-stateless/sep-2575-server-honors-notification-filter": "capability resources",
  "caching/sep-2549-prompts-list-caching-hints": "capability prompts",
  "caching/sep-2549-resources-list-caching-hints": "capability resources",
  "caching/sep-2549-resources-templates-list-caching-hints": "capability resources",
  "caching/sep-2549-resources-read-caching-hints": "capability resources",
};

/** What a server offers, in the words of the table. */
export async function offersOf({ client }: Assistant): Promise<ReadonlySet<string>> {
  const capabilities = client.getServerCapabilities() ?? {};
  const offers = new Set<string>();
  for (const [name, members] of Object.entries(capabilities)) {
    offers.add(`capability ${name}`);
    for (const [member, value] of Object.entries(members ?? {}))
      if (value === true) offers.add(`capability ${name}.${member}`);
  }
  const { tools } = await client.listTools();
  for (const { name } of tools) offers.add(`tool ${name}`);
  if (JSON.stringify(tools).includes('"x-mcp-header"')) offers.add("a tool with x-mcp-header");
  if (capabilities.prompts !== undefined)
    for (const { name } of (await client.listPrompts()).prompts) offers.add(`prompt ${name}`);
  if (capabilities.resources !== undefined) {
    for (const { uri } of (await client.listResources()).resources) offers.add(`resource ${uri}`);
    for (const { uriTemplate } of (await client.listResourceTemplates()).resourceTemplates)
      offers.add(`resource ${uriTemplate}`);
  }
  return offers;
}

export interface Conformance {
  /** The scenarios that this server was judged by. */
  readonly judged: readonly string[];
  /** What was not right, one line each. */
  readonly faults: readonly string[];
}

/** A check that is neither passed nor in need of something that the server does not offer is a fault. */
export function conformanceOf(checks: readonly ConformanceCheck[], offers: ReadonlySet<string>): Conformance {
  const applying = checks.filter(({ scenario, id }) => {
    const need = needs[scenario] ?? needs[`${scenario}/${id}`];
    return need === undefined || offers.has(need);
  });
  const isRight = ({ status }: ConformanceCheck): boolean => status === "SUCCESS" || status === "INFO";
  return {
    judged: [...new Set(applying.map(({ scenario }) => scenario))].sort(),
    faults: applying
      .filter((check) => !isRight(check))
      .map(({ scenario, id, status, errorMessage = "" }) => `${scenario}/${id} ${status}: ${errorMessage}`),
  };
}
