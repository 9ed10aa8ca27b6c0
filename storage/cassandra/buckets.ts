// Spreads what would otherwise be one partition over several.

/** A number below `count` that depends on the text alone (FNV-1a, 32 bits, folded). Stored data depends on it. */
export function bucketOf(text: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return ((hash ^ (hash >>> 16)) >>> 0) % count;
}
