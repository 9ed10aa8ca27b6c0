// Two ways around types, for tests and nothing else.

/** What no type allows, sent on purpose: for tests of how rubbish is met. */
export function rubbish(value: unknown): never {
  return value as never;
}

/** A part of what is wanted, for code under test that looks at no more of it. What is given is of the right type. */
export function part<T>(given: NoInfer<Partial<T>>): T {
  return given as T;
}
