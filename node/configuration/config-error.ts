// What a setting that cannot be used throws, and how a whole number within bounds is read.

/** A setting that cannot be used: the message names it and says what to do. */
export class ConfigError extends Error {
  readonly setting: string;
  /** What is wrong and, after a semicolon, how to fix it. */
  readonly fix: string;
  constructor(setting: string, fix: string) {
    super(`${setting}: ${fix}`);
    this.name = "ConfigError";
    this.setting = setting;
    this.fix = fix;
  }
}

export interface Bounds {
  readonly min: number;
  readonly max: number;
  /** The default if the setting is absent. */
  readonly otherwise: number;
}

/** A setting that is a whole number within bounds. Throws {@link ConfigError}. */
export function parseBounded(
  env: Readonly<Record<string, string | undefined>>,
  { name, min, max, otherwise }: Bounds & { readonly name: string },
): number {
  const text = env[name];
  if (text === undefined) return otherwise;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new ConfigError(name, `is ${JSON.stringify(text)}; use a whole number from ${min} to ${max}`);
}
