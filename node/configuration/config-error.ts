// What a setting that cannot be used throws, and how a whole number within bounds and one of a few words are read.

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

/** The environment of a process, from which settings are read. */
export type Env = Readonly<Record<string, string | undefined>>;

export interface Bounds {
  readonly min: number;
  readonly max: number;
  /** The default if the setting is absent. */
  readonly otherwise: number;
}

/** A setting that is a whole number within bounds. Throws {@link ConfigError}. */
export function parseBounded(
  env: Env,
  { name, min, max, otherwise }: Bounds & { readonly name: string },
): number {
  const text = env[name];
  if (text === undefined) return otherwise;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new ConfigError(name, `is ${JSON.stringify(text)}; use a whole number from ${min} to ${max}`);
}

/** The text of a setting that is one of a few words. Throws {@link ConfigError}. */
export function parseChoice<C extends string>(name: string, text: string, choices: readonly C[]): C {
  const chosen = choices.find((each) => each === text);
  if (chosen !== undefined) return chosen;
  const listed = choices.length === 2 ? choices.join(" or ") : `one of ${choices.join(", ")}`;
  throw new ConfigError(name, `is ${JSON.stringify(text)}; use ${listed}`);
}

/** Throws {@link ConfigError}. */
export function parseSwitch(env: Env, name: string, otherwise: "yes" | "no"): boolean {
  return parseChoice(name, env[name] ?? otherwise, ["yes", "no"]) === "yes";
}
