// Every member of every request that a surface describes in its OpenAPI document: parameters, and the members of bodies
// however deep. For tests.

export interface RequestMember {
  /** `<METHOD> <path> <where> <name>`; of a body the name is a pointer in which `*` is any item of an array. */
  readonly key: string;
  readonly description: string;
}

interface Schema {
  readonly title?: string;
  readonly description?: string;
  readonly const?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly description: string;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export function requestMembers({ paths }: OpenApiDocument): readonly RequestMember[] {
  const found: RequestMember[] = [];
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const prefix = `${method.toUpperCase()} ${path}`;
      for (const { name, in: where, description } of operation.parameters ?? [])
        found.push({ key: `${prefix} ${where} ${name}`, description });
      const schema = operation.requestBody?.content["application/json"]?.schema;
      if (schema !== undefined) collect(schema, { prefix, pointer: "" }, found);
    }
  }
  return found;
}

function collect(
  schema: Schema,
  at: { readonly prefix: string; readonly pointer: string },
  found: RequestMember[],
): void {
  // The five bodies of a search are described one beside the other, each of one collection.
  const collection = at.pointer === "" ? schema.properties?.["collection"]?.const : undefined;
  const prefix = collection === undefined ? at.prefix : `search ${collection}`;
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const pointer = `${at.pointer}/${name}`;
    found.push({ key: `${prefix} body ${pointer}`, description: member.description ?? "" });
    collect(member, { prefix, pointer }, found);
  }
  if (schema.items !== undefined) collect(schema.items, { prefix, pointer: `${at.pointer}/*` }, found);
  for (const each of [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])])
    collect(each, { prefix, pointer: at.pointer }, found);
}
