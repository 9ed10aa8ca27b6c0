import { expect, it } from "vitest";
import { recordSchemaDocument, recordSchemaNames } from "./payload-kinds.ts";

it.each(recordSchemaNames)("the schema of %s stands in docs/schemas as it is served", async (name) => {
  const text = `${JSON.stringify(recordSchemaDocument(name), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot(`../docs/schemas/${name.replace("/", "-")}.json`);
});
