// Work side by side that ends as one: whoever begins it again meets nothing of the time before.

/**
 * As `Promise.all`, but settles only when every part has ended. Rejects with the failure that came first; `onFailure`
 * is told of it at once, to end what could wait for long.
 */
export async function allEnded<T extends readonly unknown[]>(
  parts: readonly [...{ [K in keyof T]: Promise<T[K]> }],
  onFailure: (error: unknown) => void = () => {},
): Promise<T> {
  const failures: unknown[] = [];
  const outcomes = await Promise.all(
    parts.map((part) =>
      part.catch((error: unknown) => {
        if (failures.push(error) === 1) onFailure(error);
      }),
    ),
  );
  if (failures.length > 0) throw failures[0];
  return outcomes as unknown as T;
}
