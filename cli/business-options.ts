// What the commands of a business's own system share.

import { type Business, createBusiness } from "../client/business.ts";
import type { Arguments, CommandContext, OptionSpecs } from "./command.ts";
import { type Connection, connect, connectionOptions } from "./connection.ts";

export const businessOptions = {
  business: { type: "string", value: "N|UUID", help: "business of the sandbox that asks (default 1)" },
  ...connectionOptions,
} as const satisfies OptionSpecs;

export const jsonOption = {
  type: "boolean",
  help: "print the service's answers as JSON, one on each line",
} as const;

/** How long a service that is away, or asks to wait, is waited for. */
const patienceMs = 60_000;

export interface BusinessConnection extends Connection {
  readonly business: Business;
}

export async function connectBusiness(args: Arguments, context: CommandContext): Promise<BusinessConnection> {
  const connection = await connect("business", args, context);
  const business = createBusiness({
    client: connection.client,
    key: connection.key,
    now: context.now,
    wait: context.wait,
    patienceMs,
    onWaiting: ({ delayMs, error }) =>
      context.terminal.note(`Waiting ${Math.ceil(delayMs / 1000)} s: ${error.message}`),
  });
  return { ...connection, business };
}
