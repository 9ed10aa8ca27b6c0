// Subdivisions of the countries whose code begins with M to R, in the form that subdivisions.ts reads; from the npm package iso-3166 4.4.0
// (NOTICE).

export const subdivisionsMToR = `
  MA: 01 Tanger-Tétouan-Al Hoceïma; 02 L'Oriental; 03 Fès-Meknès; 04 Rabat-Salé-Kénitra; 05 Béni Mellal-Khénifra; 06 Casablanca-Settat;
    07 Marrakech-Safi; 08 Drâa-Tafilalet; 09 Souss-Massa; 10 Guelmim-Oued Noun (EH-partial); 11 Laâyoune-Sakia El Hamra (EH-partial);
    12 Dakhla-Oued Ed-Dahab (EH); AGD Agadir-Ida-Ou-Tanane; AOU Aousserd (EH); ASZ Assa-Zag (EH-partial); AZI Azilal; BEM Béni Mellal; BER Berkane;
    BES Benslimane; BOD Boujdour (EH); BOM Boulemane; BRR Berrechid; CAS Casablanca; CHE Chefchaouen; CHI Chichaoua; CHT Chtouka-Ait Baha;
    DRI Driouch; ERR Errachidia; ESI Essaouira; ESM Es-Semara (EH-partial); FAH Fahs-Anjra; FES Fès; FIG Figuig; FQH Fquih Ben Salah; GUE Guelmim;
    GUF Guercif; HAJ El Hajeb; HAO Al Haouz; HOC Al Hoceïma; IFR Ifrane; INE Inezgane-Ait Melloul; JDI El Jadida; JRA Jerada; KEN Kénitra;
    KES El Kelâa des Sraghna; KHE Khémisset; KHN Khénifra; KHO Khouribga; LAA Laâyoune (EH); LAR Larache; MAR Marrakech; MDF M’diq-Fnideq;
    MED Médiouna; MEK Meknès; MID Midelt; MOH Mohammadia; MOU Moulay Yacoub; NAD Nador; NOU Nouaceur; OUA Ouarzazate; OUD Oued Ed-Dahab (EH);
    OUJ Oujda-Angad; OUZ Ouezzane; RAB Rabat; REH Rehamna; SAF Safi; SAL Salé; SEF Sefrou; SET Settat; SIB Sidi Bennour; SIF Sidi Ifni;
    SIK Sidi Kacem; SIL Sidi Slimane; SKH Skhirate-Témara; TAF Tarfaya (EH-partial); TAI Taourirt; TAO Taounate; TAR Taroudannt; TAT Tata; TAZ Taza;
    TET Tétouan; TIN Tinghir; TIZ Tiznit; TNG Tanger-Assilah; TNT Tan-Tan (EH-partial); YUS Youssoufia; ZAG Zagora
  MC: CL La Colle; CO La Condamine; FO Fontvieille; GA La Gare; JE Jardin Exotique; LA Larvotto; MA Malbousquet; MC Monte-Carlo; MG Moneghetti;
    MO Monaco-Ville; MU Moulins; PH Port-Hercule; SD Sainte-Dévote; SO La Source; SP Spélugues; SR Saint-Roman; VR Vallon de la Rousse
  MD: AN Anenii Noi; BA Bălți; BD Bender; BR Briceni; BS Basarabeasca; CA Cahul; CL Călărași; CM Cimișlia; CR Criuleni; CS Căușeni; CT Cantemir;
    CU Chișinău; DO Dondușeni; DR Drochia; DU Dubăsari; ED Edineț; FA Fălești; FL Florești; GA Găgăuzia, Unitatea teritorială autonomă (UTAG);
    GL Glodeni; HI Hîncești; IA Ialoveni; LE Leova; NI Nisporeni; OC Ocnița; OR Orhei; RE Rezina; RI Rîșcani; SD Șoldănești; SI Sîngerei;
    SN Stînga Nistrului, unitatea teritorială din; SO Soroca; ST Strășeni; SV Ștefan Vodă; TA Taraclia; TE Telenești; UN Ungheni
  ME: 01 Andrijevica; 02 Bar; 03 Berane; 04 Bijelo Polje; 05 Budva; 06 Cetinje; 07 Danilovgrad; 08 Herceg-Novi; 09 Kolašin; 10 Kotor; 11 Mojkovac;
    12 Nikšić; 13 Plav; 14 Pljevlja; 15 Plužine; 16 Podgorica; 17 Rožaje; 18 Šavnik; 19 Tivat; 20 Ulcinj; 21 Žabljak; 22 Gusinje; 23 Petnjica;
    24 Tuzi; 25 Zeta
  MG: A Toamasina; D Antsiranana; F Fianarantsoa; M Mahajanga; T Antananarivo; U Toliara
  MH: ALK Ailuk; ALL Ailinglaplap; ARN Arno; AUR Aur; EBO Ebon; ENI Enewetak & Ujelang; JAB Jabat; JAL Jaluit; KIL Bikini & Kili; KWA Kwajalein;
    L Ralik chain; LAE Lae; LIB Lib; LIK Likiep; MAJ Majuro; MAL Maloelap; MEJ Mejit; MIL Mili; NMK Namdrik; NMU Namu; RON Rongelap; T Ratak chain;
    UJA Ujae; UTI Utrik; WTH Wotho; WTJ Wotje
  MK: 101 Veles; 102 Gradsko; 103 Demir Kapija; 104 Kavadarci; 105 Lozovo; 106 Negotino; 107 Rosoman; 108 Sveti Nikole; 109 Čaška; 201 Berovo;
    202 Vinica; 203 Delčevo; 204 Zrnovci; 205 Karbinci; 206 Kočani; 207 Makedonska Kamenica; 208 Pehčevo; 209 Probištip; 210 Češinovo-Obleševo;
    211 Štip; 301 Vevčani; 303 Debar; 304 Debrca; 307 Kičevo; 308 Makedonski Brod; 310 Ohrid; 311 Plasnica; 312 Struga; 313 Centar Župa; 401 Bogdanci;
    402 Bosilovo; 403 Valandovo; 404 Vasilevo; 405 Gevgelija; 406 Dojran; 407 Konče; 408 Novo Selo; 409 Radoviš; 410 Strumica; 501 Bitola;
    502 Demir Hisar; 503 Dolneni; 504 Krivogaštani; 505 Kruševo; 506 Mogila; 507 Novaci; 508 Prilep; 509 Resen; 601 Bogovinje; 602 Brvenica;
    603 Vrapčište; 604 Gostivar; 605 Želino; 606 Jegunovce; 607 Mavrovo i Rostuše; 608 Tearce; 609 Tetovo; 701 Kratovo; 702 Kriva Palanka;
    703 Kumanovo; 704 Lipkovo; 705 Rankovce; 706 Staro Nagoričane; 801 Aerodrom; 802 Aračinovo; 803 Butel; 804 Gazi Baba; 805 Gjorče Petrov;
    806 Zelenikovo; 807 Ilinden; 808 Karpoš; 809 Kisela Voda; 810 Petrovec; 811 Saraj; 812 Sopište; 813 Studeničani; 814 Centar; 815 Čair;
    816 Čučer-Sandevo; 817 Šuto Orizari
  ML: 1 Kayes; 10 Taoudénit; 2 Koulikoro; 3 Sikasso; 4 Ségou; 5 Mopti; 6 Tombouctou; 7 Gao; 8 Kidal; 9 Ménaka; BKO Bamako
  MM: 01 Sagaing; 02 Bago; 03 Magway; 04 Mandalay; 05 Tanintharyi; 06 Yangon; 07 Ayeyarwady; 11 Kachin; 12 Kayah; 13 Kayin; 14 Chin; 15 Mon;
    16 Rakhine; 17 Shan; 18 Nay Pyi Taw
  MN: 035 Orhon; 037 Darhan uul; 039 Hentiy; 041 Hövsgöl; 043 Hovd; 046 Uvs; 047 Töv; 049 Selenge; 051 Sühbaatar; 053 Ömnögovĭ; 055 Övörhangay;
    057 Dzavhan; 059 Dundgovĭ; 061 Dornod; 063 Dornogovĭ; 064 Govĭ-Sümber; 065 Govĭ-Altay; 067 Bulgan; 069 Bayanhongor; 071 Bayan-Ölgiy; 073 Arhangay;
    1 Ulaanbaatar
  MR: 01 Hodh ech Chargui; 02 Hodh el Gharbi; 03 Assaba; 04 Gorgol; 05 Brakna; 06 Trarza; 07 Adrar; 08 Dakhlet Nouâdhibou; 09 Tagant; 10 Guidimaka;
    11 Tiris Zemmour; 12 Inchiri; 13 Nuwākshūţ al Gharbīyah; 14 Nuwākshūţ ash Shamālīyah; 15 Nuwākshūţ al Janūbīyah
  MT: 01 Attard; 02 Balzan; 03 Birgu; 04 Birkirkara; 05 Birżebbuġa; 06 Bormla; 07 Dingli; 08 Fgura; 09 Floriana; 10 Fontana; 11 Gudja; 12 Gżira;
    13 Għajnsielem; 14 Għarb; 15 Għargħur; 16 Għasri; 17 Għaxaq; 18 Ħamrun; 19 Iklin; 20 Isla; 21 Kalkara; 22 Kerċem; 23 Kirkop; 24 Lija; 25 Luqa;
    26 Marsa; 27 Marsaskala; 28 Marsaxlokk; 29 Mdina; 30 Mellieħa; 31 Mġarr; 32 Mosta; 33 Mqabba; 34 Msida; 35 Mtarfa; 36 Munxar; 37 Nadur; 38 Naxxar;
    39 Paola; 40 Pembroke; 41 Pietà; 42 Qala; 43 Qormi; 44 Qrendi; 45 Rabat Għawdex; 46 Rabat Malta; 47 Safi; 48 San Ġiljan; 49 San Ġwann;
    50 San Lawrenz; 51 San Pawl il-Baħar; 52 Sannat; 53 Santa Luċija; 54 Santa Venera; 55 Siġġiewi; 56 Sliema; 57 Swieqi; 58 Ta' Xbiex; 59 Tarxien;
    60 Valletta; 61 Xagħra; 62 Xewkija; 63 Xgħajra; 64 Żabbar; 65 Żebbuġ Għawdex; 66 Żebbuġ Malta; 67 Żejtun; 68 Żurrieq
  MU: AG Agalega Islands; BL Black River; CC Cargados Carajos Shoals; FL Flacq; GP Grand Port; MO Moka; PA Pamplemousses; PL Port Louis;
    PW Plaines Wilhems; RO Rodrigues Island; RR Rivière du Rempart; SA Savanne
  MV: 00 Ariatholhu Dhekunuburi; 01 Addu; 02 Ariatholhu Uthuruburi; 03 Faadhippolhu; 04 Felidheatholhu; 05 Hahdhunmathi;
    07 Thiladhunmathee Uthuruburi; 08 Kolhumadulu; 12 Mulakatholhu; 13 Maalhosmadulu Uthuruburi; 14 Nilandheatholhu Uthuruburi;
    17 Nilandheatholhu Dhekunuburi; 20 Maalhosmadulu Dhekunuburi; 23 Thiladhunmathee Dhekunuburi; 24 Miladhunmadulu Uthuruburi;
    25 Miladhunmadulu Dhekunuburi; 26 Maaleatholhu; 27 Huvadhuatholhu Uthuruburi; 28 Huvadhuatholhu Dhekunuburi; 29 Fuvammulah; MLE Maale
  MW: BA Balaka; BL Blantyre; C Chapakati; CK Chikwawa; CR Chiradzulu; CT Chitipa; DE Dedza; DO Dowa; KR Karonga; KS Kasungu; LI Lilongwe; LK Likoma;
    MC Mchinji; MG Mangochi; MH Machinga; MU Mulanje; MW Mwanza; MZ Mzimba; N Chakumpoto; NB Nkhata Bay; NE Neno; NI Ntchisi; NK Nkhotakota;
    NS Nsanje; NU Ntcheu; PH Phalombe; RU Rumphi; S Chakumwera; SA Salima; TH Thyolo; ZO Zomba
  MX: AGU Aguascalientes; BCN Baja California; BCS Baja California Sur; CAM Campeche; CHH Chihuahua; CHP Chiapas; CMX Ciudad de México;
    COA Coahuila de Zaragoza; COL Colima; DUR Durango; GRO Guerrero; GUA Guanajuato; HID Hidalgo; JAL Jalisco; MEX México; MIC Michoacán de Ocampo;
    MOR Morelos; NAY Nayarit; NLE Nuevo León; OAX Oaxaca; PUE Puebla; QUE Querétaro; ROO Quintana Roo; SIN Sinaloa; SLP San Luis Potosí; SON Sonora;
    TAB Tabasco; TAM Tamaulipas; TLA Tlaxcala; VER Veracruz de Ignacio de la Llave; YUC Yucatán; ZAC Zacatecas
  MY: 01 Johor; 02 Kedah; 03 Kelantan; 04 Melaka; 05 Negeri Sembilan; 06 Pahang; 07 Pulau Pinang; 08 Perak; 09 Perlis; 10 Selangor; 11 Terengganu;
    12 Sabah; 13 Sarawak; 14 Wilayah Persekutuan Kuala Lumpur; 15 Wilayah Persekutuan Labuan; 16 Wilayah Persekutuan Putrajaya
  MZ: A Niassa; B Manica; G Gaza; I Inhambane; L Maputo; MPM Maputo; N Nampula; P Cabo Delgado; Q Zambézia; S Sofala; T Tete
  NA: CA Zambezi; ER Erongo; HA Hardap; KA //Karas; KE Kavango East; KH Khomas; KU Kunene; KW Kavango West; OD Otjozondjupa; OH Omaheke; ON Oshana;
    OS Omusati; OT Oshikoto; OW Ohangwena
  NE: 1 Agadez; 2 Diffa; 3 Dosso; 4 Maradi; 5 Tahoua; 6 Tillabéri; 7 Zinder; 8 Niamey
  NG: AB Abia; AD Adamawa; AK Akwa Ibom; AN Anambra; BA Bauchi; BE Benue; BO Borno; BY Bayelsa; CR Cross River; DE Delta; EB Ebonyi; ED Edo; EK Ekiti;
    EN Enugu; FC Abuja Federal Capital Territory; GO Gombe; IM Imo; JI Jigawa; KD Kaduna; KE Kebbi; KN Kano; KO Kogi; KT Katsina; KW Kwara; LA Lagos;
    NA Nasarawa; NI Niger; OG Ogun; ON Ondo; OS Osun; OY Oyo; PL Plateau; RI Rivers; SO Sokoto; TA Taraba; YO Yobe; ZA Zamfara
  NI: AN Costa Caribe Norte; AS Costa Caribe Sur; BO Boaco; CA Carazo; CI Chinandega; CO Chontales; ES Estelí; GR Granada; JI Jinotega; LE León;
    MD Madriz; MN Managua; MS Masaya; MT Matagalpa; NS Nueva Segovia; RI Rivas; SJ Río San Juan
  NL: AW Aruba; BQ1 Bonaire; BQ2 Saba; BQ3 Sint Eustatius; CW Curaçao; DR Drenthe; FL Flevoland; FR Fryslân; GE Gelderland; GR Groningen; LI Limburg;
    NB Noord-Brabant; NH Noord-Holland; OV Overijssel; SX Sint Maarten; UT Utrecht; ZE Zeeland; ZH Zuid-Holland
  NO: 03 Oslo; 11 Rogaland; 15 Møre og Romsdal; 18 Nordland; 21 Svalbard; 22 Jan Mayen; 30 Viken; 34 Innlandet; 38 Vestfold og Telemark; 42 Agder;
    46 Vestland; 50 Trøndelag; 54 Troms og Finnmark
  NP: P1 Koshī; P2 Madhesh; P3 Bāgmatī; P4 Gaṇḍakī; P5 Lumbinī; P6 Karṇālī; P7 Sudūrpashchim
  NR: 01 Aiwo; 02 Anabar; 03 Anetan; 04 Anibare; 05 Baitsi; 06 Boe; 07 Buada; 08 Denigomodu; 09 Ewa; 10 Ijuw; 11 Meneng; 12 Nibok; 13 Uaboe; 14 Yaren
  NZ: AUK Auckland; BOP Bay of Plenty; CAN Canterbury; CIT Chatham Islands Territory; GIS Gisborne; HKB Hawke's Bay; MBH Marlborough;
    MWT Manawatū-Whanganui; NSN Nelson; NTL Northland; OTA Otago; STL Southland; TAS Tasman; TKI Taranaki; WGN Greater Wellington; WKO Waikato;
    WTC West Coast
  OM: BJ Janūb al Bāţinah; BS Shamāl al Bāţinah; BU Al Buraymī; DA Ad Dākhilīyah; MA Masqaţ; MU Musandam; SJ Janūb ash Sharqīyah;
    SS Shamāl ash Sharqīyah; WU Al Wusţá; ZA Az̧ Z̧āhirah; ZU Z̧ufār
  PA: 1 Bocas del Toro; 10 Panamá Oeste; 2 Coclé; 3 Colón; 4 Chiriquí; 5 Darién; 6 Herrera; 7 Los Santos; 8 Panamá; 9 Veraguas; EM Emberá;
    KY Guna Yala; NB Ngäbe-Buglé; NT Naso Tjër Di
  PE: AMA Amazonas; ANC Ancash; APU Apurímac; ARE Arequipa; AYA Ayacucho; CAJ Cajamarca; CAL El Callao; CUS Cusco; HUC Huánuco; HUV Huancavelica;
    ICA Ica; JUN Junín; LAL La Libertad; LAM Lambayeque; LIM Lima; LMA Municipalidad Metropolitana de Lima; LOR Loreto; MDD Madre de Dios;
    MOQ Moquegua; PAS Pasco; PIU Piura; PUN Puno; SAM San Martín; TAC Tacna; TUM Tumbes; UCA Ucayali
  PG: CPK Chimbu; CPM Central; EBR East New Britain; EHG Eastern Highlands; EPW Enga; ESW East Sepik; GPK Gulf; HLA Hela; JWK Jiwaka; MBA Milne Bay;
    MPL Morobe; MPM Madang; MRL Manus; NCD National Capital District (Port Moresby); NIK New Ireland; NPP Northern; NSB Bougainville; SAN West Sepik;
    SHM Southern Highlands; WBK West New Britain; WHM Western Highlands; WPD Western
  PH: 00 National Capital Region; 01 Ilocos; 02 Cagayan Valley; 03 Central Luzon; 05 Bicol; 06 Western Visayas; 07 Central Visayas;
    08 Eastern Visayas; 09 Zamboanga Peninsula; 10 Northern Mindanao; 11 Davao; 12 Soccsksargen; 13 Caraga; 14 Autonomous Region in Muslim Mindanao;
    15 Cordillera Administrative Region; 40 Calabarzon; 41 Mimaropa; ABR Abra; AGN Agusan del Norte; AGS Agusan del Sur; AKL Aklan; ALB Albay;
    ANT Antique; APA Apayao; AUR Aurora; BAN Bataan; BAS Basilan; BEN Benguet; BIL Biliran; BOH Bohol; BTG Batangas; BTN Batanes; BUK Bukidnon;
    BUL Bulacan; CAG Cagayan; CAM Camiguin; CAN Camarines Norte; CAP Capiz; CAS Camarines Sur; CAT Catanduanes; CAV Cavite; CEB Cebu;
    COM Davao de Oro; DAO Davao Oriental; DAS Davao del Sur; DAV Davao del Norte; DIN Dinagat Islands; DVO Davao Occidental; EAS Eastern Samar;
    GUI Guimaras; IFU Ifugao; ILI Iloilo; ILN Ilocos Norte; ILS Ilocos Sur; ISA Isabela; KAL Kalinga; LAG Laguna; LAN Lanao del Norte;
    LAS Lanao del Sur; LEY Leyte; LUN La Union; MAD Marinduque; MAS Masbate; MDC Mindoro Occidental; MDR Mindoro Oriental; MGN Maguindanao del Norte;
    MGS Maguindanao del Sur; MOU Mountain Province; MSC Misamis Occidental; MSR Misamis Oriental; NCO Cotabato; NEC Negros Occidental;
    NER Negros Oriental; NSA Northern Samar; NUE Nueva Ecija; NUV Nueva Vizcaya; PAM Pampanga; PAN Pangasinan; PLW Palawan; QUE Quezon; QUI Quirino;
    RIZ Rizal; ROM Romblon; SAR Sarangani; SCO South Cotabato; SIG Siquijor; SLE Southern Leyte; SLU Sulu; SOR Sorsogon; SUK Sultan Kudarat;
    SUN Surigao del Norte; SUR Surigao del Sur; TAR Tarlac; TAW Tawi-Tawi; WSA Samar; ZAN Zamboanga del Norte; ZAS Zamboanga del Sur; ZMB Zambales;
    ZSI Zamboanga Sibugay
  PK: BA Balōchistān; GB Gilgit-Baltistān; IS Islāmābād; JK Āzād Jammūñ o Kashmīr; KP Khaībar Pakhtūnkhwā; PB Panjāb; SD Sindh;
    TA Federally Administered Tribal Areas
  PL: 02 Dolnośląskie; 04 Kujawsko-Pomorskie; 06 Lubelskie; 08 Lubuskie; 10 Łódzkie; 12 Małopolskie; 14 Mazowieckie; 16 Opolskie; 18 Podkarpackie;
    20 Podlaskie; 22 Pomorskie; 24 Śląskie; 26 Świętokrzyskie; 28 Warmińsko-Mazurskie; 30 Wielkopolskie; 32 Zachodniopomorskie
  PS: BTH Bayt Laḩm; DEB Dayr al Balaḩ; GZA Ghazzah; HBN Al Khalīl; JEM Al Quds; JEN Janīn; JRH Arīḩā wal Aghwār; KYS Khān Yūnis; NBS Nāblus;
    NGZ Shamāl Ghazzah; QQA Qalqīlyah; RBH Rām Allāh wal Bīrah; RFH Rafaḩ; SLT Salfīt; TBS Ţūbās; TKM Ţūlkarm
  PT: 01 Aveiro; 02 Beja; 03 Braga; 04 Bragança; 05 Castelo Branco; 06 Coimbra; 07 Évora; 08 Faro; 09 Guarda; 10 Leiria; 11 Lisboa; 12 Portalegre;
    13 Porto; 14 Santarém; 15 Setúbal; 16 Viana do Castelo; 17 Vila Real; 18 Viseu; 20 Região Autónoma dos Açores; 30 Região Autónoma da Madeira
  PW: 002 Aimeliik; 004 Airai; 010 Angaur; 050 Hatohobei; 100 Kayangel; 150 Koror; 212 Melekeok; 214 Ngaraard; 218 Ngarchelong; 222 Ngardmau;
    224 Ngatpang; 226 Ngchesar; 227 Ngeremlengui; 228 Ngiwal; 350 Peleliu; 370 Sonsorol
  PY: 1 Concepción; 10 Alto Paraná; 11 Central; 12 Ñeembucú; 13 Amambay; 14 Canindeyú; 15 Presidente Hayes; 16 Alto Paraguay; 19 Boquerón;
    2 San Pedro; 3 Cordillera; 4 Guairá; 5 Caaguazú; 6 Caazapá; 7 Itapúa; 8 Misiones; 9 Paraguarí; ASU Asunción
  QA: DA Ad Dawḩah; KH Al Khawr wa adh Dhakhīrah; MS Ash Shamāl; RA Ar Rayyān; SH Ash Shīḩānīyah; US Umm Şalāl; WA Al Wakrah; ZA Az̧ Z̧a‘āyin
  RO: AB Alba; AG Argeș; AR Arad; B București; BC Bacău; BH Bihor; BN Bistrița-Năsăud; BR Brăila; BT Botoșani; BV Brașov; BZ Buzău; CJ Cluj;
    CL Călărași; CS Caraș-Severin; CT Constanța; CV Covasna; DB Dâmbovița; DJ Dolj; GJ Gorj; GL Galați; GR Giurgiu; HD Hunedoara; HR Harghita;
    IF Ilfov; IL Ialomița; IS Iași; MH Mehedinți; MM Maramureș; MS Mureș; NT Neamț; OT Olt; PH Prahova; SB Sibiu; SJ Sălaj; SM Satu Mare; SV Suceava;
    TL Tulcea; TM Timiș; TR Teleorman; VL Vâlcea; VN Vrancea; VS Vaslui
  RS: 00 Beograd; 01 Severnobački okrug; 02 Srednjebanatski okrug; 03 Severnobanatski okrug; 04 Južnobanatski okrug; 05 Zapadnobački okrug;
    06 Južnobački okrug; 07 Sremski okrug; 08 Mačvanski okrug; 09 Kolubarski okrug; 10 Podunavski okrug; 11 Braničevski okrug; 12 Šumadijski okrug;
    13 Pomoravski okrug; 14 Borski okrug; 15 Zaječarski okrug; 16 Zlatiborski okrug; 17 Moravički okrug; 18 Raški okrug; 19 Rasinski okrug;
    20 Nišavski okrug; 21 Toplički okrug; 22 Pirotski okrug; 23 Jablanički okrug; 24 Pčinjski okrug; 25 Kosovski okrug; 26 Pećki okrug;
    27 Prizrenski okrug; 28 Kosovsko-Mitrovački okrug; 29 Kosovsko-Pomoravski okrug; KM Kosovo-Metohija; VO Vojvodina
  RU: AD Adygeya, Respublika; AL Altay, Respublika; ALT Altayskiy kray; AMU Amurskaya oblast'; ARK Arkhangel'skaya oblast';
    AST Astrakhanskaya oblast'; BA Bashkortostan, Respublika; BEL Belgorodskaya oblast'; BRY Bryanskaya oblast'; BU Buryatiya, Respublika;
    CE Chechenskaya Respublika; CHE Chelyabinskaya oblast'; CHU Chukotskiy avtonomnyy okrug; CU Chuvashskaya Respublika; DA Dagestan, Respublika;
    IN Ingushetiya, Respublika; IRK Irkutskaya oblast'; IVA Ivanovskaya oblast'; KAM Kamchatskiy kray; KB Kabardino-; KC Karachayevo-Cherkesskaya;
    KDA Krasnodarskiy kray; KEM Kemerovskaya oblast'; KGD Kaliningradskaya oblast'; KGN Kurganskaya oblast'; KHA Khabarovskiy kray; KHM Khanty-;
    KIR Kirovskaya oblast'; KK Khakasiya, Respublika; KL Kalmykiya, Respublika; KLU Kaluzhskaya oblast'; KO Komi, Respublika;
    KOS Kostromskaya oblast'; KR Kareliya, Respublika; KRS Kurskaya oblast'; KYA Krasnoyarskiy kray; LEN Leningradskaya; LIP Lipetskaya oblast';
    MAG Magadanskaya oblast'; ME Mariy El, Respublika; MO Mordoviya, Respublika; MOS Moskovskaya oblast'; MOW Moskva; MUR Murmanskaya oblast';
    NEN Nenetskiy; NGR Novgorodskaya oblast'; NIZ Nizhegorodskaya oblast'; NVS Novosibirskaya; OMS Omskaya oblast'; ORE Orenburgskaya oblast';
    ORL Orlovskaya oblast'; PER Permskiy kray; PNZ Penzenskaya oblast'; PRI Primorskiy kray; PSK Pskovskaya oblast'; ROS Rostovskaya oblast';
    RYA Ryazanskaya oblast'; SA Saha, Respublika; SAK Sakhalinskaya oblast'; SAM Samarskaya oblast'; SAR Saratovskaya oblast';
    SE Severnaya Osetiya, Respublika; SMO Smolenskaya oblast'; SPE Sankt-Peterburg; STA Stavropol'skiy kray; SVE Sverdlovskaya oblast';
    TA Tatarstan, Respublika; TAM Tambovskaya oblast'; TOM Tomskaya oblast'; TUL Tul'skaya oblast'; TVE Tverskaya oblast'; TY Tyva, Respublika;
    TYU Tyumenskaya oblast'; UD Udmurtskaya Respublika; ULY Ul'yanovskaya oblast'; VGG Volgogradskaya; VLA Vladimirskaya; VLG Vologodskaya oblast';
    VOR Voronezhskaya oblast'; YAN Yamalo-; YAR Yaroslavskaya oblast'; YEV Yevreyskaya avtonomnaya oblast'; ZAB Zabaykal'skiy kray
  RW: 01 City of Kigali; 02 Eastern; 03 Northern; 04 Western; 05 Southern
`;
