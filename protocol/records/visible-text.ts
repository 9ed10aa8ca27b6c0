// Characters in a text that readers do not see but programs read: a text could say one thing to people and another to a
// model. Refused are the characters that Unicode allows a display to omit (Default_Ignorable_Code_Point: tags, variation
// selectors, zero width spaces, soft hyphens …), those that reverse the direction of a text (Bidi_Control), and interlinear
// annotations. Of these, only what a script or an emoji cannot be written without is allowed, one at a time:
//   V1. U+200C and U+200D after a letter, mark or digit, where the character before or after belongs to a script that joins
//       or stacks letters (Persian «می‌خواهم», Hindi «क्‍ष»);
//   V2. U+200B between two letters of a script that puts no spaces between words (Khmer, Lao, Myanmar, Thai);
//   V3. U+200D between two emoji («👨‍👩‍👧»), U+FE0E and U+FE0F after an emoji, and U+FE0F in keycaps («1️⃣»).

const doubtful = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\ufff9-\ufffb]/u;
const notAscii = /\P{ASCII}/u;

const joining = [
  ...["Arabic", "Syriac", "Mandaic", "Nko", "Adlam", "Hanifi_Rohingya", "Mongolian"],
  ...["Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam"],
  ...["Sinhala", "Tibetan", "Myanmar", "Khmer", "Javanese", "Balinese", "Sundanese", "Newa", "Chakma"],
  ...["Meetei_Mayek", "Grantha"],
];
const unspaced = ["Khmer", "Lao", "Myanmar", "Thai"];
/** Matches a letter, mark or digit of one of the scripts. */
const of = (scripts: readonly string[]): string =>
  `(?=[\\p{L}\\p{M}\\p{Nd}])[${scripts.map((script) => `\\p{Script_Extensions=${script}}`).join("")}]`;
const behindOf = (scripts: readonly string[]): string => `(?<=${of(scripts)})`;
const aheadOf = (scripts: readonly string[]): string => `(?=${of(scripts)})`;

const pictograph = "[\\p{Extended_Pictographic}\\u{1f9b0}-\\u{1f9b3}]";
const needed = new RegExp(
  [
    `(?<=[\\p{L}\\p{M}\\p{Nd}])[\\u200c\\u200d](?:(?<=${of(joining)}[\\u200c\\u200d])|${aheadOf(joining)})`,
    `${behindOf(unspaced)}\\u200b${aheadOf(unspaced)}`,
    `(?<=${pictograph}[\\ufe0e\\ufe0f\\p{Emoji_Modifier}]?)\\u200d(?=${pictograph})`,
    "(?<=(?![0-9#*])\\p{Emoji})[\\ufe0e\\ufe0f]",
    "(?<=[0-9#*])\\ufe0f(?=\\u20e3)",
  ].join("|"),
  "gu",
);

/** The first character of a text that readers do not see, written as `U+200B`; null when there is none. */
export function hiddenCharacter(text: string): string | null {
  if (!notAscii.test(text) || !doubtful.test(text)) return null;
  const hidden = doubtful.exec(text.replace(needed, " "))?.[0];
  return hidden === undefined
    ? null
    : `U+${(hidden.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}`;
}
