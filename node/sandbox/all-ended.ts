// Parallel work that ends as a unit: a caller that starts it again meets no leftovers of the previous attempt.

/**
 * Works like `Promise.all`, but settles only when every part has ended. Rejects with the first failure; `onFailure`
 * receives it at once, so that it can stop parts that might wait for long.
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
