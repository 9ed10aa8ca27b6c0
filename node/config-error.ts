/** A setting that cannot be used: names it and says what would do. */
export class ConfigError extends Error {
  constructor(setting: string, fix: string) {
    super(`${setting}: ${fix}`);
    this.name = "ConfigError";
  }
}
