import { expect, it } from "vitest";
import { webhookSchema } from "./webhook.ts";

it("the schema of the body stands in docs/schemas", async () => {
  const text = `${JSON.stringify(webhookSchema(), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot("../../docs/schemas/webhook-1.json");
});
