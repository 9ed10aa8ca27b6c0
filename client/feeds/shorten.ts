/**
 * The text in at most `max` characters: whole sentences if they make up at least half of that, otherwise whole words and an
 * ellipsis.
 */
export function shortened(text: string, max: number): string {
  const characters = [...text];
  if (characters.length <= max) return text;
  const room = characters.slice(0, max - 1).join("");
  const sentences = /^[\s\S]*[.!?](?=\s)/.exec(characters.slice(0, max).join(""))?.[0] ?? "";
  if ([...sentences].length >= max / 2) return sentences;
  const words = /^[\s\S]*\S(?=\s)/.exec(room)?.[0] ?? room;
  return `${[...words].length >= max / 2 ? words : room}…`;
}
