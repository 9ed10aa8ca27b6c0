// Subdivisions of the countries whose code begins with G to L, in the form that subdivisions.ts reads; from the npm package iso-3166 4.4.0
// (NOTICE).

export const subdivisionsGToL = `
  GA: 1 Estuaire; 2 Haut-Ogooué; 3 Moyen-Ogooué; 4 Ngounié; 5 Nyanga; 6 Ogooué-Ivindo; 7 Ogooué-Lolo; 8 Ogooué-Maritime; 9 Woleu-Ntem
  GB: ABC Armagh City, Banbridge and Craigavon; ABD Aberdeenshire; ABE Aberdeen City; AGB Argyll and Bute; AGY Isle of Anglesey;
    AND Ards and North Down; ANN Antrim and Newtownabbey; ANS Angus; BAS Bath and North East Somerset; BBD Blackburn with Darwen;
    BCP Bournemouth, Christchurch and Poole; BDF Bedford; BDG Barking and Dagenham; BEN Brent; BEX Bexley; BFS Belfast City; BGE Bridgend;
    BGW Blaenau Gwent; BIR Birmingham; BKM Buckinghamshire; BNE Barnet; BNH Brighton and Hove; BNS Barnsley; BOL Bolton; BPL Blackpool;
    BRC Bracknell Forest; BRD Bradford; BRY Bromley; BST Bristol, City of; BUR Bury; CAM Cambridgeshire; CAY Caerphilly; CBF Central Bedfordshire;
    CCG Causeway Coast and Glens; CGN Ceredigion; CHE Cheshire East; CHW Cheshire West and Chester; CLD Calderdale; CLK Clackmannanshire; CMA Cumbria;
    CMD Camden; CMN Carmarthenshire; CON Cornwall; COV Coventry; CRF Cardiff; CRY Croydon; CWY Conwy; DAL Darlington; DBY Derbyshire;
    DEN Denbighshire; DER Derby; DEV Devon; DGY Dumfries and Galloway; DNC Doncaster; DND Dundee City; DOR Dorset; DRS Derry and Strabane; DUD Dudley;
    DUR Durham, County; EAL Ealing; EAW England and Wales; EAY East Ayrshire; EDH Edinburgh, City of; EDU East Dunbartonshire; ELN East Lothian;
    ELS Eilean Siar; ENF Enfield; ENG England; ERW East Renfrewshire; ERY East Riding of Yorkshire; ESS Essex; ESX East Sussex; FAL Falkirk; FIF Fife;
    FLN Flintshire; FMO Fermanagh and Omagh; GAT Gateshead; GBN Great Britain; GLG Glasgow City; GLS Gloucestershire; GRE Greenwich; GWN Gwynedd;
    HAL Halton; HAM Hampshire; HAV Havering; HCK Hackney; HEF Herefordshire; HIL Hillingdon; HLD Highland; HMF Hammersmith and Fulham; HNS Hounslow;
    HPL Hartlepool; HRT Hertfordshire; HRW Harrow; HRY Haringey; IOS Isles of Scilly; IOW Isle of Wight; ISL Islington; IVC Inverclyde;
    KEC Kensington and Chelsea; KEN Kent; KHL Kingston upon Hull; KIR Kirklees; KTT Kingston upon Thames; KWL Knowsley; LAN Lancashire;
    LBC Lisburn and Castlereagh; LBH Lambeth; LCE Leicester; LDS Leeds; LEC Leicestershire; LEW Lewisham; LIN Lincolnshire; LIV Liverpool;
    LND London, City of; LUT Luton; MAN Manchester; MDB Middlesbrough; MDW Medway; MEA Mid and East Antrim; MIK Milton Keynes; MLN Midlothian;
    MON Monmouthshire; MRT Merton; MRY Moray; MTY Merthyr Tydfil; MUL Mid-Ulster; NAY North Ayrshire; NBL Northumberland; NEL North East Lincolnshire;
    NET Newcastle upon Tyne; NFK Norfolk; NGM Nottingham; NIR Northern Ireland; NLK North Lanarkshire; NLN North Lincolnshire;
    NMD Newry, Mourne and Down; NNH North Northamptonshire; NSM North Somerset; NTL Neath Port Talbot; NTT Nottinghamshire; NTY North Tyneside;
    NWM Newham; NWP Newport; NYK North Yorkshire; OLD Oldham; ORK Orkney Islands; OXF Oxfordshire; PEM Pembrokeshire; PKN Perth and Kinross;
    PLY Plymouth; POR Portsmouth; POW Powys; PTE Peterborough; RCC Redcar and Cleveland; RCH Rochdale; RCT Rhondda Cynon Taff; RDB Redbridge;
    RDG Reading; RFW Renfrewshire; RIC Richmond upon Thames; ROT Rotherham; RUT Rutland; SAW Sandwell; SAY South Ayrshire; SCB Scottish Borders;
    SCT Scotland; SFK Suffolk; SFT Sefton; SGC South Gloucestershire; SHF Sheffield; SHN St. Helens; SHR Shropshire; SKP Stockport; SLF Salford;
    SLG Slough; SLK South Lanarkshire; SND Sunderland; SOL Solihull; SOM Somerset; SOS Southend-on-Sea; SRY Surrey; STE Stoke-on-Trent; STG Stirling;
    STH Southampton; STN Sutton; STS Staffordshire; STT Stockton-on-Tees; STY South Tyneside; SWA Swansea; SWD Swindon; SWK Southwark; TAM Tameside;
    TFW Telford and Wrekin; THR Thurrock; TOB Torbay; TOF Torfaen; TRF Trafford; TWH Tower Hamlets; UKM United Kingdom; VGL Vale of Glamorgan, The;
    WAR Warwickshire; WBK West Berkshire; WDU West Dunbartonshire; WFT Waltham Forest; WGN Wigan; WIL Wiltshire; WKF Wakefield; WLL Walsall;
    WLN West Lothian; WLS Wales; WLV Wolverhampton; WND Wandsworth; WNH West Northamptonshire; WNM Windsor and Maidenhead; WOK Wokingham;
    WOR Worcestershire; WRL Wirral; WRT Warrington; WRX Wrexham; WSM Westminster; WSX West Sussex; YOR York; ZET Shetland Islands
  GD: 01 Saint Andrew; 02 Saint David; 03 Saint George; 04 Saint John; 05 Saint Mark; 06 Saint Patrick; 10 Southern Grenadine Islands
  GE: AB Abkhazia; AJ Adjara; GU Guria; IM Imereti; KA K'akheti; KK Kvemo Kartli; MM Mtskheta-Mtianeti; RL Rach'a-Lechkhumi-Kvemo Svaneti;
    SJ Samtskhe-Javakheti; SK Shida Kartli; SZ Samegrelo-Zemo Svaneti; TB Tbilisi
  GH: AA Greater Accra; AF Ahafo; AH Ashanti; BA Brong-Ahafo; BE Bono East; BO Bono; CP Central; EP Eastern; NE North East; NP Northern; OT Oti;
    SV Savannah; TV Volta; UE Upper East; UW Upper West; WN Western North; WP Western
  GL: AV Avannaata Kommunia; KU Kommune Kujalleq; QE Qeqqata Kommunia; QT Kommune Qeqertalik; SM Kommuneqarfik Sermersooq
  GM: B Banjul; L Lower River; M Central River; N North Bank; U Upper River; W Western
  GN: B Boké; BE Beyla; BF Boffa; BK Boké; C Conakry; CO Coyah; D Kindia; DB Dabola; DI Dinguiraye; DL Dalaba; DU Dubréka; F Faranah; FA Faranah;
    FO Forécariah; FR Fria; GA Gaoual; GU Guékédou; K Kankan; KA Kankan; KB Koubia; KD Kindia; KE Kérouané; KN Koundara; KO Kouroussa; KS Kissidougou;
    L Labé; LA Labé; LE Lélouma; LO Lola; M Mamou; MC Macenta; MD Mandiana; ML Mali; MM Mamou; N Nzérékoré; NZ Nzérékoré; PI Pita; SI Siguiri;
    TE Télimélé; TO Tougué; YO Yomou
  GQ: AN Annobón; BN Bioko Norte; BS Bioko Sur; C Región Continental; CS Centro Sur; DJ Djibloho; I Región Insular; KN Kié-Ntem; LI Litoral;
    WN Wele-Nzas
  GR: 69 Ágion Óros; A Anatolikí Makedonía kai; B Kentrikí Makedonía; C Dytikí Makedonía; D Ípeiros; E Thessalía; F Ionía Nísia; G Dytikí Elláda;
    H Stereá Elláda; I Attikí; J Pelopónnisos; K Vóreio Aigaío; L Nótio Aigaío; M Kríti
  GT: 01 Guatemala; 02 El Progreso; 03 Sacatepéquez; 04 Chimaltenango; 05 Escuintla; 06 Santa Rosa; 07 Sololá; 08 Totonicapán; 09 Quetzaltenango;
    10 Suchitepéquez; 11 Retalhuleu; 12 San Marcos; 13 Huehuetenango; 14 Quiché; 15 Baja Verapaz; 16 Alta Verapaz; 17 Petén; 18 Izabal; 19 Zacapa;
    20 Chiquimula; 21 Jalapa; 22 Jutiapa
  GW: BA Bafatá; BL Bolama / Bijagós; BM Biombo; BS Bissau; CA Cacheu; GA Gabú; L Leste; N Norte; OI Oio; QU Quinara; S Sul; TO Tombali
  GY: BA Barima-Waini; CU Cuyuni-Mazaruni; DE Demerara-Mahaica; EB East Berbice-Corentyne; ES Essequibo Islands-West Demerara; MA Mahaica-Berbice;
    PM Pomeroon-Supenaam; PT Potaro-Siparuni; UD Upper Demerara-Berbice; UT Upper Takutu-Upper Essequibo
  HN: AT Atlántida; CH Choluteca; CL Colón; CM Comayagua; CP Copán; CR Cortés; EP El Paraíso; FM Francisco Morazán; GD Gracias a Dios;
    IB Islas de la Bahía; IN Intibucá; LE Lempira; LP La Paz; OC Ocotepeque; OL Olancho; SB Santa Bárbara; VA Valle; YO Yoro
  HR: 01 Zagrebačka županija; 02 Krapinsko-zagorska županija; 03 Sisačko-moslavačka županija; 04 Karlovačka županija; 05 Varaždinska županija;
    06 Koprivničko-križevačka županija; 07 Bjelovarsko-bilogorska županija; 08 Primorsko-goranska županija; 09 Ličko-senjska županija;
    10 Virovitičko-podravska županija; 11 Požeško-slavonska županija; 12 Brodsko-posavska županija; 13 Zadarska županija;
    14 Osječko-baranjska županija; 15 Šibensko-kninska županija; 16 Vukovarsko-srijemska županija; 17 Splitsko-dalmatinska županija;
    18 Istarska županija; 19 Dubrovačko-neretvanska županija; 20 Međimurska županija; 21 Grad Zagreb
  HT: AR Artibonite; CE Centre; GA Grande’Anse; ND Nord; NE Nord-Est; NI Nippes; NO Nord-Ouest; OU Ouest; SD Sud; SE Sud-Est
  HU: BA Baranya; BC Békéscsaba; BE Békés; BK Bács-Kiskun; BU Budapest; BZ Borsod-Abaúj-Zemplén; CS Csongrád-Csanád; DE Debrecen; DU Dunaújváros;
    EG Eger; ER Érd; FE Fejér; GS Győr-Moson-Sopron; GY Győr; HB Hajdú-Bihar; HE Heves; HV Hódmezővásárhely; JN Jász-Nagykun-Szolnok;
    KE Komárom-Esztergom; KM Kecskemét; KV Kaposvár; MI Miskolc; NK Nagykanizsa; NO Nógrád; NY Nyíregyháza; PE Pest; PS Pécs; SD Szeged;
    SF Székesfehérvár; SH Szombathely; SK Szolnok; SN Sopron; SO Somogy; SS Szekszárd; ST Salgótarján; SZ Szabolcs-Szatmár-Bereg; TB Tatabánya;
    TO Tolna; VA Vas; VE Veszprém; VM Veszprém; ZA Zala; ZE Zalaegerszeg
  ID: AC Aceh; BA Bali; BB Kepulauan Bangka Belitung; BE Bengkulu; BT Banten; GO Gorontalo; JA Jambi; JB Jawa Barat; JI Jawa Timur; JK Jakarta Raya;
    JT Jawa Tengah; JW Jawa; KA Kalimantan; KB Kalimantan Barat; KI Kalimantan Timur; KR Kepulauan Riau; KS Kalimantan Selatan; KT Kalimantan Tengah;
    KU Kalimantan Utara; LA Lampung; MA Maluku; ML Maluku; MU Maluku Utara; NB Nusa Tenggara Barat; NT Nusa Tenggara Timur; NU Nusa Tenggara;
    PA Papua; PB Papua Barat; PD Papua Barat Daya; PE Papua Pengunungan; PP Papua; PS Papua Selatan; PT Papua Tengah; RI Riau; SA Sulawesi Utara;
    SB Sumatera Barat; SG Sulawesi Tenggara; SL Sulawesi; SM Sumatera; SN Sulawesi Selatan; SR Sulawesi Barat; SS Sumatera Selatan;
    ST Sulawesi Tengah; SU Sumatera Utara; YO Yogyakarta
  IE: C Connaught; CE Clare; CN Cavan; CO Cork; CW Carlow; D Dublin; DL Donegal; G Galway; KE Kildare; KK Kilkenny; KY Kerry; L Leinster; LD Longford;
    LH Louth; LK Limerick; LM Leitrim; LS Laois; M Munster; MH Meath; MN Monaghan; MO Mayo; OY Offaly; RN Roscommon; SO Sligo; TA Tipperary; U Ulster;
    WD Waterford; WH Westmeath; WW Wicklow; WX Wexford
  IL: D HaDarom; HA H̱efa; JM Yerushalayim; M HaMerkaz; TA Tel Aviv; Z HaTsafon
  IN: AN Andaman and Nicobar Islands; AP Andhra Pradesh; AR Arunāchal Pradesh; AS Assam; BR Bihār; CG Chhattīsgarh; CH Chandigarh;
    DH Dādra and Nagar Haveli and Damān and Diu; DL Delhi; GA Goa; GJ Gujarāt; HP Himāchal Pradesh; HR Haryāna; JH Jhārkhand; JK Jammu and Kashmīr;
    KA Karnātaka; KL Kerala; LA Ladākh; LD Lakshadweep; MH Mahārāshtra; ML Meghālaya; MN Manipur; MP Madhya Pradesh; MZ Mizoram; NL Nāgāland;
    OD Odisha; PB Punjab; PY Puducherry (Pondicherry); RJ Rājasthān; SK Sikkim; TN Tamil Nādu; TR Tripura; TS Telangāna; UK Uttarākhand;
    UP Uttar Pradesh; WB West Bengal
  IQ: AN Al Anbār; AR Arbīl; BA Al Başrah; BB Bābil; BG Baghdād; DA Dahūk; DI Diyālá; DQ Dhī Qār; KA Karbalā’; KI Kirkūk; KR Iqlīm Kūrdistān;
    MA Maysān; MU Al Muthanná; NA An Najaf; NI Nīnawá; QA Al Qādisīyah; SD Şalāḩ ad Dīn; SU As Sulaymānīyah; WA Wāsiţ
  IR: 00 Markazī; 01 Gīlān; 02 Māzandarān; 03 Āz̄ārbāyjān-e Shārqī; 04 Āz̄ārbāyjān-e Ghārbī; 05 Kermānshāh; 06 Khūzestān; 07 Fārs; 08 Kermān;
    09 Khorāsān-e Raẕavī; 10 Eşfahān; 11 Sīstān va Balūchestān; 12 Kordestān; 13 Hamadān; 14 Chahār Maḩāl va Bakhtīārī; 15 Lorestān; 16 Īlām;
    17 Kohgīlūyeh va Bowyer Aḩmad; 18 Būshehr; 19 Zanjān; 20 Semnān; 21 Yazd; 22 Hormozgān; 23 Tehrān; 24 Ardabīl; 25 Qom; 26 Qazvīn; 27 Golestān;
    28 Khorāsān-e Shomālī; 29 Khorāsān-e Jonūbī; 30 Alborz
  IS: 1 Höfuðborgarsvæði; 2 Suðurnes; 3 Vesturland; 4 Vestfirðir; 5 Norðurland vestra; 6 Norðurland eystra; 7 Austurland; 8 Suðurland;
    AKN Akraneskaupstaður; AKU Akureyrarbær; ARN Árneshreppur; ASA Ásahreppur; BLA Bláskógabyggð; BOG Borgarbyggð; BOL Bolungarvíkurkaupstaður;
    DAB Dalabyggð; DAV Dalvíkurbyggð; EOM Eyja- og Miklaholtshreppur; EYF Eyjafjarðarsveit; FJD Fjarðabyggð; FJL Fjallabyggð; FLA Flóahreppur;
    FLR Fljótsdalshreppur; GAR Garðabær; GOG Grímsnes- og Grafningshreppur; GRN Grindavíkurbær; GRU Grundarfjarðarbær; GRY Grýtubakkahreppur;
    HAF Hafnarfjarðarkaupstaður; HRG Hörgársveit; HRU Hrunamannahreppur; HUG Húnabyggð; HUV Húnaþing vestra; HVA Hvalfjarðarsveit; HVE Hveragerðisbær;
    ISA Ísafjarðarbær; KAL Kaldrananeshreppur; KJO Kjósarhreppur; KOP Kópavogsbær; LAN Langanesbyggð; MOS Mosfellsbær; MUL Múlaþing;
    MYR Mýrdalshreppur; NOR Norðurþing; RGE Rangárþing eystra; RGY Rangárþing ytra; RHH Reykhólahreppur; RKN Reykjanesbær; RKV Reykjavíkurborg;
    SBT Svalbarðsstrandarhreppur; SDN Suðurnesjabær; SDV Súðavíkurhreppur; SEL Seltjarnarnesbær; SFA Sveitarfélagið Árborg;
    SHF Sveitarfélagið Hornafjörður; SKF Skaftárhreppur; SKG Skagabyggð; SKO Skorradalshreppur; SKR Skagafjörður; SNF Snæfellsbær;
    SOG Skeiða- og Gnúpverjahreppur; SOL Sveitarfélagið Ölfus; SSS Sveitarfélagið Skagaströnd; STR Strandabyggð; STY Stykkishólmsbær;
    SVG Sveitarfélagið Vogar; TAL Tálknafjarðarhreppur; THG Þingeyjarsveit; TJO Tjörneshreppur; VEM Vestmannaeyjabær; VER Vesturbyggð;
    VOP Vopnafjarðarhreppur
  IT: 21 Piemonte; 23 Valle d'Aosta, Vallée d'Aoste; 25 Lombardia; 32 Trentino-Alto Adige, Trentino-Südtirol; 34 Veneto; 36 Friuli Venezia Giulia;
    42 Liguria; 45 Emilia-Romagna; 52 Toscana; 55 Umbria; 57 Marche; 62 Lazio; 65 Abruzzo; 67 Molise; 72 Campania; 75 Puglia; 77 Basilicata;
    78 Calabria; 82 Sicilia; 88 Sardegna; AG Agrigento; AL Alessandria; AN Ancona; AP Ascoli Piceno; AQ L'Aquila; AR Arezzo; AT Asti; AV Avellino;
    BA Bari; BG Bergamo; BI Biella; BL Belluno; BN Benevento; BO Bologna; BR Brindisi; BS Brescia; BT Barletta-Andria-Trani; BZ Bolzano, Bozen;
    CA Cagliari; CB Campobasso; CE Caserta; CH Chieti; CL Caltanissetta; CN Cuneo; CO Como; CR Cremona; CS Cosenza; CT Catania; CZ Catanzaro; EN Enna;
    FC Forlì-Cesena; FE Ferrara; FG Foggia; FI Firenze; FM Fermo; FR Frosinone; GE Genova; GO Gorizia; GR Grosseto; IM Imperia; IS Isernia;
    KR Crotone; LC Lecco; LE Lecce; LI Livorno; LO Lodi; LT Latina; LU Lucca; MB Monza e Brianza; MC Macerata; ME Messina; MI Milano; MN Mantova;
    MO Modena; MS Massa-Carrara; MT Matera; NA Napoli; NO Novara; NU Nuoro; OR Oristano; PA Palermo; PC Piacenza; PD Padova; PE Pescara; PG Perugia;
    PI Pisa; PN Pordenone; PO Prato; PR Parma; PT Pistoia; PU Pesaro e Urbino; PV Pavia; PZ Potenza; RA Ravenna; RC Reggio Calabria; RE Reggio Emilia;
    RG Ragusa; RI Rieti; RM Roma; RN Rimini; RO Rovigo; SA Salerno; SI Siena; SO Sondrio; SP La Spezia; SR Siracusa; SS Sassari; SU Sud Sardegna;
    SV Savona; TA Taranto; TE Teramo; TN Trento; TO Torino; TP Trapani; TR Terni; TS Trieste; TV Treviso; UD Udine; VA Varese;
    VB Verbano-Cusio-Ossola; VC Vercelli; VE Venezia; VI Vicenza; VR Verona; VT Viterbo; VV Vibo Valentia
  JM: 01 Kingston; 02 Saint Andrew; 03 Saint Thomas; 04 Portland; 05 Saint Mary; 06 Saint Ann; 07 Trelawny; 08 Saint James; 09 Hanover;
    10 Westmoreland; 11 Saint Elizabeth; 12 Manchester; 13 Clarendon; 14 Saint Catherine
  JO: AJ ‘Ajlūn; AM Al ‘A̅şimah; AQ Al ‘Aqabah; AT Aţ Ţafīlah; AZ Az Zarqā’; BA Al Balqā’; IR Irbid; JA Jarash; KA Al Karak; MA Al Mafraq; MD Mādabā;
    MN Ma‘ān
  JP: 01 Hokkaidô; 02 Aomori; 03 Iwate; 04 Miyagi; 05 Akita; 06 Yamagata; 07 Hukusima; 08 Ibaraki; 09 Totigi; 10 Gunma; 11 Saitama; 12 Tiba; 13 Tôkyô;
    14 Kanagawa; 15 Niigata; 16 Toyama; 17 Isikawa; 18 Hukui; 19 Yamanasi; 20 Nagano; 21 Gihu; 22 Sizuoka; 23 Aiti; 24 Mie; 25 Siga; 26 Kyôto;
    27 Ôsaka; 28 Hyôgo; 29 Nara; 30 Wakayama; 31 Tottori; 32 Simane; 33 Okayama; 34 Hirosima; 35 Yamaguti; 36 Tokusima; 37 Kagawa; 38 Ehime; 39 Kôti;
    40 Hukuoka; 41 Saga; 42 Nagasaki; 43 Kumamoto; 44 Ôita; 45 Miyazaki; 46 Kagosima; 47 Okinawa
  KE: 01 Baringo; 02 Bomet; 03 Bungoma; 04 Busia; 05 Elgeyo/Marakwet; 06 Embu; 07 Garissa; 08 Homa Bay; 09 Isiolo; 10 Kajiado; 11 Kakamega;
    12 Kericho; 13 Kiambu; 14 Kilifi; 15 Kirinyaga; 16 Kisii; 17 Kisumu; 18 Kitui; 19 Kwale; 20 Laikipia; 21 Lamu; 22 Machakos; 23 Makueni;
    24 Mandera; 25 Marsabit; 26 Meru; 27 Migori; 28 Mombasa; 29 Murang'a; 30 Nairobi City; 31 Nakuru; 32 Nandi; 33 Narok; 34 Nyamira; 35 Nyandarua;
    36 Nyeri; 37 Samburu; 38 Siaya; 39 Taita/Taveta; 40 Tana River; 41 Tharaka-Nithi; 42 Trans Nzoia; 43 Turkana; 44 Uasin Gishu; 45 Vihiga; 46 Wajir;
    47 West Pokot
  KG: B Batken; C Chüy; GB Bishkek Shaary; GO Osh Shaary; J Jalal-Abad; N Naryn; O Osh; T Talas; Y Ysyk-Köl
  KH: 1 Banteay Mean Choăy; 10 Kracheh; 11 Mondol Kiri; 12 Phnom Penh; 13 Preah Vihear; 14 Prey Veaeng; 15 Pousaat; 16 Rotanak Kiri; 17 Siem Reab;
    18 Preah Sihanouk; 19 Stueng Traeng; 2 Baat Dambang; 20 Svaay Rieng; 21 Taakaev; 22 Otdar Mean Chey; 23 Kaeb; 24 Pailin; 25 Tbong Khmum;
    3 Kampong Chaam; 4 Kampong Chhnang; 5 Kampong Spueu; 6 Kampong Thum; 7 Kampot; 8 Kandaal; 9 Kaoh Kong
  KI: G Gilbert Islands; L Line Islands; P Phoenix Islands
  KM: A Anjouan; G Grande Comore; M Mohéli
  KN: 01 Christ Church Nichola Town; 02 Saint Anne Sandy Point; 03 Saint George Basseterre; 04 Saint George Gingerland; 05 Saint James Windward;
    06 Saint John Capisterre; 07 Saint John Figtree; 08 Saint Mary Cayon; 09 Saint Paul Capisterre; 10 Saint Paul Charlestown;
    11 Saint Peter Basseterre; 12 Saint Thomas Lowland; 13 Saint Thomas Middle Island; 15 Trinity Palmetto Point; K Saint Kitts; N Nevis
  KP: 01 P'yǒngyang; 02 P'yǒngan-namdo; 03 P'yǒngan-bukto; 04 Chagang-do; 05 Hwanghae-namdo; 06 Hwanghae-bukto; 07 Kangwǒn-do; 08 Hamgyǒng-namdo;
    09 Hamgyǒng-bukto; 10 Ryanggang-do; 13 Rasǒn; 14 Namp’o; 15 Kaesŏng
  KR: 11 Seoul-teukbyeolsi; 26 Busan-gwangyeoksi; 27 Daegu-gwangyeoksi; 28 Incheon-gwangyeoksi; 29 Gwangju-gwangyeoksi; 30 Daejeon-gwangyeoksi;
    31 Ulsan-gwangyeoksi; 41 Gyeonggi-do; 42 Gangwon-teukbyeoljachido; 43 Chungcheongbuk-do; 44 Chungcheongnam-do; 45 Jeollabuk-do; 46 Jeollanam-do;
    47 Gyeongsangbuk-do; 48 Gyeongsangnam-do; 49 Jeju-teukbyeoljachido; 50 Sejong
  KW: AH Al Aḩmadī; FA Al Farwānīyah; HA Ḩawallī; JA Al Jahrā’; KU Al ‘Āşimah; MU Mubārak al Kabīr
  KZ: 10 Abay; 11 Aqmola oblysy; 15 Aqtöbe oblysy; 19 Almaty; 23 Atyraū; 27 Batys Qazaqstan oblysy; 31 Zhambyl oblysy; 33 Zhetisū oblysy;
    35 Qaraghandy oblysy; 39 Qostanay oblysy; 43 Qyzylorda oblysy; 47 Mangghystaū oblysy; 55 Pavlodar oblysy; 59 Soltüstik Qazaqstan oblysy;
    61 Türkistan oblysy; 62 Ulytaū; 63 Shyghys Qazaqstan oblysy; 71 Astana; 75 Almaty; 79 Shymkent
  LA: AT Attapu; BK Bokèo; BL Bolikhamxai; CH Champasak; HO Houaphan; KH Khammouan; LM Louang Namtha; LP Louangphabang; OU Oudômxai; PH Phôngsali;
    SL Salavan; SV Savannakhét; VI Viangchan; VT Viangchan; XA Xaignabouli; XE Xékong; XI Xiangkhouang; XS Xaisômboun
  LB: AK Aakkâr; AS Liban-Nord; BA Beyrouth; BH Baalbek-Hermel; BI Béqaa; JA Liban-Sud; JL Mont-Liban; NA Nabatîyé
  LC: 01 Anse la Raye; 02 Castries; 03 Choiseul; 05 Dennery; 06 Gros Islet; 07 Laborie; 08 Micoud; 10 Soufrière; 11 Vieux Fort; 12 Canaries
  LI: 01 Balzers; 02 Eschen; 03 Gamprin; 04 Mauren; 05 Planken; 06 Ruggell; 07 Schaan; 08 Schellenberg; 09 Triesen; 10 Triesenberg; 11 Vaduz
  LK: 1 Basnāhira paḷāta; 11 Kŏḷamba; 12 Gampaha; 13 Kalutara; 2 Madhyama paḷāta; 21 Mahanuvara; 22 Mātale; 23 Nuvara Ĕliya; 3 Dakuṇu paḷāta;
    31 Gālla; 32 Mātara; 33 Hambantŏṭa; 4 Uturu paḷāta; 41 Yāpanaya; 42 Kilinŏchchi; 43 Mannārama; 44 Vavuniyāva; 45 Mulativ; 5 Næ̆gĕnahira paḷāta;
    51 Maḍakalapuva; 52 Ampāra; 53 Trikuṇāmalaya; 6 Vayamba paḷāta; 61 Kuruṇægala; 62 Puttalama; 7 Uturumæ̆da paḷāta; 71 Anurādhapura; 72 Pŏḷŏnnaruva;
    8 Ūva paḷāta; 81 Badulla; 82 Mŏṇarāgala; 9 Sabaragamuva paḷāta; 91 Ratnapura; 92 Kægalla
  LR: BG Bong; BM Bomi; CM Grand Cape Mount; GB Grand Bassa; GG Grand Gedeh; GK Grand Kru; GP Gbarpolu; LO Lofa; MG Margibi; MO Montserrado;
    MY Maryland; NI Nimba; RG River Gee; RI River Cess; SI Sinoe
  LS: A Maseru; B Botha-Bothe; C Leribe; D Berea; E Mafeteng; F Mohale's Hoek; G Quthing; H Qacha's Nek; J Mokhotlong; K Thaba-Tseka
  LT: 01 Akmenė; 02 Alytaus miestas; 03 Alytus; 04 Anykščiai; 05 Birštonas; 06 Biržai; 07 Druskininkai; 08 Elektrėnai; 09 Ignalina; 10 Jonava;
    11 Joniškis; 12 Jurbarkas; 13 Kaišiadorys; 14 Kalvarija; 15 Kauno miestas; 16 Kaunas; 17 Kazlų Rūdos; 18 Kėdainiai; 19 Kelmė;
    20 Klaipėdos miestas; 21 Klaipėda; 22 Kretinga; 23 Kupiškis; 24 Lazdijai; 25 Marijampolė; 26 Mažeikiai; 27 Molėtai; 28 Neringa; 29 Pagėgiai;
    30 Pakruojis; 31 Palangos miestas; 32 Panevėžio miestas; 33 Panevėžys; 34 Pasvalys; 35 Plungė; 36 Prienai; 37 Radviliškis; 38 Raseiniai;
    39 Rietavas; 40 Rokiškis; 41 Šakiai; 42 Šalčininkai; 43 Šiaulių miestas; 44 Šiauliai; 45 Šilalė; 46 Šilutė; 47 Širvintos; 48 Skuodas;
    49 Švenčionys; 50 Tauragė; 51 Telšiai; 52 Trakai; 53 Ukmergė; 54 Utena; 55 Varėna; 56 Vilkaviškis; 57 Vilniaus miestas; 58 Vilnius; 59 Visaginas;
    60 Zarasai; AL Alytaus apskritis; KL Klaipėdos apskritis; KU Kauno apskritis; MR Marijampolės apskritis; PN Panevėžio apskritis;
    SA Šiaulių apskritis; TA Tauragės apskritis; TE Telšių apskritis; UT Utenos apskritis; VL Vilniaus apskritis
  LU: CA Capellen; CL Clervaux; D Diekirch (de, lb); DI Diekirch; EC Echternach; ES Esch-sur-Alzette; G Grevenmacher (de, lb); GR Grevenmacher;
    L Luxembourg; LU Luxembourg; ME Mersch; RD Redange; RM Remich; VD Vianden; WI Wiltz
  LV: 002 Aizkraukles novads; 007 Alūksnes novads; 011 Ādažu novads; 015 Balvu novads; 016 Bauskas novads; 022 Cēsu novads; 026 Dobeles novads;
    033 Gulbenes novads; 041 Jelgavas novads; 042 Jēkabpils novads; 047 Krāslavas novads; 050 Kuldīgas novads; 052 Ķekavas novads; 054 Limbažu novads;
    056 Līvānu novads; 058 Ludzas novads; 059 Madonas novads; 062 Mārupes novads; 067 Ogres novads; 068 Olaines novads; 073 Preiļu novads;
    077 Rēzeknes novads; 080 Ropažu novads; 087 Salaspils novads; 088 Saldus novads; 089 Saulkrastu novads; 091 Siguldas novads; 094 Smiltenes novads;
    097 Talsu novads; 099 Tukuma novads; 101 Valkas novads; 102 Varakļānu novads; 106 Ventspils novads; 111 Augšdaugavas novads;
    112 Dienvidkurzemes Novads; 113 Valmieras Novads; DGV Daugavpils; JEL Jelgava; JUR Jūrmala; LPX Liepāja; REZ Rēzekne; RIX Rīga; VEN Ventspils
  LY: BA Banghāzī; BU Al Buţnān; DR Darnah; GT Ghāt; JA Al Jabal al Akhḑar; JG Al Jabal al Gharbī; JI Al Jafārah; JU Al Jufrah; KF Al Kufrah;
    MB Al Marqab; MI Mişrātah; MJ Al Marj; MQ Murzuq; NL Nālūt; NQ An Nuqāţ al Khams; SB Sabhā; SR Surt; TB Ţarābulus; WA Al Wāḩāt; WD Wādī al Ḩayāt;
    WS Wādī ash Shāţi’; ZA Az Zāwiyah
`;
