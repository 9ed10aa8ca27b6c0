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
