// Every member of every request that a surface describes in its OpenAPI document: parameters, and the members of bodies at
// any depth. For tests.

export interface RequestMember {
  /** `<METHOD> <path> <where> <name>`; for a body, the name is a pointer in which `*` stands for any array item. */
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
  readonly $ref?: string;
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
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export function requestMembers({ paths, components }: OpenApiDocument): readonly RequestMember[] {
  const found: RequestMember[] = [];
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const prefix = `${method.toUpperCase()} ${path}`;
      for (const { name, in: where, description } of operation.parameters ?? [])
        found.push({ key: `${prefix} ${where} ${name}`, description });
      const schema = operation.requestBody?.content["application/json"]?.schema;
      const at = { prefix, pointer: "", named: components?.schemas ?? {} };
      if (schema !== undefined) collect(schema, at, found);
    }
  }
  return found;
}

function collect(
  given: Schema,
  at: {
    readonly prefix: string;
    readonly pointer: string;
    readonly named: Readonly<Record<string, Schema>>;
  },
  found: RequestMember[],
): void {
  const { named } = at;
  const schema = given.$ref === undefined ? given : (named[given.$ref.split("/").at(-1) ?? ""] ?? given);
  // The five bodies of a search are described side by side, one per collection.
  const collection = at.pointer === "" ? schema.properties?.["collection"]?.const : undefined;
  const prefix = collection === undefined ? at.prefix : `search ${collection}`;
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const pointer = `${at.pointer}/${name}`;
    found.push({ key: `${prefix} body ${pointer}`, description: member.description ?? "" });
    collect(member, { prefix, pointer, named }, found);
  }
  if (schema.items !== undefined) collect(schema.items, { prefix, pointer: `${at.pointer}/*`, named }, found);
  for (const each of [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])])
    collect(each, { prefix, pointer: at.pointer, named }, found);
}
