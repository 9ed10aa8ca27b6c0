// Follows docs/for-ai-companies.md beside a running sandbox: the packaged client, and the client that a generator makes for Python, which
// then also publishes, with what is signed in sixty lines, and has a type for every refusal of both surfaces.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { playedBlocks } from "../node/keys/runbook.fixture.ts";
import { type ProcessResult, root, runNode } from "../tools/process.ts";
import { binOf } from "../tools/steps.ts";
import { type FollowedCheckout, leaveOut, openFollowedCheckout } from "./running-sandbox.fixture.ts";

const page = await readFile(join(root, "docs", "for-ai-companies.md"), "utf8");
const sections = await playedBlocks("for-ai-companies.md");
let checkout: FollowedCheckout;

const work = (name: string): string => join(checkout.folder, "ai-company", name);

beforeAll(async () => {
  checkout = await openFollowedCheckout(["cli", "tools"]);
});
afterAll(() => checkout?.[Symbol.asyncDispose]());

function scriptOf(title: string, kind = ""): string {
  const chosen = (sections.get(title) ?? []).filter((block) => block.kind === kind);
  if (chosen.length === 0) throw new Error(`docs/for-ai-companies.md has no such commands under ${title}`);
  return chosen.map(({ script }) => script).join("");
}

/** The page's block of a program, by what follows the fence. */
function programOf(info: string): string {
  const [, program] = new RegExp(`^\`\`\`${info}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page) ?? [];
  if (program === undefined) throw new Error(`docs/for-ai-companies.md has no block ${info}`);
  return program;
}

/** What a generator says of a schema that it makes no model of. */
const faults = /Unable to process|Failed|ERROR/;

/** Runs a script after the page's start. */
const play = (script: string): Promise<ProcessResult> => checkout.play(`${scriptOf("Start")}${script}`);

/** What both programs print: what was chosen, cited and receipted, and what each error asks for. */
function expectAnswered({ code, output }: ProcessResult): void {
  expect(code, output).toBe(0);
  expect(output).toMatch(/^chosen .*\S/m);
  expect(output).toMatch(/^cite svc-source\/1 record=svc_[a-z2-7]{26} /m);
  expect(output).toMatch(/^receipt ret_[0-9a-f]{32} valid true$/im);
  expect(output).toMatch(/^mend 400 (?:unknown_field|sort_not_allowed): /m);
  expect(output).toMatch(/^leave 404 not_found: /m);
}

/** What `svc verify` says of the search and of the record. */
function expectVerified({ code, output }: ProcessResult): void {
  expect(code, output).toBe(0);
  expect(output.match(/^Valid\.$/gm), output).toHaveLength(2);
  expect(output.match(/^ok +receipt +Served at /gm), output).toHaveLength(2);
}

/** What they print for the companies whose allowance is spent, and cannot be checked. */
async function expectRefused(script: string): Promise<void> {
  expect((await play(`COMPANY=5 ${script}`)).output).toMatch(/^stop 402 allowance_exhausted: /m);
  expect((await play(`COMPANY=6 ${script}`)).output).toMatch(/^wait 503 unavailable: /m);
}

describe("docs/for-ai-companies.md in TypeScript", () => {
  it("leads from the packed client to verified answers, and says what each error asks for", async () => {
    const installed = await play(scriptOf("TypeScript", "install"));
    expect(installed.code, installed.output).toBe(0);
    await writeFile(work("company.mts"), programOf("ts"));
    const asked = await play(scriptOf("TypeScript"));
    expectAnswered(asked);
    expect(asked.output.match(/^verified ts-(?:search|record)\.json$/gm)).toHaveLength(2);
    await expectRefused(scriptOf("TypeScript"));
    const types = ["--types", "node", "--typeRoots", join(root, "node_modules", "@types")];
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023", ...types];
    const checked = await runNode([binOf("typescript", "tsc"), ...options, "company.mts"], { cwd: work("") });
    expect(checked, checked.output).toMatchObject({ code: 0, output: "" });
  });
});

/** The seal of one record, which no generator makes either. */
const sealing = `
def sealed(key, context, record):
    leaf = hashlib.sha256(b"\\x00" + record).hexdigest()
    facts = {"v": 2, "key_id": key["key_id"], "cert_id": context.cert_id, "root": "sha256:" + leaf, "tree_size": 1}
    facts |= {"seq": (context.last_seq or 0) + 1, "sealed_at": datetime.now(timezone.utc).isoformat(timespec="milliseconds")[:23] + "Z"}
    facts |= {"record_type": "products", "ai_policy_version": context.ai_policy_version}
    payload = json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()
    kind = "application/vnd.svc.batch-seal.v2+json"
    pae = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
    signature = {"keyid": key["key_id"], "sig": base64.b64encode(signed.private.sign(pae)).decode()}
    return {"payloadType": kind, "payload": base64.b64encode(payload).decode(), "signatures": [signature]}
`;
/** Pushes a product, and finds, fetches and keeps it. */
const pushing = `import base64, hashlib, json, time
from datetime import datetime, timezone
import company
from signing import Signed
from svc_business import Client
from svc_business.api.publish import get_v1_seal_context, post_v1_publish_products
from svc_business.models import PostV1PublishProductsBody

key = company.sandbox["businesses"][0]["integration_keys"][0]
signed = Signed(key, "svc-business-read")
client = Client(base_url=company.sandbox["business_url"], httpx_args={"auth": signed})
${sealing}
context = get_v1_seal_context.sync(client=client)
record = {
    "schema": "svc/products/1", "business_product_id": "generated-1", "language": "en", "product_name": "Quillfeather loaf",
    "countries": ["US"], "vertical": "food_drink", "category": "groceries", "channel": "online", "brand": "Quillfeather",
    "tags": ["bread"], "short_description": "A loaf.", "prices": [{"country": "US", "currency": "USD", "amount": "4.20"}],
    "on_sale": False, "availability": "in_stock", "product_url": "https://lindqvist-rowe.example/loaf",
}
signed.tag = "svc-push"


def push(record):
    content = json.dumps(record).encode()
    body = {"batch_seal": sealed(key, context, content), "records": [base64.b64encode(content).decode()]}
    body = PostV1PublishProductsBody.from_dict(body)
    return post_v1_publish_products.sync_detailed(client=client, body=body, idempotency_key=hashlib.sha256(content).hexdigest())


print("pushed", push(record).content.decode())
question = {**company.asking(), "q": "quillfeather"}
for _ in range(200):
    if company.ask(company.post_v1_products_search, body=company.ProductsSearch.from_dict(question))[0].rows:
        break
    time.sleep(0.1)
company.answer(question)
# The same seq for another seal.
refused = push({**record, "tags": ["loaf"]}).parsed
print("refused", type(refused).__name__, refused.code.value)
`;

/** Every refusal of every operation, made as the document says and read by the generated client. */
const refusals = `import importlib, pkgutil
import httpx
from company import sandbox

for package, address in (("svc_retrieval", "base_url"), ("svc_business", "business_url")):
    modules = {each.name.split(".")[-1]: each.name for each in pkgutil.walk_packages([package + "/api"], package + ".api.")}
    paths = httpx.get(sandbox[address] + "/openapi.json").json()["paths"]
    operations = {each["operationId"].rstrip("_"): each for path in paths.values() for each in path.values()}
    count = 0
    for operation_id in operations.keys() & modules.keys():
        module = importlib.import_module(modules[operation_id])
        for status, response in operations[operation_id]["responses"].items():
            schema = response.get("content", {}).get("application/problem+json", {}).get("schema", {})
            for code in schema.get("properties", {}).get("code", {}).get("enum", []):
                problem = {"type": "/docs/problems/" + code, "title": code, "status": int(status), "code": code, "detail": "."}
                parsed = module._parse_response(client=None, response=httpx.Response(int(status), json=problem))
                assert parsed.code.value == code, (operation_id, status, code)
                count += 1
    print("typed", package, count, "refusals, of all operations but", *operations.keys() - modules.keys())
`;

describe("docs/for-ai-companies.md in Python", () => {
  it("leads from /openapi.json to verified answers, publishes in sixty lines of signing, and types every refusal", async ({
    skip,
  }) => {
    const installed = await play(scriptOf("Python", "install"));
    if (installed.code !== 0) {
      leaveOut(`openapi-python-client and cryptography cannot be installed: ${installed.output}`);
      return skip();
    }
    expect(installed.output).not.toMatch(faults);
    for (const name of ["signing.py", "company.py"]) await writeFile(work(name), programOf(`python ${name}`));
    expectAnswered(await play(scriptOf("Python")));
    await expectRefused(scriptOf("Python"));
    expectVerified(await play(scriptOf("Python", "verify")));

    expect(`${programOf("python signing.py")}${sealing}`.split("\n").length).toBeLessThanOrEqual(60);
    await writeFile(work("push.py"), pushing);
    await writeFile(work("refusals.py"), refusals);
    const install = scriptOf("Python", "install").replace('"base_url"', '"business_url"');
    const generated = await play(install.replace("svc_retrieval", "svc_business"));
    expect(generated.output).not.toMatch(faults);
    const pushed = await play(`.venv/bin/python push.py; ${scriptOf("Python", "verify")}`);
    expectVerified(pushed);
    expect(pushed.output).toMatch(/^pushed .*"outcome": ?"accepted"/m);
    expect(pushed.output).toContain("chosen Quillfeather loaf");
    expect(pushed.output).toMatch(/^refused Problem seq_not_increasing$/m);
    const typed = await play(".venv/bin/python refusals.py");
    expect(typed.output).toMatch(/^typed svc_retrieval [1-9][0-9]{2,} refusals, of all operations but$/m);
    // The generator has no form for a body that is an image.
    expect(typed.output).toMatch(
      /^typed svc_business [1-9][0-9]{2,} refusals, of all operations but post_v1_ads_images$/m,
    );
  });
});
