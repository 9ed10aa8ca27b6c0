// Singular and plural of English words, by rules of spelling and a short list of irregular words. They apply whatever the
// language of the text, since a query does not state one: another language's plurals in -s are found as well.
// Two words are forms of each other in both directions, because singulars are defined by the plurals that they have. The
// rules may name words that do not exist, which no row contains. Verbs are left alone: to a shopper, bedding is not a bed.

const lettersMin = 3;
const plainWord = /^[a-z]+$/;

const irregularPlurals: ReadonlyMap<string, string> = new Map([
  ["child", "children"],
  ["foot", "feet"],
  ["goose", "geese"],
  ["lens", "lenses"],
  ["man", "men"],
  ["mouse", "mice"],
  ["person", "people"],
  ["quiz", "quizzes"],
  ["tooth", "teeth"],
  ["woman", "women"],
]);
const irregularSingulars: ReadonlyMap<string, string> = new Map(
  [...irregularPlurals].map(([singular, plural]) => [plural, singular]),
);
/** Words in -s that are not plurals of a shorter word. */
const invariable: ReadonlySet<string> = new Set(["always", "news", "perhaps", "series", "species"]);

/** A word in another -s is a plural already. */
const sibilant = /(?:ss|us|is|as|os|sh|ch|x|z)$/;
/** `shelf`, `leaf`, `loaf`, `scarf`, `thief`, `hoof`; `knife`, `wife`, `life`. Not `roof` and `cafe`. */
const softened = /(?:(?:l|ea|oa|ar|ie|[^r]oo)f|(?:kn|w|l)ife)$/;
/** `basis`, `thesis`, `crisis`, `diagnosis`, `analysis`, `axis`. */
const greekIs = /(?:[aeioy]s|ax)is$/;
const consonantY = /[^aeiou]y$/;

/**
 * The other forms of a folded word: its plurals if it can be a singular, its singulars if it can be a plural, and their
 * other plurals, so that `salarys` finds `salaries`.
 */
export function numberForms(word: string): readonly string[] {
  if (!plainWord.test(word)) return [];
  const singulars = singularsOf(word);
  const forms = new Set([...singulars, ...pluralsOf(word), ...singulars.flatMap(pluralsOf)]);
  forms.delete(word);
  return [...forms];
}

function singularsOf(word: string): readonly string[] {
  const irregular = irregularSingulars.get(word);
  if (irregular !== undefined) return [irregular];
  if (!word.endsWith("s")) return [];
  const candidates = [word.slice(0, -1)];
  if (word.endsWith("es")) candidates.push(word.slice(0, -2), `${word.slice(0, -2)}is`);
  if (word.endsWith("ies")) candidates.push(`${word.slice(0, -3)}y`);
  if (word.endsWith("ves")) candidates.push(`${word.slice(0, -3)}f`, `${word.slice(0, -3)}fe`);
  return candidates.filter((singular) => pluralsOf(singular).includes(word));
}

function pluralsOf(word: string): readonly string[] {
  if (word.length < lettersMin || invariable.has(word)) return [];
  const irregular = irregularPlurals.get(word);
  const plurals = irregular === undefined ? regularPlurals(word) : [irregular];
  // Of every word, also a possessive without its apostrophe: `womens`.
  if (!word.endsWith("s")) plurals.push(`${word}s`);
  return plurals.filter((plural) => !invariable.has(plural));
}

/** The plurals that are not just the word with an -s. */
function regularPlurals(word: string): string[] {
  if (consonantY.test(word)) return [`${word.slice(0, -1)}ies`];
  if (greekIs.test(word)) return [`${word.slice(0, -2)}es`];
  if (sibilant.test(word) || (word.endsWith("o") && word.length > lettersMin)) return [`${word}es`];
  if (softened.test(word)) return [word.replace(/fe?$/, "ves")];
  return [];
}
