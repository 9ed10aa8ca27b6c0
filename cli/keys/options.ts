// Options that the key ceremonies share, and how they are parsed.

import { resolve } from "node:path";
import { type Arguments, type Call, UsageError } from "../command.ts";

const dayMs = 86_400_000;
const daysMax = 36_500;

export const environmentOption = "    --environment NAME  production (default) or sandbox";
export const replaceOption = "    --replace  overwrite the output file if it exists";
export const keysOption = "    --keys DIR  folder for the private halves, readable only by you";
export const publicOption = "    --public FILE  file for the public halves, to be certified";

export function windowOptions(days: number): string {
  return `
    --valid-from TIME  when it starts to sign, in UTC (default now)
    --days N           number of days for which it signs (default ${days})`;
}

/** The validity window of a new key. Throws {@link UsageError}. */
export function windowOf(call: Call, daysDefault: number) {
  const from = call.text("valid-from");
  const fromMs = from === null ? call.now() : Date.parse(timestampOf("--valid-from", from));
  const days = call.integer("days", { min: 1, max: daysMax, fallback: daysDefault });
  return {
    valid_from: new Date(fromMs).toISOString(),
    valid_until: new Date(fromMs + days * dayMs).toISOString(),
  };
}

export function environmentOf(args: Arguments): "production" | "sandbox" {
  const environment = args.text("environment") ?? "production";
  if (environment === "production" || environment === "sandbox") return environment;
  throw new UsageError(`--environment is ${JSON.stringify(environment)}; use production or sandbox.`);
}

/** The absolute path of a file or folder given by a required option. */
export function pathOf(call: Call, name: string): string {
  const given = call.text(name);
  if (given === null) throw new UsageError(`--${name} is missing.`);
  return resolve(call.cwd, given);
}

export function pathsOf(call: Call, name: string): readonly string[] {
  return call.texts(name).map((each) => resolve(call.cwd, each));
}

export function outputOf(call: Call, name: string) {
  return { path: pathOf(call, name), replace: call.flag("replace") };
}

/** Converts a day, or an instant in UTC, to a timestamp with milliseconds. Throws {@link UsageError}. */
export function timestampOf(option: string, text: string): string {
  const isInstant = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?Z)?$/.test(text);
  const ms = isInstant ? Date.parse(text) : Number.NaN;
  // The platform moves a day that does not exist in its month into the next one.
  if (Number.isFinite(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 10)))
    return new Date(ms).toISOString();
  throw new UsageError(
    `${option} is ${JSON.stringify(text)}; use a day such as 2027-01-31 or an instant such as 2027-01-31T08:00:00Z.`,
  );
}

/** Parses `KEY_ID` or `KEY_ID=TIME`; without a time it is now. Throws {@link UsageError}. */
export function instantsOf(call: Call, name: string): ReadonlyMap<string, string> {
  const instants = new Map<string, string>();
  for (const text of call.texts(name)) {
    const [keyId = "", time] = text.split("=", 2);
    if (!/^[A-Za-z0-9_-]{43}$/.test(keyId))
      throw new UsageError(
        `--${name} is ${JSON.stringify(text)}; use KEY_ID or KEY_ID=TIME (svc keys id FILE).`,
      );
    const instant = time === undefined ? new Date(call.now()).toISOString() : timestampOf(`--${name}`, time);
    instants.set(keyId, instant);
  }
  return instants;
}
