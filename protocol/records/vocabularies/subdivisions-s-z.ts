// Subdivisions of the countries whose code begins with S to Z, in the form that subdivisions.ts reads; from the npm package iso-3166 4.4.0
// (NOTICE).

export const subdivisionsSToZ = `
  SA: 01 Ar Riyāḑ; 02 Makkah al Mukarramah; 03 Al Madīnah al Munawwarah; 04 Ash Sharqīyah; 05 Al Qaşīm; 06 Ḩā'il; 07 Tabūk;
    08 Al Ḩudūd ash Shamālīyah; 09 Jāzān; 10 Najrān; 11 Al Bāḩah; 12 Al Jawf; 14 'Asīr
  SB: CE Central; CH Choiseul; CT Capital Territory (Honiara); GU Guadalcanal; IS Isabel; MK Makira-Ulawa; ML Malaita; RB Rennell and Bellona;
    TE Temotu; WE Western
  SC: 01 Anse aux Pins; 02 Anse Boileau; 03 Anse Etoile; 04 Au Cap; 05 Anse Royale; 06 Baie Lazare; 07 Baie Sainte Anne; 08 Beau Vallon; 09 Bel Air;
    10 Bel Ombre; 11 Cascade; 12 Glacis; 13 Grand Anse Mahe; 14 Grand Anse Praslin; 15 La Digue; 16 English River; 17 Mont Buxton; 18 Mont Fleuri;
    19 Plaisance; 20 Pointe Larue; 21 Port Glaud; 22 Saint Louis; 23 Takamaka; 24 Les Mamelles; 25 Roche Caiman; 26 Ile Perseverance I;
    27 Ile Perseverance II
  SD: DC Wasaţ Dārfūr; DE Sharq Dārfūr; DN Shamāl Dārfūr; DS Janūb Dārfūr; DW Gharb Dārfūr; GD Al Qaḑārif; GK Gharb Kurdufān; GZ Al Jazīrah;
    KA Kassalā; KH Al Kharţūm; KN Shamāl Kurdufān; KS Janūb Kurdufān; NB An Nīl al Azraq; NO Ash Shamālīyah; NR Nahr an Nīl; NW An Nīl al Abyaḑ;
    RS Al Baḩr al Aḩmar; SI Sinnār
  SE: AB Stockholms län; AC Västerbottens län; BD Norrbottens län; C Uppsala län; D Södermanlands län; E Östergötlands län; F Jönköpings län;
    G Kronobergs län; H Kalmar län; I Gotlands län; K Blekinge län; M Skåne län; N Hallands län; O Västra Götalands län; S Värmlands län;
    T Örebro län; U Västmanlands län; W Dalarnas län; X Gävleborgs län; Y Västernorrlands län; Z Jämtlands län
  SG: 01 Central Singapore; 02 North East; 03 North West; 04 South East; 05 South West
  SH: AC Ascension; HL Saint Helena; TA Tristan da Cunha
  SI: 001 Ajdovščina; 002 Beltinci; 003 Bled; 004 Bohinj; 005 Borovnica; 006 Bovec; 007 Brda; 008 Brezovica; 009 Brežice; 010 Tišina; 011 Celje;
    012 Cerklje na Gorenjskem; 013 Cerknica; 014 Cerkno; 015 Črenšovci; 016 Črna na Koroškem; 017 Črnomelj; 018 Destrnik; 019 Divača; 020 Dobrepolje;
    021 Dobrova-Polhov Gradec; 022 Dol pri Ljubljani; 023 Domžale; 024 Dornava; 025 Dravograd; 026 Duplek; 027 Gorenja vas-Poljane; 028 Gorišnica;
    029 Gornja Radgona; 030 Gornji Grad; 031 Gornji Petrovci; 032 Grosuplje; 033 Šalovci; 034 Hrastnik; 035 Hrpelje-Kozina; 036 Idrija; 037 Ig;
    038 Ilirska Bistrica; 039 Ivančna Gorica; 040 Izola; 041 Jesenice; 042 Juršinci; 043 Kamnik; 044 Kanal ob Soči; 045 Kidričevo; 046 Kobarid;
    047 Kobilje; 048 Kočevje; 049 Komen; 050 Koper; 051 Kozje; 052 Kranj; 053 Kranjska Gora; 054 Krško; 055 Kungota; 056 Kuzma; 057 Laško; 058 Lenart;
    059 Lendava; 060 Litija; 061 Ljubljana; 062 Ljubno; 063 Ljutomer; 064 Logatec; 065 Loška dolina; 066 Loški Potok; 067 Luče; 068 Lukovica;
    069 Majšperk; 070 Maribor; 071 Medvode; 072 Mengeš; 073 Metlika; 074 Mežica; 075 Miren-Kostanjevica; 076 Mislinja; 077 Moravče;
    078 Moravske Toplice; 079 Mozirje; 080 Murska Sobota; 081 Muta; 082 Naklo; 083 Nazarje; 084 Nova Gorica; 085 Novo Mesto; 086 Odranci; 087 Ormož;
    088 Osilnica; 089 Pesnica; 090 Piran; 091 Pivka; 092 Podčetrtek; 093 Podvelka; 094 Postojna; 095 Preddvor; 096 Ptuj; 097 Puconci; 098 Rače-Fram;
    099 Radeče; 100 Radenci; 101 Radlje ob Dravi; 102 Radovljica; 103 Ravne na Koroškem; 104 Ribnica; 105 Rogašovci; 106 Rogaška Slatina; 107 Rogatec;
    108 Ruše; 109 Semič; 110 Sevnica; 111 Sežana; 112 Slovenj Gradec; 113 Slovenska Bistrica; 114 Slovenske Konjice; 115 Starše;
    116 Sveti Jurij ob Ščavnici; 117 Šenčur; 118 Šentilj; 119 Šentjernej; 120 Šentjur; 121 Škocjan; 122 Škofja Loka; 123 Škofljica;
    124 Šmarje pri Jelšah; 125 Šmartno ob Paki; 126 Šoštanj; 127 Štore; 128 Tolmin; 129 Trbovlje; 130 Trebnje; 131 Tržič; 132 Turnišče; 133 Velenje;
    134 Velike Lašče; 135 Videm; 136 Vipava; 137 Vitanje; 138 Vodice; 139 Vojnik; 140 Vrhnika; 141 Vuzenica; 142 Zagorje ob Savi; 143 Zavrč;
    144 Zreče; 146 Železniki; 147 Žiri; 148 Benedikt; 149 Bistrica ob Sotli; 150 Bloke; 151 Braslovče; 152 Cankova; 153 Cerkvenjak; 154 Dobje;
    155 Dobrna; 156 Dobrovnik; 157 Dolenjske Toplice; 158 Grad; 159 Hajdina; 160 Hoče-Slivnica; 161 Hodoš; 162 Horjul; 163 Jezersko; 164 Komenda;
    165 Kostel; 166 Križevci; 167 Lovrenc na Pohorju; 168 Markovci; 169 Miklavž na Dravskem polju; 170 Mirna Peč; 171 Oplotnica; 172 Podlehnik;
    173 Polzela; 174 Prebold; 175 Prevalje; 176 Razkrižje; 177 Ribnica na Pohorju; 178 Selnica ob Dravi; 179 Sodražica; 180 Solčava; 181 Sveta Ana;
    182 Sveti Andraž v Slovenskih goricah; 183 Šempeter-Vrtojba; 184 Tabor; 185 Trnovska Vas; 186 Trzin; 187 Velika Polana; 188 Veržej; 189 Vransko;
    190 Žalec; 191 Žetale; 192 Žirovnica; 193 Žužemberk; 194 Šmartno pri Litiji; 195 Apače; 196 Cirkulane; 197 Kostanjevica na Krki; 198 Makole;
    199 Mokronog-Trebelno; 200 Poljčane; 201 Renče-Vogrsko; 202 Središče ob Dravi; 203 Straža; 204 Sveta Trojica v Slovenskih goricah;
    205 Sveti Tomaž; 206 Šmarješke Toplice; 207 Gorje; 208 Log-Dragomer; 209 Rečica ob Savinji; 210 Sveti Jurij v Slovenskih goricah; 211 Šentrupert;
    212 Mirna; 213 Ankaran
  SK: BC Banskobystrický kraj; BL Bratislavský kraj; KI Košický kraj; NI Nitriansky kraj; PV Prešovský kraj; TA Trnavský kraj; TC Trenčiansky kraj;
    ZI Žilinský kraj
  SL: E Eastern; N Northern; NW North Western; S Southern; W Western Area (Freetown)
  SM: 01 Acquaviva; 02 Chiesanuova; 03 Domagnano; 04 Faetano; 05 Fiorentino; 06 Borgo Maggiore; 07 Città di San Marino; 08 Montegiardino;
    09 Serravalle
  SN: DB Diourbel; DK Dakar; FK Fatick; KA Kaffrine; KD Kolda; KE Kédougou; KL Kaolack; LG Louga; MT Matam; SE Sédhiou; SL Saint-Louis;
    TC Tambacounda; TH Thiès; ZG Ziguinchor
  SO: AW Awdal; BK Bakool; BN Banaadir; BR Bari; BY Bay; GA Galguduud; GE Gedo; HI Hiiraan; JD Jubbada Dhexe; JH Jubbada Hoose; MU Mudug; NU Nugaal;
    SA Sanaag; SD Shabeellaha Dhexe; SH Shabeellaha Hoose; SO Sool; TO Togdheer; WO Woqooyi Galbeed
  SR: BR Brokopondo; CM Commewijne; CR Coronie; MA Marowijne; NI Nickerie; PM Paramaribo; PR Para; SA Saramacca; SI Sipaliwini; WA Wanica
  SS: BN Northern Bahr el Ghazal; BW Western Bahr el Ghazal; EC Central Equatoria; EE Eastern Equatoria; EW Western Equatoria; JG Jonglei; LK Lakes;
    NU Upper Nile; UY Unity; WR Warrap
  ST: 01 Água Grande; 02 Cantagalo; 03 Caué; 04 Lembá; 05 Lobata; 06 Mé-Zóchi; P Príncipe
  SV: AH Ahuachapán; CA Cabañas; CH Chalatenango; CU Cuscatlán; LI La Libertad; MO Morazán; PA La Paz; SA Santa Ana; SM San Miguel; SO Sonsonate;
    SS San Salvador; SV San Vicente; UN La Unión; US Usulután
  SY: DI Dimashq; DR Dar'ā; DY Dayr az Zawr; HA Al Ḩasakah; HI Ḩimş; HL Ḩalab; HM Ḩamāh; ID Idlib; LA Al Lādhiqīyah; QU Al Qunayţirah; RA Ar Raqqah;
    RD Rīf Dimashq; SU As Suwaydā'; TA Ţarţūs
  SZ: HH Hhohho; LU Lubombo; MA Manzini; SH Shiselweni
  TD: BA Al Baţḩā’; BG Baḩr al Ghazāl; BO Būrkū; CB Shārī Bāqirmī; EE Inīdī ash Sharqī; EO Inīdī al Gharbī; GR Qīrā; HL Ḩajjar Lamīs; KA Kānim;
    LC Al Buḩayrah; LO Lūghūn al Gharbī; LR Lūghūn ash Sharqī; MA Māndūl; MC Shārī al Awsaţ; ME Māyū Kībbī ash Sharqī; MO Māyū Kībbī al Gharbī;
    ND Madīnat Injamīnā; OD Waddāy; SA Salāmāt; SI Sīlā; TA Tānjīlī; TI Tibastī; WF Wādī Fīrā’
  TG: C Centrale; K Kara; M Maritime (Région); P Plateaux; S Savanes
  TH: 10 Krung Thep Maha Nakhon; 11 Samut Prakan; 12 Nonthaburi; 13 Pathum Thani; 14 Phra Nakhon Si Ayutthaya; 15 Ang Thong; 16 Lop Buri;
    17 Sing Buri; 18 Chai Nat; 19 Saraburi; 20 Chon Buri; 21 Rayong; 22 Chanthaburi; 23 Trat; 24 Chachoengsao; 25 Prachin Buri; 26 Nakhon Nayok;
    27 Sa Kaeo; 30 Nakhon Ratchasima; 31 Buri Ram; 32 Surin; 33 Si Sa Ket; 34 Ubon Ratchathani; 35 Yasothon; 36 Chaiyaphum; 37 Amnat Charoen;
    38 Bueng Kan; 39 Nong Bua Lam Phu; 40 Khon Kaen; 41 Udon Thani; 42 Loei; 43 Nong Khai; 44 Maha Sarakham; 45 Roi Et; 46 Kalasin; 47 Sakon Nakhon;
    48 Nakhon Phanom; 49 Mukdahan; 50 Chiang Mai; 51 Lamphun; 52 Lampang; 53 Uttaradit; 54 Phrae; 55 Nan; 56 Phayao; 57 Chiang Rai; 58 Mae Hong Son;
    60 Nakhon Sawan; 61 Uthai Thani; 62 Kamphaeng Phet; 63 Tak; 64 Sukhothai; 65 Phitsanulok; 66 Phichit; 67 Phetchabun; 70 Ratchaburi;
    71 Kanchanaburi; 72 Suphan Buri; 73 Nakhon Pathom; 74 Samut Sakhon; 75 Samut Songkhram; 76 Phetchaburi; 77 Prachuap Khiri Khan;
    80 Nakhon Si Thammarat; 81 Krabi; 82 Phangnga; 83 Phuket; 84 Surat Thani; 85 Ranong; 86 Chumphon; 90 Songkhla; 91 Satun; 92 Trang; 93 Phatthalung;
    94 Pattani; 95 Yala; 96 Narathiwat; S Phatthaya
  TJ: DU Dushanbe; GB Kŭhistoni Badakhshon; KT Khatlon; RA nohiyahoi tobei jumhurí; SU Sughd
  TL: AL Aileu; AN Ainaro; BA Baucau; BO Bobonaro; CO Cova Lima; DI Díli; ER Ermera; LA Lautém; LI Liquiça; MF Manufahi; MT Manatuto;
    OE Oé-Cusse Ambeno; VI Viqueque
  TM: A Ahal; B Balkan; D Daşoguz; L Lebap; M Mary; S Aşgabat
  TN: 11 Tunis; 12 L'Ariana; 13 Ben Arous; 14 La Manouba; 21 Nabeul; 22 Zaghouan; 23 Bizerte; 31 Béja; 32 Jendouba; 33 Le Kef; 34 Siliana;
    41 Kairouan; 42 Kasserine; 43 Sidi Bouzid; 51 Sousse; 52 Monastir; 53 Mahdia; 61 Sfax; 71 Gafsa; 72 Tozeur; 73 Kébili; 81 Gabès; 82 Médenine;
    83 Tataouine
  TO: 01 'Eua; 02 Ha'apai; 03 Niuas; 04 Tongatapu; 05 Vava'u
  TR: 01 Adana; 02 Adıyaman; 03 Afyonkarahisar; 04 Ağrı; 05 Amasya; 06 Ankara; 07 Antalya; 08 Artvin; 09 Aydın; 10 Balıkesir; 11 Bilecik; 12 Bingöl;
    13 Bitlis; 14 Bolu; 15 Burdur; 16 Bursa; 17 Çanakkale; 18 Çankırı; 19 Çorum; 20 Denizli; 21 Diyarbakır; 22 Edirne; 23 Elazığ; 24 Erzincan;
    25 Erzurum; 26 Eskişehir; 27 Gaziantep; 28 Giresun; 29 Gümüşhane; 30 Hakkâri; 31 Hatay; 32 Isparta; 33 Mersin; 34 İstanbul; 35 İzmir; 36 Kars;
    37 Kastamonu; 38 Kayseri; 39 Kırklareli; 40 Kırşehir; 41 Kocaeli; 42 Konya; 43 Kütahya; 44 Malatya; 45 Manisa; 46 Kahramanmaraş; 47 Mardin;
    48 Muğla; 49 Muş; 50 Nevşehir; 51 Niğde; 52 Ordu; 53 Rize; 54 Sakarya; 55 Samsun; 56 Siirt; 57 Sinop; 58 Sivas; 59 Tekirdağ; 60 Tokat; 61 Trabzon;
    62 Tunceli; 63 Şanlıurfa; 64 Uşak; 65 Van; 66 Yozgat; 67 Zonguldak; 68 Aksaray; 69 Bayburt; 70 Karaman; 71 Kırıkkale; 72 Batman; 73 Şırnak;
    74 Bartın; 75 Ardahan; 76 Iğdır; 77 Yalova; 78 Karabük; 79 Kilis; 80 Osmaniye; 81 Düzce
  TT: ARI Arima; CHA Chaguanas; CTT Couva-Tabaquite-Talparo; DMN Diego Martin; MRC Mayaro-Rio Claro; PED Penal-Debe; POS Port of Spain;
    PRT Princes Town; PTF Point Fortin; SFO San Fernando; SGE Sangre Grande; SIP Siparia; SJL San Juan-Laventille; TOB Tobago; TUP Tunapuna-Piarco
  TV: FUN Funafuti; NIT Niutao; NKF Nukufetau; NKL Nukulaelae; NMA Nanumea; NMG Nanumaga; NUI Nui; VAI Vaitupu
  TW: CHA Changhua; CYI Chiayi; CYQ Chiayi; HSQ Hsinchu; HSZ Hsinchu; HUA Hualien; ILA Yilan; KEE Keelung; KHH Kaohsiung; KIN Kinmen; LIE Lienchiang;
    MIA Miaoli; NAN Nantou; NWT New Taipei; PEN Penghu; PIF Pingtung; TAO Taoyuan; TNN Tainan; TPE Taipei; TTT Taitung; TXG Taichung; YUN Yunlin
  TZ: 01 Arusha; 02 Dar es Salaam; 03 Dodoma; 04 Iringa; 05 Kagera; 06 Kaskazini Pemba; 07 Kaskazini Unguja; 08 Kigoma; 09 Kilimanjaro;
    10 Kusini Pemba; 11 Kusini Unguja; 12 Lindi; 13 Mara; 14 Mbeya; 15 Mjini Magharibi; 16 Morogoro; 17 Mtwara; 18 Mwanza; 19 Pwani; 20 Rukwa;
    21 Ruvuma; 22 Shinyanga; 23 Singida; 24 Tabora; 25 Tanga; 26 Manyara; 27 Geita; 28 Katavi; 29 Njombe; 30 Simiyu; 31 Songwe
  UA: 05 Vinnytska oblast; 07 Volynska oblast; 09 Luhanska oblast; 12 Dnipropetrovska oblast; 14 Donetska oblast; 18 Zhytomyrska oblast;
    21 Zakarpatska oblast; 23 Zaporizka oblast; 26 Ivano-Frankivska oblast; 30 Kyiv; 32 Kyivska oblast; 35 Kirovohradska oblast; 40 Sevastopol;
    43 Avtonomna Respublika Krym; 46 Lvivska oblast; 48 Mykolaivska oblast; 51 Odeska oblast; 53 Poltavska oblast; 56 Rivnenska oblast;
    59 Sumska oblast; 61 Ternopilska oblast; 63 Kharkivska oblast; 65 Khersonska oblast; 68 Khmelnytska oblast; 71 Cherkaska oblast;
    74 Chernihivska oblast; 77 Chernivetska oblast
  UG: 101 Kalangala; 102 Kampala; 103 Kiboga; 104 Luwero; 105 Masaka; 106 Mpigi; 107 Mubende; 108 Mukono; 109 Nakasongola; 110 Rakai; 111 Sembabule;
    112 Kayunga; 113 Wakiso; 114 Lyantonde; 115 Mityana; 116 Nakaseke; 117 Buikwe; 118 Bukomansibi; 119 Butambala; 120 Buvuma; 121 Gomba; 122 Kalungu;
    123 Kyankwanzi; 124 Lwengo; 125 Kyotera; 126 Kasanda; 201 Bugiri; 202 Busia; 203 Iganga; 204 Jinja; 205 Kamuli; 206 Kapchorwa; 207 Katakwi;
    208 Kumi; 209 Mbale; 210 Pallisa; 211 Soroti; 212 Tororo; 213 Kaberamaido; 214 Mayuge; 215 Sironko; 216 Amuria; 217 Budaka; 218 Bududa;
    219 Bukedea; 220 Bukwo; 221 Butaleja; 222 Kaliro; 223 Manafwa; 224 Namutumba; 225 Bulambuli; 226 Buyende; 227 Kibuku; 228 Kween; 229 Luuka;
    230 Namayingo; 231 Ngora; 232 Serere; 233 Butebo; 234 Namisindwa; 235 Bugweri; 236 Kapelebyong; 237 Kalaki; 301 Adjumani; 302 Apac; 303 Arua;
    304 Gulu; 305 Kitgum; 306 Kotido; 307 Lira; 308 Moroto; 309 Moyo; 310 Nebbi; 311 Nakapiripirit; 312 Pader; 313 Yumbe; 314 Abim; 315 Amolatar;
    316 Amuru; 317 Dokolo; 318 Kaabong; 319 Koboko; 320 Maracha; 321 Oyam; 322 Agago; 323 Alebtong; 324 Amudat; 325 Kole; 326 Lamwo; 327 Napak;
    328 Nwoya; 329 Otuke; 330 Zombo; 331 Omoro; 332 Pakwach; 333 Kwania; 334 Nabilatuk; 335 Karenga; 336 Madi-Okollo; 337 Obongi; 401 Bundibugyo;
    402 Bushenyi; 403 Hoima; 404 Kabale; 405 Kabarole; 406 Kasese; 407 Kibaale; 408 Kisoro; 409 Masindi; 410 Mbarara; 411 Ntungamo; 412 Rukungiri;
    413 Kamwenge; 414 Kanungu; 415 Kyenjojo; 416 Buliisa; 417 Ibanda; 418 Isingiro; 419 Kiruhura; 420 Buhweju; 421 Kiryandongo; 422 Kyegegwa;
    423 Mitooma; 424 Ntoroko; 425 Rubirizi; 426 Sheema; 427 Kagadi; 428 Kakumiro; 429 Rubanda; 430 Bunyangabu; 431 Rukiga; 432 Kikuube; 433 Kazo;
    434 Kitagwenda; 435 Rwampara; C Central; E Eastern; N Northern; W Western
  UM: 67 Johnston Atoll; 71 Midway Islands; 76 Navassa Island; 79 Wake Island; 81 Baker Island; 84 Howland Island; 86 Jarvis Island; 89 Kingman Reef;
    95 Palmyra Atoll
  US: AK Alaska; AL Alabama; AR Arkansas; AS American Samoa; AZ Arizona; CA California; CO Colorado; CT Connecticut; DC District of Columbia;
    DE Delaware; FL Florida; GA Georgia; GU Guam; HI Hawaii; IA Iowa; ID Idaho; IL Illinois; IN Indiana; KS Kansas; KY Kentucky; LA Louisiana;
    MA Massachusetts; MD Maryland; ME Maine; MI Michigan; MN Minnesota; MO Missouri; MP Northern Mariana Islands; MS Mississippi; MT Montana;
    NC North Carolina; ND North Dakota; NE Nebraska; NH New Hampshire; NJ New Jersey; NM New Mexico; NV Nevada; NY New York; OH Ohio; OK Oklahoma;
    OR Oregon; PA Pennsylvania; PR Puerto Rico; RI Rhode Island; SC South Carolina; SD South Dakota; TN Tennessee; TX Texas;
    UM United States Minor Outlying Islands; UT Utah; VA Virginia; VI United States Virgin Islands; VT Vermont; WA Washington; WI Wisconsin;
    WV West Virginia; WY Wyoming
  UY: AR Artigas; CA Canelones; CL Cerro Largo; CO Colonia; DU Durazno; FD Florida; FS Flores; LA Lavalleja; MA Maldonado; MO Montevideo; PA Paysandú;
    RN Río Negro; RO Rocha; RV Rivera; SA Salto; SJ San José; SO Soriano; TA Tacuarembó; TT Treinta y Tres
  UZ: AN Andijon; BU Buxoro; FA Farg‘ona; JI Jizzax; NG Namangan; NW Navoiy; QA Qashqadaryo; QR Qoraqalpog‘iston Respublikasi; SA Samarqand;
    SI Sirdaryo; SU Surxondaryo; TK Toshkent; TO Toshkent; XO Xorazm
  VC: 01 Charlotte; 02 Saint Andrew; 03 Saint David; 04 Saint George; 05 Saint Patrick; 06 Grenadines
  VE: A Distrito Capital; B Anzoátegui; C Apure; D Aragua; E Barinas; F Bolívar; G Carabobo; H Cojedes; I Falcón; J Guárico; K Lara; L Mérida;
    M Miranda; N Monagas; O Nueva Esparta; P Portuguesa; R Sucre; S Táchira; T Trujillo; U Yaracuy; V Zulia; W Dependencias Federales; X La Guaira;
    Y Delta Amacuro; Z Amazonas
  VN: 01 Lai Châu; 02 Lào Cai; 03 Hà Giang; 04 Cao Bằng; 05 Sơn La; 06 Yên Bái; 07 Tuyên Quang; 09 Lạng Sơn; 13 Quảng Ninh; 14 Hòa Bình; 18 Ninh Bình;
    20 Thái Bình; 21 Thanh Hóa; 22 Nghệ An; 23 Hà Tĩnh; 24 Quảng Bình; 25 Quảng Trị; 26 Thừa Thiên-Huế; 27 Quảng Nam; 28 Kon Tum; 29 Quảng Ngãi;
    30 Gia Lai; 31 Bình Định; 32 Phú Yên; 33 Đắk Lắk; 34 Khánh Hòa; 35 Lâm Đồng; 36 Ninh Thuận; 37 Tây Ninh; 39 Đồng Nai; 40 Bình Thuận; 41 Long An;
    43 Bà Rịa - Vũng Tàu; 44 An Giang; 45 Đồng Tháp; 46 Tiền Giang; 47 Kiến Giang; 49 Vĩnh Long; 50 Bến Tre; 51 Trà Vinh; 52 Sóc Trăng; 53 Bắc Kạn;
    54 Bắc Giang; 55 Bạc Liêu; 56 Bắc Ninh; 57 Bình Dương; 58 Bình Phước; 59 Cà Mau; 61 Hải Dương; 63 Hà Nam; 66 Hưng Yên; 67 Nam Định; 68 Phú Thọ;
    69 Thái Nguyên; 70 Vĩnh Phúc; 71 Điện Biên; 72 Đắk Nông; 73 Hậu Giang; CT Cần Thơ; DN Đà Nẵng; HN Hà Nội; HP Hải Phòng; SG Hồ Chí Minh
  VU: MAP Malampa; PAM Pénama; SAM Sanma; SEE Shéfa; TAE Taféa; TOB Torba
  WF: AL Alo; SG Sigave; UV Uvea
  WS: AA A'ana; AL Aiga-i-le-Tai; AT Atua; FA Fa'asaleleaga; GE Gaga'emauga; GI Gagaifomauga; PA Palauli; SA Satupa'itea; TU Tuamasaga;
    VF Va'a-o-Fonoti; VS Vaisigano
  YE: AB Abyan; AD ‘Adan; AM ‘Amrān; BA Al Bayḑā’; DA Aḑ Ḑāli‘; DH Dhamār; HD Ḩaḑramawt; HJ Ḩajjah; HU Al Ḩudaydah; IB Ibb; JA Al Jawf; LA Laḩij;
    MA Ma’rib; MR Al Mahrah; MW Al Maḩwīt; RA Raymah; SA Amānat al ‘Āşimah; SD Şāʻdah; SH Shabwah; SN Şanʻā’; SU Arkhabīl Suquţrá; TA Tāʻizz
  ZA: EC Eastern Cape; FS Free State; GP Gauteng; KZN Kwazulu-Natal; LP Limpopo; MP Mpumalanga; NC Northern Cape; NW North-West; WC Western Cape
  ZM: 01 Western; 02 Central; 03 Eastern; 04 Luapula; 05 Northern; 06 North-Western; 07 Southern; 08 Copperbelt; 09 Lusaka; 10 Muchinga
  ZW: BU Bulawayo; HA Harare; MA Manicaland; MC Mashonaland Central; ME Mashonaland East; MI Midlands; MN Matabeleland North; MS Matabeleland South;
    MV Masvingo; MW Mashonaland West
`;
