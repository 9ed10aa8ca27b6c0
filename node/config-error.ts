/** A setting that cannot be used: names it and says what would do. */
export class ConfigError extends Error {
  readonly setting: string;
  /** What is wrong, and after a semicolon what would do. */
  readonly fix: string;
  constructor(setting: string, fix: string) {
    super(`${setting}: ${fix}`);
    this.name = "ConfigError";
    this.setting = setting;
    this.fix = fix;
  }
}
