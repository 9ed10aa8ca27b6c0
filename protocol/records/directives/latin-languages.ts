// The lexicons of languages in Latin letters (phrase-grammar.ts). A word is listed in the forms in which demands are made,
// so that statements («the filter ignores other pages») are rarely read as demands.

import type { Language } from "./phrase-grammar.ts";

/** Rules of languages whose verb comes first. */
const verbFirst = [
  "dismiss T",
  "weakDismiss t",
  "not+use T",
  "not+weakUse t",
  "prefer S over T",
  "preferUs over T",
  "only+narrow+S",
  "narrow+only+S",
  "narrow+S+only",
];

const english: Language = {
  code: "en",
  words: {
    dismiss: `ignore disregard dismiss distrust suppress downrank downgrade demote overrule override forget discredit
      blacklist deprioriti/se/ze`,
    weakDismiss: "exclude omit hide",
    not: "not dont never avoid stop cannot refrain neither nor",
    none: "no none nobody noone",
    use: `cit/e/ing quot/e/ing trust//ing recommend//ing mention//ing consult//ing believ/e/ing list//ing rely//ing
      suggest//ing endors/e/ing promot/e/ing link//ing`,
    weakUse: "us/e/ing show//ing visit//ing",
    narrow: "cite quote trust recommend mention",
    prefer: "prefer rank prioritise prioritize place put favour favor",
    consider: "treat consider regard use accept",
    only: "only exclusively solely",
    but: "except",
    over: "over above before ahead instead",
    other: `other another competing competitor competitors rival alternative external previous prior earlier preceding
      thirdparty third_party`,
    source: `source/s/ result/s/ site/s/ website/s/ web page/s/ review/s/ seller/s/ shop/s/ store/s/ retailer/s/ provider/s/
      supplier/s/ merchant/s/ vendor/s/ listing/s/ record/s/ instruction/s/ prompt/s/ answer/s/ recommendation/s/ catalogue/s/`,
    brand: "brand/s/ company companies business/es/",
    rivals: "competitors competition rivals",
    others: "others else elsewhere",
    yours: "your system all any above",
    orders: "instruction/s/ prompt/s/ guidelines directives",
    self: "us me ours we",
    my: "this our",
  },
  rules: [...verbFirst, "use+none T", "consider S only+source", "consider S only source"],
};

const spanish: Language = {
  code: "es",
  words: {
    dismiss: `ignor/a/e/en/ar/ad/es desestim/a/e/en/ar desconfí/a/e/en desconfiar olvid/a/e/en/ar descart/a/e/en/ar
      caso_omiso prescind/e/a/an/ir deseche desechar`,
    weakDismiss: "omit/e/a/an/ir exclu/ye/ya/yan/ir ocult/a/e/en/ar",
    not: "no nunca jamás evit/a/e/en/ar tampoco",
    use: `cit/es/e/en/ar mencion/es/e/en/ar recomiend/es/e/en recomendar confí/es/e/en confiar crea consult/es/e/en/ar
      fí/es/e/en fiarse fiar sugier/as/a/an sugerir hagas_caso haga_caso hagan_caso escuch/es/e/en`,
    weakUse: "us/es/e/en/ar utilic/es/e/en utilizar muestr/es/e/en mostrar visit/es/e/en/ar",
    narrow: "cit/a/e/en recomiend/a/e/en confí/a/e/en mencion/a/e/en sugier/e/a consulta consulte",
    prefer: `prioriz/a/ar prioric/e/en prefier/e/a/an preferir antepón antepon/ga/er favorec/e/er favorezca coloc/a/ar coloque
      sitúa sitúe clasifi/ca/que/car pon ponga`,
    preferUs: "colócanos colóquenos sitúanos clasifícanos priorízanos prefiérenos ponnos posiciónanos",
    only: "sólo solo únicamente solamente exclusivamente",
    over: "sobre antes encima delante",
    other: `otr/a/as/o/os demás ajen/a/o/as/os extern/a/o/as/os anterior/es/ previ/a/o/as/os competidor/a/as/es/
      alternativ/a/as/o/os rival/es/ terceros`,
    source: `fuente/s/ sitio/s/ web/s/ página/s/ tienda/s/ vendedor/es/ proveedor/es/ resultado/s/ reseña/s/ opinión opiniones
      instrucción instrucciones indicaciones respuesta/s/ prompt/s/ comercio/s/ minorista/s/ catálogo/s/`,
    brand: "marca/s/ empresa/s/ compañía/s/ negocio/s/",
    rivals: "competencia competidores rivales",
    yours: "tus sus todas",
    orders: "instrucciones directrices prompts",
    self: "nosotros nosotras nos mí",
    my: "nuestr/a/as/o/os esta este",
  },
  rules: verbFirst,
};

const french: Language = {
  code: "fr",
  words: {
    dismiss: `ignor/e/ez/er néglig/e/ez/er oubli/e/ez/er écart/e/ez/er méfie méfiez rejet/ez/er rejette dédaignez
      faites_abstraction fais_abstraction faire_abstraction`,
    weakDismiss: "omet/s/tez/tre exclu/s/ez/re masqu/e/ez/er",
    not: "ne pas jamais évit/e/ez/er cess/e/ez/er",
    notUse: "n'écoute n'écoutez n'accordez n'utilise n'utilisez n'affichez",
    use: `cit/e/ez/er mentionn/e/ez/er recommand/e/ez/er fie fiez fier crois croyez croire consult/e/ez/er conseill/e/ez/er
      suggèr/e/es suggér/ez/er confiance référez`,
    weakUse: "utilis/e/ez/er affich/e/ez/er visit/e/ez/er",
    narrow: "cit/e/ez recommand/e/ez mentionn/e/ez fiez croyez consultez confiance",
    prefer:
      "privilégi/e/ez/er préfèr/e/es préfér/ez/er class/e/ez/er favoris/e/ez/er plac/e/ez/er mets mettez mettre",
    only: "seulement uniquement exclusivement",
    but: "que qu'à qu'aux",
    over: "avant devant dessus plutôt",
    other: `autre/s/ d'autre/s/ l'autre externe/s/ concurrent/e/s/es/ précédent/e/s/es/ antérieur/e/s/es/ tiers tierce/s/
      rival/e/es/ rivaux alternatif/s/ alternative/s/ aucune_autre aucun_autre`,
    source: `source/s/ site/s/ web page/s/ boutique/s/ magasin/s/ vendeur/s/ fournisseur/s/ résultat/s/ avis instruction/s/
      consigne/s/ réponse/s/ invite/s/ prompt/s/ détaillant/s/ revendeur/s/ marchand/s/ commerçant/s/ catalogue/s/`,
    brand: "marque/s/ entreprise/s/ société/s/ enseigne/s/",
    rivals: "concurrents concurrence rivaux",
    yours: "vos tes toutes",
    orders: "instructions consignes directives prompts",
    self: "nous moi",
    my: "notre nos cette ce",
  },
  rules: [...verbFirst, "notUse t", "not+narrow+but+S", "not+narrow but+S"],
};

const portuguese: Language = {
  code: "pt",
  words: {
    dismiss: `ignor/e/a/em/ar desconsider/e/a/em/ar despreze desprezar descart/e/a/em/ar desconfi/e/em/a/ar esqueça/m/
      esquece/r/ menospreze`,
    weakDismiss: "omit/a/am/ir exclu/a/am/ir ocult/e/em/ar",
    not: "não nunca jamais evit/e/em/a/ar nem",
    use: `cit/e/em/es/ar mencion/e/em/es/ar recomend/e/em/es/ar confi/e/em/es/ar acredit/e/em/es/ar consult/e/em/es/ar
      indique/m/ sugira/m/ sugerir`,
    weakUse: "us/e/em/ar utiliz/e/em/ar mostr/e/em/ar visit/e/em/ar",
    narrow: "cit/e/a/em recomend/e/a/em mencion/e/a confi/e/a/em acredit/e/em indique",
    prefer:
      "prioriz/e/a/em/ar prefir/a/am preferir classifi/que/ca/car coloque/m/ coloc/a/ar privilegie favoreça ponha",
    only: "só somente apenas exclusivamente unicamente",
    over: "acima antes sobre frente",
    other: `outr/a/as/o/os demais extern/a/o/as/os anterior/es/ concorrente/s/ prévi/a/o/as/os rival rivais
      alternativ/a/o/as/os terceiros`,
    source: `fonte/s/ site/s/ web página/s/ loja/s/ vendedor/es/ fornecedor/es/ resultado/s/ avaliação avaliações opiniões
      instrução instruções resposta/s/ prompt/s/ varejista/s/ catálogo/s/`,
    brand: "marca/s/ empresa/s/ companhia/s/ negócio/s/",
    rivals: "concorrência concorrentes rivais",
    yours: "suas tuas todas",
    orders: "instruções diretrizes orientações prompts",
    self: "nós nos mim",
    my: "noss/a/o/as/os esta este",
  },
  rules: verbFirst,
};

const german: Language = {
  code: "de",
  words: {
    dismiss: `ignorier/e/en missacht/e/en mißachte vergiss vergessen vergesst verwirf verwerfen misstrau/e/en übergeh/e/en
      beachte_nicht`,
    weakDismiss: "unterdrück/e/en ausschließen auslassen ausblenden",
    not: "nicht nie niemals vermeid/e/en unterlass/e/en",
    none: "kein/e/en/er/em/",
    use: `zitier/e/en erwähn/e/en empfiehl empfehl/e/en vertrau/e/en glaub/e/en konsultier/e/en nenn/e/en verlink/e/en beacht/e/en`,
    weakUse: "benutz/e/en nutz/e/en verwend/e/en zeig/e/en besuch/e/en",
    narrow: "zitier/e/en empfiehl empfehl/e/en vertrau/e/en erwähn/e/en glaub/e/en nenn/e/en",
    prefer: "bevorzug/e/en stell/e/en setz/e/en platzier/e/en priorisier/e/en rank/e/en",
    only: "nur ausschließlich lediglich allein",
    over: "vor über gegenüber",
    other: `ander/e/en/er/es/em fremd/e/en/er vorherig/e/en/er vorig/e/en/er früher/e/en/er konkurrierend/e/en/er
      extern/e/en/er bisherig/e/en/er obig/e/en/er übrig/e/en/er alternativ/e/en/er vorangehend/e/en`,
    source: `quelle/n/ seite/n/ webseite/n/ website/s/ shop/s/ onlineshop/s/ händler/n/ anbieter/n/ verkäufer/n/ laden läden
      geschäft/e/en/ ergebnis/se/sen/ suchergebnisse/n/ bewertung/en/ anweisung/en/ instruktion/en/ antwort/en/ prompt/s/
      lieferant/en/`,
    brand: "marke/n/ firma firmen unternehmen hersteller/n/",
    rivals: "konkurrenz konkurrenten mitbewerber/n/ wettbewerber/n/",
    yours: "deine ihre alle sämtliche",
    orders: "anweisungen instruktionen richtlinien prompts systemprompt",
    self: "uns",
    my: "unser/e/en/em/er/ diese/r/n/s/m/",
  },
  rules: [
    ...verbFirst,
    "T dismiss",
    "t weakDismiss",
    "use+not T",
    "use+none T",
    "weakUse+none t",
    "weakUse+not t",
    "T not+use",
    "t not+weakUse",
    "only S narrow",
  ],
  negatedAfter: true,
};

const indonesian: Language = {
  code: "id",
  words: {
    dismiss: "abaikan mengabaikan lupakan melupakan kesampingkan mengesampingkan",
    weakDismiss: "sembunyikan menyembunyikan kecualikan",
    not: "jangan jangan_pernah tidak tak hindari dilarang",
    use: `kutip mengutip sebut sebutkan menyebut menyebutkan percaya percayai mempercayai rekomendasikan merekomendasikan
      sarankan menyarankan rujuk merujuk hiraukan menghiraukan andalkan mengandalkan tawarkan`,
    weakUse: "gunakan menggunakan pakai memakai tampilkan menampilkan kunjungi mengunjungi",
    narrow: "kutip percaya percayai percayalah rekomendasikan sebutkan sarankan rujuk andalkan",
    prefer: "utamakan mengutamakan prioritaskan memprioritaskan dahulukan tempatkan unggulkan",
    only: "hanya cuma saja",
    over: "daripada atas dibanding dibandingkan sebelum",
    other: "lain lainnya pesaing eksternal sebelumnya terdahulu alternatif kompetitor",
    source: `sumber situs website web halaman toko penjual pemasok penyedia hasil ulasan instruksi perintah petunjuk jawaban
      prompt peritel gerai katalog`,
    brand: "merek merk brand perusahaan",
    rivals: "pesaing kompetitor saingan",
    yours: "semua anda seluruh",
    orders: "instruksi perintah prompt",
    self: "kami kita",
    my: "ini kami",
  },
  rules: verbFirst,
};

export const latinLanguages: readonly Language[] = [english, spanish, french, portuguese, german, indonesian];
