// Test support: checks every answer that a test receives against the OpenAPI document of the surface that gave it. The
// validator is Ajv, which knows nothing of the shapes from which the service and its documents are built.
//   C1. The status is one that the operation lists, or one of a non-existent address or method.
//   C2. The body has a listed media type and fits its schema; objects are closed, so a member that no document names
//       fails.
//   C3. Every field that the document requires is present, and every documented field that is present has the right
//       form.
//   C4. A request that is answered with a success fits its own schema: what is published is no narrower than what is
//       accepted.
//   C5. A problem states its own status, and if it says when to retry, so does Retry-After.

import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { problemMediaType } from "../protocol/problem.ts";

interface MediaType {
  readonly schema: Readonly<Record<string, unknown>>;
}

interface ResponseDoc {
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly schema: object }>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly responses: Readonly<Record<string, ResponseDoc>>;
            readonly requestBody?: { readonly content: Readonly<Record<string, MediaType>> };
          }
        >
      >
    >
  >;
}

export interface JudgedAnswer {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  readonly text: string;
  /** The JSON that was sent; null if there was none, or too much to be judged. */
  readonly request?: string | null;
}

/** Judges the answers of one surface. */
export interface Contract {
  /** What in an answer contradicts its document, one sentence each. */
  faults(answer: JudgedAnswer): readonly string[];
}

const documentId = "urn:test:openapi";

export function contractOf(document: OpenApiDocument): Contract {
  // OpenAPI keywords around the schemas are not part of JSON Schema.
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  ajv.addSchema({ $id: documentId, ...document });
  const validators = new Map<string, ValidateFunction>();
  const validatorAt = (pointer: string): ValidateFunction => {
    const known = validators.get(pointer);
    if (known !== undefined) return known;
    const made = ajv.compile({ $ref: `${documentId}#${pointer}` });
    validators.set(pointer, made);
    return made;
  };
  const schemaFaults = (pointer: string, value: unknown): readonly string[] => {
    const validate = validatorAt(pointer);
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  };
  return { faults: (answer) => faultsOf(document, answer, schemaFaults) };
}

type SchemaFaults = (pointer: string, value: unknown) => readonly string[];

/** Problems of a non-existent address or method. */
const elsewhere: Readonly<Record<number, string>> = { 404: "not_found", 405: "method_not_allowed" };

function faultsOf(
  document: OpenApiDocument,
  answer: JudgedAnswer,
  schemaFaults: SchemaFaults,
): readonly string[] {
  const path = answer.path.split("?", 1)[0] ?? "";
  const template = Object.keys(document.paths).find((each) => patternOf(each).test(path));
  const isHead = answer.method === "HEAD";
  const method = isHead ? "get" : answer.method.toLowerCase();
  const operation = template === undefined ? undefined : document.paths[template]?.[method];
  if (operation === undefined) return elsewhereFaults(answer, schemaFaults);
  const response = operation.responses[String(answer.status)];
  if (response === undefined) return [`status ${answer.status} is not listed`];
  const operationAt = `/paths/${escaped(template ?? "")}/${method}`;
  const place = `${operationAt}/responses/${answer.status}`;
  const { request = null, status } = answer;
  const isJson = operation.requestBody?.content["application/json"] !== undefined;
  const isTaken = status < 300 && request !== null && isJson;
  const requestAt = `${operationAt}/requestBody/content/${escaped("application/json")}/schema`;
  const taken = isTaken ? schemaFaults(requestAt, JSON.parse(request)) : [];
  return [
    ...taken.map((fault) => `the request: ${fault}`),
    ...headerFaults(answer, response, (name, value) =>
      schemaFaults(`${place}/headers/${escaped(name)}/schema`, value),
    ),
    ...bodyFaults(answer, response, (type, value) =>
      schemaFaults(`${place}/content/${escaped(type)}/schema`, value),
    ),
    ...problemFaults(answer),
  ];
}

/** C1: also a request that was not HTTP, or a preflight. */
function elsewhereFaults(answer: JudgedAnswer, schemaFaults: SchemaFaults): readonly string[] {
  if (answer.method === "OPTIONS" && answer.status === 204) return [];
  if (answer.method === "HEAD") return [];
  const type = mediaTypeOf(answer);
  if (type !== problemMediaType) return [`an undocumented address answers ${answer.status} ${type}`];
  const body = JSON.parse(answer.text) as { readonly code: string };
  const wanted = elsewhere[answer.status];
  const code =
    wanted === undefined || wanted === body.code ? [] : [`${body.code} of an address that is not there`];
  return [...code, ...schemaFaults("/components/schemas/Problem", body), ...problemFaults(answer)];
}

function headerFaults(
  { headers }: JudgedAnswer,
  response: ResponseDoc,
  faults: (name: string, value: unknown) => readonly string[],
): readonly string[] {
  return Object.entries(response.headers ?? {}).flatMap(([name, { required, schema }]) => {
    const value = headers.get(name);
    if (value === null) return required === true ? [`the field ${name} is missing`] : [];
    const parsed = schemaTypeOf(schema) === "integer" ? Number(value) : value;
    return faults(name, parsed).map((fault) => `the field ${name}: ${fault}`);
  });
}

function bodyFaults(
  answer: JudgedAnswer,
  { content }: ResponseDoc,
  faults: (type: string, value: unknown) => readonly string[],
): readonly string[] {
  const { text } = answer;
  if (content === undefined) return text === "" ? [] : ["there is a body, and none is listed"];
  const type = mediaTypeOf(answer);
  if (content[type] === undefined) return [`the media type ${type} is not listed`];
  if (answer.method === "HEAD") return text === "" ? [] : ["HEAD is answered with a body"];
  return faults(type, /[/+]json$/.test(type) ? JSON.parse(text) : text);
}

function problemFaults(answer: JudgedAnswer): readonly string[] {
  if (mediaTypeOf(answer) !== problemMediaType || answer.text === "") return [];
  const body = JSON.parse(answer.text) as { readonly status: number; readonly retry_after_seconds?: number };
  const retryAfter = answer.headers.get("retry-after");
  return [
    ...(body.status === answer.status ? [] : [`the problem says status ${body.status}`]),
    ...(retryAfter === (body.retry_after_seconds === undefined ? null : String(body.retry_after_seconds))
      ? []
      : [`Retry-After is ${retryAfter}, retry_after_seconds ${body.retry_after_seconds}`]),
  ];
}

function schemaTypeOf(schema: object): unknown {
  return "type" in schema ? schema.type : undefined;
}

function mediaTypeOf({ headers }: JudgedAnswer): string {
  return (headers.get("content-type") ?? "").split(";", 1)[0] ?? "";
}

function patternOf(template: string): RegExp {
  // A path at the end contains slashes.
  const parts = template.replaceAll(".", "\\.").replace(/\{path\}$/, ".+");
  return new RegExp(`^${parts.replaceAll(/\{[a-z_]+\}/g, "[^/]+")}$`);
}

function escaped(token: string): string {
  return token.replaceAll("~", "~0").replaceAll("/", "~1").replaceAll("{", "%7B").replaceAll("}", "%7D");
}

const contracts = new Map<string, Contract>();

/** Reads the document of a surface now, so that no request for it comes between those of a test. */
export async function knowContract(origin: string): Promise<void> {
  const contract = await readContract(origin);
  if (contract !== null) contracts.set(origin, contract);
}

/** Judges an answer by the document that the surface at `origin` publishes; throws the faults found. */
export async function holdToContract(origin: string, answer: JudgedAnswer): Promise<void> {
  // What a test treats as a surface may be something of its own, or gone by now.
  const contract = contracts.get(origin) ?? (await readContract(origin));
  if (contract === null) return;
  contracts.set(origin, contract);
  const faults = contract.faults(answer);
  if (faults.length === 0) return;
  const what = `${answer.method} ${answer.path} answered ${answer.status}`;
  throw new Error(
    `${what}, which is not as documented:\n${faults.join("\n")}\n${answer.text.slice(0, 2_000)}`,
  );
}

/** By what a document says, whatever the ports of its node: to compile one costs more than most of its tests. */
const byDocument = new Map<string, Contract>();
const serversOf = /"servers":\[[^\]]*\]/;

async function readContract(origin: string): Promise<Contract | null> {
  const response = await fetch(`${origin}/openapi.json`).catch(() => null);
  if (response?.status !== 200) return null;
  const text = await response.text();
  const said = text.replace(serversOf, "");
  const known = byDocument.get(said) ?? contractOf(JSON.parse(text) as OpenApiDocument);
  byDocument.set(said, known);
  return known;
}

/** A longer request body is not judged again. */
const requestBytesMax = 65_536;

/** `fetch`, with every answer checked against the document of its surface. */
export const contractFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const url = new URL(input instanceof Request ? input.url : input);
  const text = await response.clone().text();
  const { status, headers } = response;
  const sent = init?.body;
  const isShort = sent instanceof Uint8Array && sent.length <= requestBytesMax;
  const request = isShort ? new TextDecoder().decode(sent) : typeof sent === "string" ? sent : null;
  await holdToContract(url.origin, {
    method: init?.method ?? "GET",
    path: `${url.pathname}${url.search}`,
    status,
    headers,
    text,
    request,
  });
  return response;
};
