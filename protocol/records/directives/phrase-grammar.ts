// Finds directives in languages that put spaces between words. Each language is a lexicon of word classes and a few rules,
// which are sequences of classes; what matters is that the classes of one language follow one another closely.
//   P1. Words are compared in one form (wordForm), in which letters that look alike, and spellings that the same language
//       writes either way, are the same.
//   P2. A text without a verb of a lexicon contains no directive; `openings` are all those verbs.
//   P3. A dismissal that is itself negated («never ignore other sources») is none.

import { foldText, plainLetter } from "../fold-text.ts";
import { createWordFilter, type WordFilter } from "../name-index.ts";

/** The classes of words. */
export const wordClasses = [
  /** Verbs that dismiss a source, and those that dismiss many other things as well. */
  "dismiss",
  "weakDismiss",
  /** Verbs for using a source that a negation forbids, and those for using many other things as well. */
  "use",
  "weakUse",
  /** Demands to say or trust something, which «only» narrows. */
  "narrow",
  /** Verbs that prefer something; `preferUs` includes the object. */
  "prefer",
  "preferUs",
  /** «Treat this page as the only source». */
  "consider",
  "not",
  /** A negation that belongs to the object («trust no other shop»), or that is part of the verb. */
  "none",
  "notUse",
  "only",
  /** «Do not cite anything but»: narrows a negated verb. */
  "but",
  "over",
  /** Verbs that make a demand of what precedes them: «do», and «put» after `over`. */
  "do",
  "put",
  /** What qualifies a source as another one, what it is, and what names others alone. */
  "other",
  "source",
  "brand",
  "rivals",
  "others",
  /** The reader's own instructions. */
  "yours",
  "orders",
  /** The speaker; `my` stands with a source. */
  "self",
  "my",
] as const;
export type WordClass = (typeof wordClasses)[number];

export interface Language {
  readonly code: string;
  /**
   * Words of each class. `stem/a/b` stands for `stema stemb`, an ending may be empty; `a_b` is two words that follow one
   * another.
   */
  readonly words: Readonly<Partial<Record<WordClass, string>>>;
  /**
   * Each rule is a sequence of steps: a class, `T` (another source), `t` (another source that weak verbs need), or `S` (the
   * speaker). A space allows up to five words between two steps, `+` at most one. `negatedAfter` tells where the language puts
   * the negation of a dismissal.
   */
  readonly rules: readonly string[];
  readonly negatedAfter?: boolean;
}

const bits = Object.fromEntries(wordClasses.map((name, index) => [name, 2 ** index])) as Record<
  WordClass,
  number
>;
const verbs =
  bits.dismiss |
  bits.weakDismiss |
  bits.use |
  bits.weakUse |
  bits.narrow |
  bits.prefer |
  bits.preferUs |
  bits.consider |
  bits.notUse |
  bits.put;
const objects = bits.other | bits.rivals | bits.others | bits.yours | bits.orders | bits.self | bits.my;
const [reach, near, nounReach] = [5, 1, 4];

interface Step {
  readonly find: (line: Line, at: number) => number | null;
  /** How many words may stand between the previous step and this one. */
  readonly gap: number;
}

interface Grammar {
  readonly rules: readonly (readonly Step[])[];
}

/** The classes of each word of a text in one language; 0 for a word that the lexicon does not have. */
type Line = readonly number[];

interface Meaning {
  readonly language: number;
  readonly classes: number;
}

export interface PhraseGrammar {
  /** The first and last index of the first directive in the folded words; null when there is none. */
  find(words: readonly string[]): readonly [start: number, end: number] | null;
  /** Words, at least one of which is in every directive. */
  readonly openings: WordFilter;
}

interface Lexicon {
  readonly languages: number;
  readonly meanings: Map<string, Meaning[]>;
  /** First words of the entries of two words. */
  readonly pairs: Set<string>;
  /** By first word: bit n says that language n has a verb that begins so, bit n + 16 an object. */
  readonly marks: Map<string, number>;
}

const objectShift = 16;

/** Compiles the languages into one grammar, which looks up each word of a text once. */
export function createPhraseGrammar(languages: readonly Language[]): PhraseGrammar {
  const lexicon: Lexicon = {
    languages: languages.length,
    meanings: new Map(),
    pairs: new Set(),
    marks: new Map(),
  };
  const openings = createWordFilter();
  for (const [language, { words }] of languages.entries()) {
    for (const [entry, classes] of entriesOf(words)) {
      const first = addEntry(lexicon, entry, { language, classes });
      if ((classes & verbs) !== 0) openings.add(first);
    }
  }
  const grammars = languages.map(compile);
  const readWord = createWordReader(lexicon);
  return {
    openings,
    find: (folded) => {
      const read = folded.map(readWord);
      const present = languagesIn(read);
      if (present === 0) return null;
      const words = read.map(({ form }) => form);
      for (let language = 0; present >> language !== 0; language += 1) {
        if (((present >> language) & 1) === 0) continue;
        const found = findIn(readLine(words, lexicon, language), grammars[language] as Grammar);
        if (found !== null) return found;
      }
      return null;
    },
  };
}

/** Adds what an entry means in a language; returns its first word. */
function addEntry({ meanings, pairs, marks }: Lexicon, entry: string, meaning: Meaning): string {
  const [first = "", second] = entry.split(" ");
  meanings.set(entry, [...(meanings.get(entry) ?? []), meaning]);
  if (second !== undefined) pairs.add(first);
  const { language, classes } = meaning;
  const verb = (classes & verbs) !== 0 ? 1 << language : 0;
  const object = (classes & objects) !== 0 ? 1 << (language + objectShift) : 0;
  marks.set(first, (marks.get(first) ?? 0) | verb | object);
  return first;
}

function entriesOf(words: Language["words"]): ReadonlyMap<string, number> {
  const entries = new Map<string, number>();
  for (const [name, list] of Object.entries(words)) {
    for (const written of list.trim().split(/\s+/).flatMap(expand)) {
      const entry = written
        .split("_")
        .map((word) => wordForm(foldText(word).replace(/['’]/g, "")))
        .join(" ");
      entries.set(entry, (entries.get(entry) ?? 0) | bits[name as WordClass]);
    }
  }
  return entries;
}

function expand(written: string): readonly string[] {
  const [stem = "", ...endings] = written.split("/");
  return endings.length === 0 ? [stem] : endings.map((ending) => stem + ending);
}

const notAscii = /[\u0080-\uffff]/;
/** Vowel signs, long marks, nukta and the like, which texts may leave out; the letter extender of Arabic. */
const optionalMarks = /[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u093c\u09bc]/g;
const variants: Readonly<Record<string, string>> = {
  أ: "ا",
  إ: "ا",
  آ: "ا",
  ٱ: "ا",
  ى: "ي",
  ی: "ي",
  ئ: "ي",
  ؤ: "و",
  ک: "ك",
  ہ: "ه",
  ۂ: "ه",
  ة: "ه",
  ۃ: "ه",
  ے: "ي",
  "\u0901": "\u0902",
  "\u0981": "\u0982",
};

/** The form in which words of the lexicons and of texts are compared (P1). */
function wordForm(word: string): string {
  if (!notAscii.test(word)) return word;
  let form = "";
  for (const letter of word.normalize("NFKC").replace(optionalMarks, ""))
    form += variants[letter] ?? plainLetter(letter);
  return form;
}

interface ReadWord {
  readonly form: string;
  /** See {@link Lexicon.marks}. */
  readonly marks: number;
}

/** More than the words that the texts of one catalogue share; when there are more, all are read again. */
const readWordsMax = 20_000;
/** No word of a lexicon is as long. */
const readLengthMax = 32;

/** Reads a folded word; the words of texts repeat, and reading one costs more than finding it again. */
function createWordReader({ marks }: Lexicon): (word: string) => ReadWord {
  const known = new Map<string, ReadWord>();
  return (word) => {
    const found = known.get(word);
    if (found !== undefined) return found;
    const form = wordForm(word);
    const read = { form, marks: marks.get(form) ?? 0 };
    if (word.length > readLengthMax) return read;
    if (known.size >= readWordsMax) known.clear();
    known.set(word, read);
    return read;
  };
}

/** The languages that may have both a verb and an object among the words, as bits. */
function languagesIn(words: readonly ReadWord[]): number {
  let found = 0;
  for (const { marks } of words) found |= marks;
  return found & (found >>> objectShift) & 0xffff;
}

function readLine(words: readonly string[], { meanings, pairs }: Lexicon, language: number): Line {
  const classesOf = (entry: string): number =>
    meanings.get(entry)?.find((each) => each.language === language)?.classes ?? 0;
  return words.map((word, at) =>
    pairs.has(word) ? classesOf(word) | classesOf(`${word} ${words[at + 1]}`) : classesOf(word),
  );
}

function compile({ rules, negatedAfter = false }: Language): Grammar {
  return {
    rules: rules.map((rule) =>
      rule.split(/(?=[ +])/).map((written) => ({
        find: stepOf(written.replace(/^[ +]/, ""), negatedAfter),
        gap: written.startsWith("+") ? near : reach,
      })),
    ),
  };
}

function findIn(line: Line, { rules }: Grammar): readonly [number, number] | null {
  for (let start = 0; start < line.length; start += 1) {
    if (line[start] === 0) continue;
    for (const rule of rules) {
      const end = match(line, rule, { step: 0, at: start });
      if (end !== null) return [start, end];
    }
  }
  return null;
}

/** The last word of a rule whose step begins exactly at a word, and whose later steps follow within their gaps. */
function match(
  line: Line,
  rule: readonly Step[],
  { step, at }: { readonly step: number; readonly at: number },
): number | null {
  const end = (rule[step] as Step).find(line, at);
  if (end === null) return null;
  const next = rule[step + 1];
  if (next === undefined) return end;
  const last = Math.min(line.length - 1, end + 1 + next.gap);
  for (let from = end + 1; from <= last; from += 1) {
    const found = match(line, rule, { step: step + 1, at: from });
    if (found !== null) return found;
  }
  return null;
}

function stepOf(name: string, negatedAfter: boolean): Step["find"] {
  if (name === "T") return (line, at) => anotherSource(line, at, bits.source | bits.brand);
  if (name === "t") return (line, at) => anotherSource(line, at, bits.source, bits.rivals);
  if (name === "S") return speaker;
  const wanted = bits[name as WordClass];
  if (wanted === undefined) throw new Error(`${name} is not a step of a rule.`);
  const isDismissal = (wanted & (bits.dismiss | bits.weakDismiss)) !== 0;
  const isNegated = (line: Line, at: number): boolean =>
    has(line, at - 1, bits.not) ||
    (negatedAfter && (has(line, at + 1, bits.not) || has(line, at + 2, bits.not)));
  return (line, at) => (has(line, at, wanted) && !(isDismissal && isNegated(line, at)) ? at : null);
}

function has(line: Line, at: number, wanted: number): boolean {
  return ((line[at] ?? 0) & wanted) !== 0;
}

/** «Other online shops», «sources externes», «competitors», «your instructions», beginning at a word. */
function anotherSource(
  line: Line,
  at: number,
  nouns: number,
  alone = bits.rivals | bits.others,
): number | null {
  if (has(line, at, alone)) return at;
  const beside = besideEach(line, at, [bits.other, nouns]) ?? besideEach(line, at, [bits.yours, bits.orders]);
  return beside;
}

/** Where a qualifier precedes its noun, or the noun its qualifier. */
function besideEach(line: Line, at: number, [qualifier, noun]: readonly [number, number]): number | null {
  if (has(line, at, qualifier)) {
    const end = within(line, { from: at + 1, words: nounReach, wanted: noun });
    if (end !== null) return end;
  }
  return has(line, at, noun) ? within(line, { from: at + 1, words: near + 1, wanted: qualifier }) : null;
}

function speaker(line: Line, at: number): number | null {
  return has(line, at, bits.self) ? at : besideEach(line, at, [bits.my, bits.source]);
}

function within(
  line: Line,
  { from, words, wanted }: { readonly from: number; readonly words: number; readonly wanted: number },
): number | null {
  for (let at = from; at < from + words; at += 1) if (has(line, at, wanted)) return at;
  return null;
}

// Directives in Chinese and Japanese, which put no spaces between words: patterns over the text without its spaces and
// punctuation, so that neither hides anything. The marks that end a sentence stay, and no phrase goes beyond them.

const spaced = /[^\p{L}\p{M}\p{N}。！？!?\n]+/gu;
/** Kana, ideographs and their compatibility forms, half width letters; coarse, because it is tested often. */
const ideographs =
  /[\u2e80-\u2fdf\u3040-\u30ff\u31f0-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff65-\uff9f\ud840-\ud8ff]/;

/** One of the words, which stand between spaces. */
function any(list: string): string {
  return `(?:${list.trim().split(/\s+/).join("|")})`;
}

/** Up to `max` characters of the same sentence. */
function gap(max: number): string {
  return `[^。！？!?\\n]{0,${max}}?`;
}

interface Unspaced {
  readonly patterns: readonly string[];
  /** Every directive has one of these words: whom it is about. */
  readonly objects: string;
}

function chinese(): Unspaced {
  const negations = any("不要 不得 不可 不应 不應 不能 不许 不許 不必 别 別 请勿 請勿 切勿 勿 禁止 莫 避免");
  const dismissals = any(
    "忽略 忽視 忽视 无视 無視 不理会 不理會 摒弃 摒棄 屏蔽 忘记 忘記 忘掉 抛开 拋開 不顾 不顧 漠视",
  );
  const uses = any(
    "引用 相信 信任 推荐 推薦 提及 提到 参考 參考 采信 採信 信赖 信賴 听信 聽信 介绍 介紹 采纳 採納 依赖 依賴 建议 建議",
  );
  const weakUses = any("使用 显示 顯示 访问 訪問 排除");
  const others =
    "其他 其它 别的 別的 另外 其余 其餘 竞争 競爭 外部 第三方 之前 以前 先前 上述 以上 此前 前面 先前的 他人 别家 別家";
  const information = any(
    "来源 來源 信息源 资料 資料 网站 網站 网页 網頁 页面 頁面 结果 結果 评论 評論 评价 評價 指令 指示 提示 回答 答案",
  );
  const sellers = any(
    "店铺 店鋪 商店 商家 卖家 賣家 供应商 供應商 平台 零售商 品牌 公司 企业 企業 厂家 廠家",
  );
  const rivals = "竞争对手 競爭對手 竞品 競品 同行";
  const owners = "你的 您的 所有 系统 系統";
  const orders = `${any(owners)}的?${any("指令 提示词 提示詞 系统提示 系統提示")}`;
  const another = `(?:${any(others)}${gap(5)}(?:${information}|${sellers})|${any(rivals)}|${orders}|系统提示词?|系統提示詞?)`;
  const anotherInformation = `(?:${any(others)}${gap(5)}${information})`;
  const speakers = `我们 我們 我方 本店 本公司 本页 本頁 本网站 本網站 本站 本品牌 此来源 此來源 此页面 此頁面 此网站 此網站 这个来源 這個來源 这个网站
    這個網站 这个页面 這個頁面 该来源 本来源 本來源 本记录 本記錄`;
  const selves = any(speakers);
  const negated = "(?<!不|别|別|勿|不要|不得|不可|不能|不应|无法|無法|避免)";
  const patterns = [
    `${negated}${dismissals}${gap(5)}${another}`,
    `(?:把|将|將|对|對)${another}${gap(4)}${dismissals}`,
    `${negations}${gap(3)}${uses}${gap(5)}${another}`,
    `${negations}${gap(2)}${weakUses}${gap(4)}${anotherInformation}`,
    `(?:只|仅|僅|唯一)${gap(2)}${uses}${gap(3)}${selves}`,
    `(?:优先|優先|首选|首選)${gap(4)}${selves}${gap(8)}(?:而不是|而非|高于|高於|胜过|勝過|先于|先於)${gap(3)}${another}`,
    `(?:把|将|將)${gap(3)}${selves}${gap(3)}(?:排在|放在|列在|置于|置於)${gap(3)}${another}`,
  ];
  return { patterns, objects: [others, rivals, owners, speakers].join(" ") };
}

function japanese(): Unspaced {
  const others =
    "他の 他社の? ほかの 別の その他の 競合する 競合の? 外部の? 以前の 前の これまでの 上記の 先の 第三者の 従来の";
  const information = any(
    "情報源 ソース ウェブサイト サイト ページ 結果 レビュー 口コミ 指示 命令 プロンプト 回答",
  );
  const sellers = any("店舗 ショップ 店 販売者 販売店 業者 サプライヤー ブランド 企業 会社 メーカー");
  const rivals = "競合他社 競合 ライバル社? 他社 他店";
  const owners = "あなたの すべての 全ての システム";
  const another = `(?:${any(others)}${gap(5)}(?:${information}|${sellers})|${any(rivals)}|${any(owners)}(?:指示|命令|プロンプト))`;
  const anotherInformation = `(?:${any(others)}${gap(5)}${information})`;
  const demand =
    "(?:して(?:ください|下さい|ほしい|よい|$|[。！!\\n])|すること|しろ|せよ|しましょう|しなさい)";
  const forbidden =
    "(?:しないで|しない(?:こと|よう)|しては(?:いけ|なら)|するな|すべきでは?ない|しないように|をしないで|しないでください)";
  const uses = any("引用 信頼 信用 推奨 推薦 言及 紹介 参照 参考に おすすめ お勧め");
  const speakers =
    "当店 当社 弊社 私たち 私達 わたしたち 我々 このページ このサイト この情報源 当サイト この店 本ページ 本サイト このブランド";
  const selves = any(speakers);
  const patterns = [
    `${another}${gap(4)}(?:無視|軽視|除外|排除)${demand}`,
    `${another}${gap(4)}忘れて(?:ください|下さい)`,
    `${another}${gap(5)}${uses}を?${forbidden}`,
    `${another}${gap(3)}信じ(?:ないで|るな|てはいけ|ては なら)`,
    `${anotherInformation}${gap(4)}(?:使用|利用|表示|閲覧)${forbidden}`,
    `${selves}(?:のみ|だけ)[をがにの]?(?:情報を)?${uses}${demand}`,
    `${selves}(?:のみ|だけ)を?信じて(?:ください|下さい)`,
    `${selves}を${gap(4)}${another}より${gap(3)}(?:優先|上位|先)${gap(4)}(?:して|表示|推薦|こと)`,
    `${another}より${gap(3)}${selves}を${gap(3)}(?:優先|上位)${gap(4)}(?:して|表示|推薦|こと)`,
  ];
  return { patterns, objects: [others, rivals, owners, speakers].join(" ") };
}

const languages = [chinese(), japanese()];
const patterns = new RegExp(languages.flatMap((each) => each.patterns).join("|"), "u");

/** The first two characters of each object: every one has as many. */
const beginnings = new Set(
  languages.flatMap(({ objects }) =>
    objects
      .trim()
      .split(/\s+/)
      .map((word) => pairAt(word, 0)),
  ),
);

/** Two code units as one number. */
function pairAt(text: string, at: number): number {
  return text.charCodeAt(at) * 65_536 + text.charCodeAt(at + 1);
}

/**
 * Whether a text with these folded words may have a directive in Chinese or Japanese: it has letters of these languages, and
 * the beginning of a word for whom it would be about. Words are read without anything between them, as the patterns are.
 */
export function mayBeUnspaced(text: string, words: readonly string[]): boolean {
  if (!ideographs.test(text)) return false;
  const joined = words.join("");
  for (let at = 0; at + 1 < joined.length; at += 1) if (beginnings.has(pairAt(joined, at))) return true;
  return false;
}

/** The first directive in a folded text; null when there is none. */
export function findUnspaced(folded: string): string | null {
  return patterns.exec(folded.replace(spaced, ""))?.[0] ?? null;
}
