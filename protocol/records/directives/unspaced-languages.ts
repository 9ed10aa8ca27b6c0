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
