// `npm run mcp:session`: what an assistant does with the local tool server, step by step, written as Markdown. The official client
// starts the server as an assistant would, beside a node that runs: it finds a diamond, fetches it, verifies it and shows where
// the statement comes from. docs/mcp.md has what it wrote once.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { root } from "./process.ts";

type Members = Readonly<Record<string, unknown>>;

interface Answer {
  readonly body: Members;
  readonly notes: Members;
}

const shownItems = 1;
const shownMembers = 8;
const shownLength = 72;
/** Objects within one another that are shown; those in a list count as the list does. */
const shownDepth = 1;

const { values } = parseArgs({ options: { home: { type: "string", default: ".svc" } } });
const client = new Client({ name: "session", version: "1.0.0" });
await client.connect(
  new StdioClientTransport({
    command: process.execPath,
    args: [join(root, "mcp/bin.mjs"), "--sandbox", "--home", values.home],
    env: { ...(process.env as Record<string, string>), MASTERDB_MCP_VERIFY_ONLINE: "true" },
  }),
);
try {
  await answerQuestion();
} finally {
  await client.close();
}

async function answerQuestion(): Promise<void> {
  write(
    "> Find me a diamond of ideal cut for at most 1000 dollars, check that it is genuine, and tell me where you have it from.",
  );
  const found = await call("search_products", {
    words: "ideal cut",
    filter: [
      { field: "country", operator: "eq", values: ["US"] },
      { field: "price_amount", operator: "lte", values: ["1000"] },
    ],
    sort_by: "price_amount:desc,published_at:desc",
    limit: 3,
  });
  const [row] = found.body["rows"] as readonly Members[];
  if (row === undefined) throw new Error("The search found nothing.");
  const fetched = await call("fetch", { record_id: row["record_id"] });
  const checked = await call("verify", { record_id: row["record_id"] });
  if (checked.body["verdict"] !== "valid") throw new Error("The record is not genuine.");
  const { product_name: name } = fetched.body["record"] as Members;
  write("The assistant answers, and names the business and the day as its AI policy asks:");
  const business = await businessOf(String(row["business_uuid"]));
  const day = String(fetched.body["published_at"]).slice(0, 10);
  const price = `${row["price_US"]} ${row["price_currency_US"]}`;
  write(
    `> ${name}, for ${price}, says ${business} (published on ${day}). The record is genuine and unchanged.`,
  );
  write(`> ${fetched.notes["source_line"]}`);
}

/** The name that a business's certificate states, from a resource of the tool server. */
async function businessOf(uuid: string): Promise<string> {
  const { contents } = await client.readResource({ uri: `masterdb://certificates/${uuid}` });
  const [content] = contents;
  const { subject } = JSON.parse(content !== undefined && "text" in content ? content.text : "{}") as {
    readonly subject?: Members;
  };
  return String(subject?.["legal_name"]);
}

async function call(name: string, args: Members): Promise<Answer> {
  write(`### ${name}`);
  write(`\`\`\`json\n${JSON.stringify(args)}\n\`\`\``);
  const { content, isError } = await client.callTool({ name, arguments: { ...args } });
  const [first = {}, second = {}] = content.map(
    (block) => JSON.parse(block.type === "text" ? block.text : "{}") as Members,
  );
  write("The first block, here shortened:");
  writeJson(shortened(first));
  write("The second block, likewise:");
  const { masterdb_mcp_notes: notes } = second as { readonly masterdb_mcp_notes: Members };
  writeJson({ masterdb_mcp_notes: shortened(notes) });
  if (isError === true) throw new Error(`${name} refused the call.`);
  return { body: first, notes };
}

function write(text: string): void {
  process.stdout.write(`${text}\n\n`);
}

function writeJson(value: unknown): void {
  write(`\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``);
}

/** The first item of each list, the first members of each object, the beginning of each text but sentences, and of an object deep inside its size. */
function shortened(value: unknown, depth = 0): unknown {
  if (typeof value === "string") {
    const isShort = value.length <= shownLength || /^[A-Z][^/]*[.]$/.test(value);
    return isShort ? value : `${value.slice(0, shownLength)}… (${value.length} characters)`;
  }
  if (Array.isArray(value)) {
    const first = value.slice(0, shownItems).map((item) => shortened(item, depth - 1));
    const others = value.length - first.length;
    return others === 0 ? first : [...first, `… and ${others} more`];
  }
  if (value === null || typeof value !== "object") return value;
  const members = Object.entries(value);
  if (depth >= shownDepth) return `{ ${members.length} members }`;
  const first = members.slice(0, shownMembers).map(([name, item]) => [name, shortened(item, depth + 1)]);
  const others = members.length - first.length;
  return Object.fromEntries(others === 0 ? first : [...first, ["…", `and ${others} more`]]);
}
