//! The words of the built-in lists, in English, German, French, Spanish and Turkish.

pub(super) const MARKETING: &str = r"
    \b(?:webinars?|sponsored|advertorial|e-?books?|white\s?papers?|giveaway|gewinnspiel|promo(?:tion)?\s+code
    |black\s+friday|cyber\s+monday|register\s+now|join\s+us|\d+\s?%\s+(?:off|rabatt|indirim|de\s+descuento|de\s+réduction|de\s+remise)
    |we're\s+hiring|is\s+hiring|livre\s+blanc|webinaire|seminario\s+web|patrocinado|sponsorlu
    |deals?\s+of\s+the\s+(?:day|week)|best\s+deals|lifetime\s+(?:licen[cs]e|deal|subscription|\S+\s+manager)|free\s+trial|book\s+a\s+demo|limited\s+offer|early\s+birds?
    |tickets?\s+(?:\S+\s+){0,4}?on\s+sale|training\s+course|job\s+(?:offer|opening)|angebot\s+des\s+tages|schnäppchen|gutschein\S*|zu\s+verlosen|bon\s+plan|soldes|sorteo|çekiliş|indirim
    |stellenanzeige|\(m/w/d\)|offre\s+d'emploi|oferta\s+de\s+empleo|iş\s+ilanı|helps\s+you\s+\S+|great\s+deal)\b
    |\bsave\s+(?:up\s+to\s+)?\d+\s?%|%\d+\s+indirim|-\d+\s?%\s+(?:sur|auf|on)\b
    |^\W*(?:anzeige|advertisement|ad|publicité|oferta|concours|reklam|kampanya|werbung|promo|we're\s+looking\s+for|job|jobs)\s*[\]:|]";

pub(super) const HOUSEKEEPING: &str = r"
    ^(?:chore|ci|docs?|style|test|tests|refactor)(?:\([^)]*\))?!?:\s | ^(?:build|fix)\(deps[^)]*\):\s | ^bump\s+\S+\s+from\s | ^docs?[-/]v?\d | \bfix\s+typos?\b";

pub(super) const FUNDING: &str = r"
    \braises?\s+(?:about\s+)?[$€£]\s?\d | \bseries\s+[a-f]\b | \blevée\s+de\s+fonds | \bfinanzierungsrunde | \bronda\s+de\s+(?:financiación|inversión) | \byatırım\s+aldı\b";

pub(super) const SURVEY: &str = r"
    ^\W*(?:report|study|survey|poll|statistics|umfrage|studie|statistik|sondage|étude|enquête|baromètre|encuesta|estudio|estadística|anket|araştırma)\s*: ";

pub(super) const TALK: &str = r"
    ^\W*(?:podcast|interview|quiz|poll|ask|opinion|comment|commentary|column|essay|tutorial|guide|how-?to|explainer|review|hands-on|video|weekend\s+read
      |hintergrund|kommentar|meinung|kolumne|anleitung|ratgeber|tipps?|tipp\s+des\s+tages|test|vergleich|porträt|glosse|leserfrage|wochenrückblick
      |tutoriel|conseils?|avis|tribune|portrait|entretien|dossier|comparatif|éditorial|vidéo
      |opinión|guía|entrevista|consejos|análisis|reportaje|columna|editorial
      |rehber|röportaj|görüş|yorum|inceleme|söyleşi|ipuçları)\b(?:\s+\#?\d+)?\s*(?:[:|]|-\s)
    |^\W*(?:how\s+(?:to|we|i|our|you|not)|why\s+(?:we|you|i|your|our|the|not)|what\s+(?:is|are)|understanding|week\s+in\s+review|this\s+week\s+in|call\s+for\s+(?:papers|proposals|speakers)|meet\s+the|ask\s+(?:the|hn))\b
    |^\W*(?:\S+\s+){0,1}?(?:years|jahre|ans|años)\s+(?:of|mit|de)\b|\b(?:looking|a\s+look)\s+back\b|\bretrospective\b
    |\b(?:einfach\s+erklärt|was\s+ist\s+eigentlich|schritt\s+für\s+schritt|wochenrückblick|pas\s+à\s+pas|paso\s+a\s+paso|adım\s+adım)\b
    |^\W*(?:vor\s+\S+\s+jahren|il\s+y\s+a\s+\S+\s+ans|hace\s+\S+\s+años|qu'est-ce|cómo\s|por\s+qué|neden\s|nedir|retour\s+sur)
    |^\W*comment\s+(?:bien\s+)?\S+(?:er|ir|re)\s+(?:un|une|son|sa|ses|le|la|les|des|du|votre)\b|:\s+cómo\b";

pub(super) const READING: &str = r"
    \b(?:deep\s+dive|part\s+(?:\d+|one|two|three)|best\s+practices|tips|tricks|lessons?\s+(?:learned|from)|interview|case\s+study|customer\s+stor(?:y|ies)|success\s+stor(?:y|ies)|behind\s+the\s+scenes
    |beginner's\s+guide|getting\s+started|explained|weekly|round-?up|newsletter|conference|meetup|keynote|hackathon|anniversary|playlist|photo\s+of|happy\s+(?:new\s+year|holidays|birthday)|merry
    |top\s+\d+|\d+\s+(?:ways|things|reasons|tips|tools)|cheat\s?sheet|everything\s+you\s+need|myths?|thoughts\s+on|joke|laugh|comic|book\s+review|which\s+\S+\s+do\s+you|how\s+(?:to|we|i|a|one)
    |im\s+(?:test|vergleich)|warum|wie\s+(?:sie|man|wir)|so\s+(?:geht|gelingt|funktioniert)|die\s+besten|meistgelesen\w*|veranstaltung\w*|konferenz|tagung|programm\s+der|jubiläum|grundlagen|erklärt|geburtstag
    |pourquoi|conférence|meilleurs|au\s+service\s+d\S+|tout\s+savoir|nos\s+conseils|entretien\s+avec|rencontre\s+avec|joyeux
    |entrevista|conferencia|consejos|qué\s+es|todo\s+lo\s+que|los\s+mejores|resumen\s+de\s+la\s+semana|felices
    |nasıl|nedir|röportaj|söyleşi|konferans|haftanın|en\s+iyi|ipuçları|yıl\s+önce|kutlu)\b";

pub(super) const ADVISORY: &str = r"\bCVE-\d{4}-\d{4,}|\bGHSA-|\b(?:DSA|DLA|USN|RHSA|GLSA|VMSA)-\d";

pub(super) const VULNERABILITY: &str = r"
    \bCVE-\d{4}-\d{4,}|\b(?:DSA|DLA|USN|RHSA|GLSA|VMSA|PSA|ZDI)-\d|\[security\]|\bGHSA-|\bvulnerab\w+|\bsecurity\s+(?:advisor\w+|update|fix(?:es)?|release|bulletin|flaw|bug|hole|issue|patch(?:es)?|notice)
    |\b(?:flaws?|exploits?|(?-i:XSS|CSRF|SSRF|RCE|DoS|LPE|XXE))\b|\bbuffer\s+overflow|\buse[\s-]after[\s-]free|\bout[\s-]of[\s-]bounds
    |\bpath\s+traversal|\bprototype\s+pollution|\bdenial[\s-]of[\s-]service|\bcross[\s-]site|\binjection\b|\bdeseriali[sz]ation
    |\bmemory\s+(?:corruption|leak)|\binformation\s+disclosure|\bzero[\s-]day
    |sicherheitslücke|schwachstelle|sicherheitsupdate|\blücken?\b|\bvulnérabilité|\bfailles?\b|\bvulnerabilidad|\bfallos?\s+(?:de\s+seguridad|crítico)
    |güvenlik\s+açığı|güvenlik\s+güncelle|\bzafiyet|\baçığı\b";

pub(super) const CRITICAL: &str = r"
    \bcritical(?:[\s-]severity)?\s+(?:\S+\s+){0,4}?(?:vulnerab\w+|flaws?|bugs?|holes?|issues?|CVEs?|RCE|exploit|zero-day|security|update|patch(?:es)?|injection|remote|XSS|SSRF|buffer|use-after-free|deserialization|SQL|auth\w*|memory|path)
    |\b(?:vulnerab\w+|flaws?|bugs?)\s+(?:is\s+|are\s+)?(?:rated\s+|considered\s+)?(?:as\s+)?critical\b
    |\b(?:severity|impact|schweregrad|sévérité|gravité|severidad|gravedad|önem)\s*(?:[:=(]|is|rating:?)?\s*(?:critical|kritisch|critique|crític\w+|kritik)
    |^\W*critical\b|\[critical\]|\(critical\)|\brated\s+critical
    |\bkritische\w*|\bcritiques?\b|\bcrític[oa]s?\b|\bkritik\b";

pub(super) const OPEN_TO_ALL: &str = r"
    \b(?:unauthenticated|pre-?auth(?:entication|enticated)?|zero-?click)\s+(?:\S+\s+)?(?:RCE|remote\s+code|code\s+execution|command|takeover|exploit)
    |\bwormable\b|\bwithout\s+authentication\b.*\bcode";

pub(super) const GRAVE: &str = r"
    \b(?:RCE|remote\s+code\s+execution|arbitrary\s+code|code\s+execution|zero[\s-]days?|privilege\s+escalation|sandbox\s+escape
    |authentication\s+bypass|auth\s+bypass|command\s+injection|SQL\s+injection|supply[\s-]chain\s+(?:attack|compromise)
    |backdoor(?:ed|s)?|malicious\s+(?:packages?|versions?|releases?|code|commits?)|emergency\s+(?:update|patch|fix)|out-of-band\s+(?:update|patch))\b
    |\b(?:compromised|hijacked)\s+(?:\S+\s+)?(?:packages?|maintainer|npm|crates?)\b
    |codeausführung|schadcode|exécution\s+de\s+code|ejecución\s+(?:remota\s+)?de\s+código|uzaktan\s+kod|hintertür|porte\s+dérobée|puerta\s+trasera|arka\s+kapı|\b(?:lieferketten?-?(?:angriff|attacke)\w*|(?:chaîne\s+d'approvisionnement|cadena\s+de\s+suministro|tedarik\s+zinciri)\S*)";

pub(super) const LEAKED: &str = r"
    \b(?:leaked|exposed|stolen|leaks|exposes)\s+(?:\S+\s+){0,2}?(?:keys?|tokens?|secrets?|credentials?|passwords?|certificates?)\b
    |\b(?:keys?|tokens?|secrets?|credentials?|passwords?)\s+(?:\S+\s+){0,3}?(?:leaked|exposed|stolen)\b | \brotate\s+your\s+(?:\S+\s+)?(?:keys?|tokens?|secrets?|credentials?|passwords?)\b
    |\b(?:schlüssel|zugangsdaten|passwörter|kennwörter|tokens?)\s+(?:\S+\s+){0,3}?(?:geleakt|gestohlen|offen\s+im\s+netz|abgeflossen|entwendet)
    |\b(?:clés?|identifiants|mots\s+de\s+passe|jetons?)\s+(?:\S+\s+){0,3}?(?:volée?s|exposée?s|divulguée?s|dérobée?s)\b
    |\b(?:claves?|credenciales|contraseñas|tokens?)\s+(?:\S+\s+){0,3}?(?:robad[oa]s|filtrad[oa]s|expuest[oa]s)\b
    |\b(?:anahtar\w*|parola\w*|şifre\w*|kimlik\s+bilgi\w*)\s+(?:\S+\s+){0,3}?(?:sızdır\w*|sızdı|çalın\w*|ifşa)";

pub(super) const HIGH: &str = r"
    \bhigh[\s-](?:severity|risk|impact)\b|\b(?:severity|impact|schweregrad|sévérité|gravité|severidad|gravedad)\s*[:=(]?\s*(?:high|important|hoch|élevée?|alta|yüksek)\b
    |\[high\]|\(high\)|\bimportant:|\bschwerwiegend\w*|\bhochriskant\w*|\byüksek\s+riskli";

pub(super) const LOW: &str = r"
    \b(?:severity|impact)\s*[:=(]?\s*low\b|\blow[\s-](?:severity|risk|impact)\b|\[low\]|\(low\)";

pub(super) const REVIEWED: &str = r"
    \bpost-?mortem\b|\bincident\s+(?:report|review)\b|\broot\s+cause\s+analysis\b|\bnachbetrachtung\b|\bretour\s+d'expérience\b|\binforme\s+de\s+incidente\b|\bolay\s+raporu\b";

pub(super) const INCIDENT: &str = r"
    \b(?:outages?|major\s+incident|security\s+incident|data\s+(?:breach|leak)\w*|breach(?:ed|es)?|hacked|ransomware|DDoS|unavailable|down\s+for|goes\s+down|service\s+disruption|data\s+loss|unreachable|failing\s+for\s+all)\b
    |^\s*(?:incident|störung)\b|\b(?:ausfall|ausgefallen|datenleck|datenpanne|gehackt|cyberangriff|panne|fuite\s+de\s+données|cyberattaques?|piratage|hors\s+service|rançongiciel|injoignables?
    |caída|interrupción|filtración\s+de\s+datos|ciberataque|kesinti\w*|veri\s+(?:sızıntısı|ihlali)|siber\s+saldırı)\b";

pub(super) const OVER: &str = r"
    \b(?:resolved|post-?mortem|root\s+cause|restored|behoben|résolue?|rétabli|resuelt[oa]|çözüldü|giderildi|incident\s+re(?:port|view))\b";

pub(super) const DISTURBANCE: &str = r"
    \b(?:degraded|elevated\s+(?:error|latenc)\w*|increased\s+(?:error|latenc)\w*|investigating|slow\s+(?:response|quer)\w*|delays?\s+in|partial\s+\w+\s+failure
    |störungen|verzögerung\w*|ralentissement\w*|dégradé\w*|degradad[oa]|yavaşlama|aksaklık)\b";

pub(super) const DOWN: &str = r"
    \b(?:down|unreachable|unavailable|failing|failed|cannot\s+(?:connect|log|pull|push)|unable\s+to|not\s+(?:reachable|responding)|outage|nicht\s+erreichbar|ausfall|ausgefallen
    |injoignables?|indisponibles?|inaccessibles?|panne|caíd[oa]s?|inaccesibles?|no\s+(?:responde|disponible)|erişilemiyor|ulaşılamıyor|kesinti\w*|yanıt\s+vermiyor)\b";

pub(super) const URGENT: &str = r"
    \baction\s+required\b|\bact\s+(?:now|before|by)\b|\bhandlungsbedarf|\bsofort\s+handeln|\baction\s+requise|\bacción\s+(?:requerida|necesaria)|\bişlem\s+gerek\w*|\bacil\s+işlem";

pub(super) const OPERATIONS: &str = r"
    \b(?:maintenance|end[\s-]of[\s-](?:life|support)|EOL|deprecat\w+|sunset\w*|breaking\s+changes?|migration|retir(?:ed|ing|ement)|certificates?\s+expir\w+|shut(?:ting)?\s+down|discontinued
    |wartung\w*|wartungsarbeiten|abgekündigt|supportende|fin\s+de\s+(?:vie|support)|mantenimiento|fin\s+de\s+soporte|bakım)\b";

pub(super) const DONE: &str = r"
    ^\W*(?:completed|finished|cancell?ed|abgeschlossen|beendet|abgesagt|terminée?s?|annulée?s?|completad[oa]|finalizad[oa]|cancelad[oa]|tamamlandı|iptal)\b";

pub(super) const PRERELEASE: &str = r"
    \d(?:\.\d+)*[-.~]?(?:alpha|beta|rc|pre|dev|preview|nightly|canary|snapshot)\b|\b(?:release\s+candidate|nightly|canary|insider\s+preview|alpha\s+\d|beta\s+\d|(?:alpha|beta)\s+(?:release|version))\b
    |\d(?:alpha|beta|rc|a|b)\d+\b|[-\s](?:alpha|beta|rc)[.\s-]?\d*\s*$
    |\d\s+(?:alpha|beta|rc)\b|\b(?:vorabversion|testversion|préversion|version\s+candidate|versión\s+(?:previa|candidata|de\s+prueba)|ön\s+sürüm|aday\s+sürüm)\b|^nightly\b";

pub(super) const RELEASE: &str = r"
    ^\W*(?:\S+\s+){0,3}?(?:release[\s/-])?v?\d{1,4}(?:\.\d{1,3})+(?:[-+~a-z]\w*)?(?::\s.*)?$
    |\bv?\d+(?:\.\d+)+\S*\s+(?:is\s+|now\s+|ist\s+|est\s+|está\s+)*(?:out|available|released?|here|erschienen|veröffentlicht|verfügbar|freigegeben|disponibles?|publiée?|sorti|lanzad[oa]|publicad[oa]|yayınlandı|çıktı)\b
    |\b(?:announcing|introducing|released?|releases|what(?:'|’)?s\s+new\s+in|changelog|release\s+notes|veröffentlicht|erschienen|sortie\s+de|publie|lanza(?:miento)?|yayınlandı|sürümü?)\b.*\d
    |\b(?:version|release|sürüm|versión)\s+v?\d[\w.]*";

pub(super) const INDUSTRY: &str = r"
    \b(?:acqui(?:res?|red|sition)|funding|raises|series\s+[a-f]\b|IPO|layoffs?|lays\s+off|merger|merges\s+with|CEO|CFO|earnings|revenue|market\s+share|valuation|lawsuit|sues|antitrust|startup|appoints|partnership|chief\s+(?:executive|\S+\s+officer)|quarterly\s+results|investors?|headquarters
    |übernimmt|übernahme|entlassungen|stellenabbau|umsatz\w*|quartal\w*|geschäftszahlen|börsengang|aktie|kauft|vorstand\w*|fusion|rachète|rachat|levée\s+de\s+fonds|licenciements|chiffre\s+d'affaires|résultats\s+trimestriels|nomme|concurrent|adquiere|adquisición|despidos|ingresos|resultados\s+trimestrales|nombra|inversión|işten\s+çıkar\w*|ortaklık\w*|gelirleri|satın\s+al\w*|yatırım\s+al\w*)\b
    |(?:\$|€|£)\s?\d+(?:[.,]\d+)?\s?(?:m|bn|million|billion|mrd|mio)\b";
pub(super) const ALARMING: &str = r"
    \b(?:attack\w*|hack\w*|hijack\w*|breach\w*|unauthori[sz]ed|malware|trojan|botnet|steal\w*|stolen|leak\w*|flaws?|bugs?|crash\w*|exploit\w*|security|urgent\w*|warning|alert|emergency|broken|corrupt\w*|change[sd]?|removed?|limits?|require[sd]?|price
    |angriff\w*|attacke\w*|lücken?|gekapert|gehackt|warnung|warnt|alarm\w*|gestört|störung\w*|sicherheits\w*|dringend\w*|fehler\w*|datenverlust|abgeschaltet|änder\w*
    |attaques?|pirates?|failles?|alerte|urgent|volée?s?|sécurité|panne|vol\s+de|fuite\w*
    |ataques?|atacan\w*|fallos?|fallas?|alerta|urgente|robad[oa]s?|robo|hackead[oa]s?|seguridad|ciberdelincuentes|avería
    |saldırı\w*|korsan\w*|açığ\w*|uyarı|acil|çalın\w*|sızıntı\w*|sızdır\w*|güvenlik|hata\w*|kapatıl\w*|değiş\w*)\b";

pub(super) const EVERYDAY: &str = r"
    \b(?:the|and|of|for|with|your|our|how|what|this|that|you|we|is|are|from
    |der|das|und|eine?|mit|für|von|im|ist|auf|zum|nur|wie
    |les?|des|une|et|du|pour|dans|est|au|aux|sur|chez|nos
    |el|los|las|y|con|para|del|por|así|más
    |ve|bir|için|ile|bu|olarak|daha|nasıl)\b";
