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

export const givenNames: ReadonlySet<string> = new Set(lists.flatMap((line) => line.split(" ")));
