import { dsse as judge } from "@sigstore/core";
import { expect, it } from "vitest";
import { parseBase64 } from "./bytes.ts";
import { payloadTypes } from "./dsse.ts";
import { envelopeSpecification, envelopeSpecificationText } from "./envelope-specification.ts";
import { thumbprint } from "./keys/jwk.ts";
import { payloadSchemaDocument, recordSchemaDocument, recordSchemaNames } from "./payload-kinds.ts";
import { firstFault } from "./shape.ts";
import { envelopeSpecificationAnswer } from "./wire/published.ts";

const specification = envelopeSpecification();
const text = envelopeSpecificationText();

it("is of its published form", () => {
  expect(firstFault(envelopeSpecificationAnswer, JSON.parse(JSON.stringify(specification)))).toBeNull();
});

it("names every payload type once, and all members of each, as data and as a text", () => {
  const types = specification.payloads.map(({ payload_type }) => payload_type);
  expect(types.toSorted()).toEqual(Object.values(payloadTypes).toSorted());
  const parts = text.split(/^### /m).slice(1);
  expect(parts.length).toBe(types.length);
  for (const [index, { kind, version, payload_type, members, schema }] of specification.payloads.entries()) {
    const part = parts[index] ?? "";
    expect(part).toContain(`\`${payload_type}\``);
    expect(schema).toBe(`/v1/payloads/${kind}/${version}`);
    const document = payloadSchemaDocument(kind, String(version));
    expect(members).toEqual(Object.keys(Object(document?.["properties"])));
    expect(members.length).toBeGreaterThan(2);
    // An earlier version says what differs from the one above it.
    const above = specification.payloads[index - 1];
    const known = above?.kind === kind ? above.members : [];
    for (const member of members.filter((name) => name !== "v" && !known.includes(name)))
      expect(part).toMatch(new RegExp(`^- [^:]*\`${member}\`[^:]*: `, "m"));
    for (const member of known.filter((name) => !members.includes(name)))
      expect(part).toMatch(new RegExp(`without [^:]*\`${member}\`[^:]*[.:]$`, "m"));
  }
});

it("names the schema of everything that is sealed", () => {
  expect(specification.records.map(({ schema }) => schema)).toEqual(
    recordSchemaNames.map((name) => `svc/${name}`),
  );
  for (const { path } of specification.records) {
    expect(recordSchemaDocument(path.replace("/v1/schemas/", ""))).not.toBeNull();
    expect(text).toContain(`GET ${path}`);
  }
});

it("has an encoding that sigstore makes as well, and the key id of RFC 8037, appendix A.3", () => {
  const { pre_authentication_encoding: example, key_id: key } = specification.examples;
  const payload = Buffer.from(parseBase64(example.payload) ?? new Uint8Array());
  expect(payload.toString()).toBe('{"v":1,"word":"tea"}');
  expect(judge.preAuthEncoding(example.payload_type, payload).toString("base64")).toBe(example.encoding);
  expect(key.key_id).toBe("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
  expect(thumbprint(key.public_key)).toBe(key.key_id);
});

it("stands in docs as it is served", async () => {
  await expect(text).toMatchFileSnapshot("../docs/envelope-specification.md");
});
