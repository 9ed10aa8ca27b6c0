// Shortens a text of a feed to what a field takes.

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * The text in at most `max` Unicode characters: whole sentences if they make up at least half of that, otherwise whole words
 * and an ellipsis. It is cut between what readers see as characters.
 */
export function shortened(text: string, max: number): string {
  if (lengthOf(text) <= max) return text;
  const head = cut(text, max);
  const sentences = /^[\s\S]*[.!?](?=\s)/.exec(head)?.[0] ?? "";
  if (lengthOf(sentences) >= max / 2) return sentences;
  const room = cut(text, max - 1);
  const words = /^[\s\S]*\S(?=\s)/.exec(room)?.[0] ?? room;
  return `${lengthOf(words) >= max / 2 ? words : room}…`;
}

function lengthOf(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** The beginning of the text, in at most `max` Unicode characters. */
function cut(text: string, max: number): string {
  let at = 0;
  let count = 0;
  for (const { segment } of graphemes.segment(text)) {
    count += lengthOf(segment);
    if (count > max) break;
    at += segment.length;
  }
  return text.slice(0, at);
}
