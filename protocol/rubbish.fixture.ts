// Two ways to bypass the type checker, for tests only.

/** A value that no type allows, passed on purpose: for tests of how invalid values are handled. */
export function rubbish(value: unknown): never {
  return value as never;
}

/** Part of a value, for code under test that reads no more of it. The given members have the right types. */
export function part<T>(given: NoInfer<Partial<T>>): T {
  return given as T;
}
