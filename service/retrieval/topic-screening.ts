// Screens `topic_keywords` before anything of them is kept (specification, «Retrieval API»). What may be personal is dropped
// without a trace; when in doubt it is dropped. docs/ads.md has the same rules in words.
//   P1. A subject is up to `wordsMax` words of letters, digits and a few joining signs, folded like the words of a search.
//   P2. It has no sign of an address or a handle (`@`, `#`, `://`, `www.`, a dot between letters), and at most
//       `digitsMax` digits, whatever stands between them.
//   P3. No word of it looks generated: hexadecimal of 8 or more with a digit, letters and digits mixed in a long word, or a
//       long word that nobody could pronounce. Compound words of letters may be long.
//   P4. It does not speak of a person: no given name beside another word, no title before a name, no word in the first
//       or second person, not even in letters that only look like those.

import type { CryptoPort } from "../../crypto/port.ts";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { foldText, withoutLookAlikes } from "../../protocol/records/fold-text.ts";
import { BoundedMap } from "../../std/bounded-map.ts";

/** Maximum number and length of keywords whose subjects are kept in memory. */
const keptMax = 2_000;
const keptLengthMax = 64;

export const topicLimits = {
  wordsMax: 4,
  wordLengthMax: 24,
  /** For a word of letters alone: many languages join words. */
  compoundLengthMax: 48,
  /** For a text without spaces in a script that needs none. */
  unspacedMax: 12,
  digitsMax: 5,
  mixedLengthMax: 9,
} as const;

const allowed = /^[\p{L}\p{M}\p{N} '’&+./-]+$/u;
const address = /[@#]|:\/\/|www\.|\p{L}\.\p{L}/u;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;
const separators = /[ '’&+./-]+/u;

/** No compound word has so many consonants in a row; a generated one of more than two dozen letters nearly always has. */
const unpronounceable = /[b-df-hj-np-tv-xz]{6,}.*[b-df-hj-np-tv-xz]{6,}|[b-df-hj-np-tv-xz]{9,}/;

const titles = wordSet(
  "mr mrs ms dr prof madam herr frau fraulein monsieur madame mlle mme sra srta senor senora signor signora dott mevr dhr",
);
const persons = wordSet(
  "i me my mine myself you your yours we our ours ich mich mir mein meine meinen meiner du dich dein deine wir uns unser je moi mon ma mes tu toi ton nous notre vous votre yo tus nosotros nuestro mio mia miei tuo tua meu minha ik mijn jij jouw wij ons",
);

function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

/** The subjects of keywords that were kept before, because callers name the same again and again. Of what is dropped, nothing stays. */
const kept = new BoundedMap<string, string>(keptMax);

/** The subject as it is counted; null for what is not kept. */
export function screenTopic(keyword: string): string | null {
  const known = kept.get(keyword);
  if (known !== undefined) return known;
  const subject = judge(keyword);
  if (subject !== null && keyword.length <= keptLengthMax) kept.set(keyword, subject);
  return subject;
}

function judge(keyword: string): string | null {
  if (address.test(keyword) || !allowed.test(keyword.normalize("NFKC"))) return null;
  const subject = foldText(keyword).replaceAll(/\s+/g, " ").trim();
  const words = wordsOf(subject);
  if (address.test(subject) || words.length === 0 || words.length > topicLimits.wordsMax) return null;
  if (!/\p{L}/u.test(subject) || (subject.match(/\p{N}/gu)?.length ?? 0) > topicLimits.digitsMax) return null;
  if ((subject.match(unspaced)?.length ?? 0) > topicLimits.unspacedMax) return null;
  if (words.some(isGenerated) || speaksOfPerson(words)) return null;
  if ([keyword, subject].some((text) => speaksOfPerson(wordsOf(foldText(withoutLookAlikes(text))))))
    return null;
  return subject;
}

function wordsOf(text: string): readonly string[] {
  return text.split(separators).filter((word) => word !== "");
}

function isGenerated(word: string): boolean {
  const { wordLengthMax, compoundLengthMax, mixedLengthMax } = topicLimits;
  if (word.length > compoundLengthMax) return true;
  if (word.length > wordLengthMax && (!/^[\p{L}\p{M}]+$/u.test(word) || unpronounceable.test(word)))
    return true;
  if (/^[0-9a-f]{8,}$/.test(word) && /[0-9]/.test(word)) return true;
  return word.length > mixedLengthMax && /[0-9]\D+[0-9]/.test(word);
}

function speaksOfPerson(words: readonly string[]): boolean {
  if (words.some((word) => persons.has(word))) return true;
  if (words.length === 1) return false;
  return titles.has(words[0] ?? "") || words.some((word) => givenNames.has(word));
}

// Given names by which a subject term is recognised as the name of a person: common ones of many languages, folded. Names
// that are also everyday words or goods (mark, max, rosa, milan, jordan) are left out.

const lists = [
  "aaron abdul abdullah adam adrian agnieszka ahmed aisha alan albert alejandro alessandro alex alexander alexandra ali alice",
  "alicia amanda amelia amina amir amy ana anastasia anders andrea andreas andrei andrew angela anita ann anna anne annika",
  "anthony antoine antonio arjun arthur ashley astrid barbara beatrice benjamin bernard bernd birgit bjorn brandon brian",
  "bruno camille carla carlos carmen caroline catherine cecilia charles charlotte chiara chloe christian christina christine",
  "christoph christopher claire claudia claudio cristina daniel daniela daniele david deborah deepak denis dennis dieter",
  "dimitri dmitri dominik donald dorothy edward eduardo elena elias elisa elizabeth ellen emily emma emmanuel eric erik erika",
  "ernesto esther ethan eva evelyn fabian fatima federico felix fernando fiona florian francesca francesco francisco francois",
  "franziska frederic friedrich gabriel gabriela georg george gerald gerhard giacomo gianluca giorgio giovanni",
  "giulia giuseppe gonzalo gordon greta gunther gustavo hannah hans harald hassan hector heinrich helen helena helmut henrik",
  "henry hiroshi hussein ian ibrahim ignacio igor ines ingrid irina isabel isabella ivan jacob jacqueline jakob jakub james",
  "jan jana janet jason javier jean jeffrey jennifer jeremy jerome jessica joan joanna joao johan johanna johannes john",
  "jonas jonathan jorge jose joseph joshua juan julia julian juliana jurgen justin kamal karen karin karl katarzyna kate",
  "katharina katherine kathleen katja keith kenneth kenji kevin khalid klaus krzysztof kumar kyle lars laura lauren laurent",
  "leila leonardo linda lisa lorenzo louis louise luca lucia luis luisa lukas magdalena mahmoud manuel manuela marcel",
  "marcin marco marcos margaret maria mariana marie mario marion markus marta martha martin martina mary mateo",
  "matteo matthew matthias maurice mauricio maximilian megan mehmet melissa michael michaela michal michel michelle miguel",
  "mikael mike mikhail miriam mohamed mohammad mohammed monica monika muhammad mustafa nadia nancy natalia natalie",
  "nathan nicholas nicolas nicole nikita nikolai nina noah norbert olaf oleg olga oliver olivia omar oscar pablo pamela paolo",
  "pascal patricia patrick paul paula paulo pavel pedro peter petra philip philipp philippe pierre piotr priya rachel rafael",
  "rahul rajesh ralf ramon raul ravi rebecca renate ricardo riccardo richard robert roberta roberto rodrigo roger roland",
  "ronald ruben rudolf russell ruth ryan sabine salvatore samantha samuel sandra sanjay sara sarah sebastian",
  "sergei sergey sergio sharon sigrid silvia simon simone sofia sonia sophia sophie stefan stefania stefano stephanie stephen",
  "steven sunil susan susanne svetlana sven takashi tamara tanja tatiana teresa thomas tobias tomas tomasz ulrich ulrike",
  "ursula uwe valentina valeria vanessa vera veronica victor vincent vijay vladimir walter werner wilhelm william wolfgang",
  "xavier yasmin yolanda youssef yuki yusuf yvonne zainab zoe",
];

const givenNames: ReadonlySet<string> = new Set(lists.flatMap((line) => line.split(" ")));

// What is known of conversations: how often each asked today, and nothing else (specification, «Retrieval API»,
// `session_ref`). It serves repeat limits and the recognition of fraud.
//   S1. A `session_ref` is replaced on arrival by its HMAC-SHA-256 under a salt of the UTC day. The salt is 32 random bytes
//       that exist in the memory of this process alone: no file, no store, no log and no other node has them.
//   S2. When the day is over, the salt is overwritten, and every mark of the day is forgotten with it. Nothing that was
//       kept can be compared with what comes later, not even by somebody who knows the `session_ref`.
//   S3. Marks are of one company: the same `session_ref` of two companies is two sessions.
//   S4. Nobody is shown a mark, and no business a number that follows from one.
//   S5. Memory is bounded: of more than `sessionsMax` sessions, those that asked longest ago count as new.

/** A session that searches more often than this in one day is no conversation of a person. */
export const sessionSearchesMax = 500;
export const sessionsMax = 20_000;
const saltBytes = 32;
/** Enough for a day's sessions never to be confused. */
const markBytes = 16;

interface Session {
  searches: number;
  readonly subjects: Set<string>;
}

/** How many different subjects of one session count in a day. */
export const sessionSubjectsMax = 20;

export class SessionMarks {
  readonly #crypto: CryptoPort;
  readonly #sessions: BoundedMap<string, Session>;
  #salt: Uint8Array | null = null;
  #day = "";
  #excessive = 0;

  constructor(crypto: CryptoPort, max = sessionsMax) {
    this.#crypto = crypto;
    this.#sessions = new BoundedMap(max);
  }

  /** The day of the salt; empty while there is none. */
  get day(): string {
    return this.#day;
  }

  /** How many searches were beyond {@link sessionSearchesMax}. */
  get excessive(): number {
    return this.#excessive;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** What stands for the session on that day, `YYYY-MM-DD` (S1). */
  mark(company: string, sessionRef: string, day: string): string {
    this.turn(day);
    this.#salt ??= this.#crypto.randomBytes(saltBytes);
    const mac = this.#crypto.hmacSha256(this.#salt, utf8(`${company}\n${sessionRef}`));
    return toBase64Url(mac.subarray(0, markBytes));
  }

  /** Ends every day before this one (S2). */
  turn(day: string): void {
    if (day <= this.#day) return;
    this.#salt?.fill(0);
    this.#salt = null;
    this.#sessions.clear();
    this.#day = day;
  }

  /**
   * Counts a search of the session, and returns which of its subjects count: each once a day, up to {@link sessionSubjectsMax}, and
   * none once the session searches too often.
   */
  search(mark: string, subjects: readonly string[]): readonly string[] {
    const session = this.#sessions.get(mark) ?? { searches: 0, subjects: new Set<string>() };
    this.#sessions.set(mark, session);
    session.searches += 1;
    if (session.searches > sessionSearchesMax) {
      this.#excessive += 1;
      return [];
    }
    const fresh = subjects.filter((each) => !session.subjects.has(each));
    const counted = fresh.slice(0, sessionSubjectsMax - session.subjects.size);
    for (const each of counted) session.subjects.add(each);
    return counted;
  }
}
