import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { answerJson } from "../../service/answer.ts";
import type { Verify } from "../../service/verification/verify.ts";
import { StoreError } from "../../storage/actor-store.ts";
import { type PublicToolDeps, publicTools } from "./public-tools.ts";
import { createToolProtocol, type ReceivedMessage, type ToolProtocol } from "./tool-protocol.ts";

function protocolWith(verify: Verify): ToolProtocol {
  const deps: PublicToolDeps = {
    verify,
    verification: rubbish({}),
    published: rubbish({}),
    log: rubbish({}),
  };
  return createToolProtocol(publicTools(deps), "https://verify.example");
}

const callText = (given: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"verify" , "arguments" :${given}}}`;
const failures: (readonly [string, boolean])[] = [];
const receivedAs = (text: string): ReceivedMessage => ({
  value: JSON.parse(text) as JsonObject,
  text,
  inTurn: async (work) => work(),
  failed: (error, isTransient) => void failures.push([String(error), isTransient]),
});

async function called(verify: Verify, given = '{"ad_item":{"record_base64":"e30="}}'): Promise<Called> {
  const answer = await protocolWith(verify).exchange(receivedAs(callText(given)));
  return (answer as unknown as { readonly result: Called }).result;
}

interface Called {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
}

describe("the arguments of a call", () => {
  it("are verified in the exact text in which they arrived", async () => {
    const given = ' { "ad_item" : { "record_base64":"e30=", "price" : 1.10, "n":1e2 } } ';
    const seen: (string | null)[] = [];
    const verify: Verify = async (_request, body) => {
      const text = new TextDecoder().decode(body);
      seen.push(text, exactMember(text, "ad_item"));
      return answerJson(200, {});
    };
    await called(verify, given);
    expect(seen).toEqual([given, ' { "record_base64":"e30=", "price" : 1.10, "n":1e2 } ']);
  });
});

describe("an answer", () => {
  const bodyOf = async (body: string | Uint8Array): Promise<unknown> => {
    const { content } = await called(async () => ({ kind: "answer", status: 200, headers: {}, body }));
    return content[0]?.text;
  };

  it.each(['{"price":1.10,"n":1e2}', "\ufeff{}", '{"a":"\\u0041é😀"}\n', ""])(
    "is its exact text: %j",
    async (text) => {
      expect(await bodyOf(text)).toBe(text);
      expect(await bodyOf(new TextEncoder().encode(text))).toBe(text);
    },
  );
});

describe("a failure", () => {
  it.each<[string, Error, string, number, boolean]>([
    ["of a store", new StoreError("unknown", "the store at 10.0.0.1 is away"), "unavailable", 503, true],
    ["of the service", new Error("the store at 10.0.0.1 is wrong"), "internal_error", 500, false],
  ])("%s is a refusal in the service's words, and noted", async (_what, error, code, status, isTransient) => {
    failures.length = 0;
    const result = await called(async () => {
      throw error;
    });
    expect(result.isError).toBe(true);
    expect(JSON.parse(result.content[0]?.text ?? "")).toMatchObject({ code, status });
    expect(JSON.stringify(result)).not.toContain("10.0.0.1");
    expect(failures).toEqual([[String(error), isTransient]]);
  });
});
