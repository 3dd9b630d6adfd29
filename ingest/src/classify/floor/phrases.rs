//! The words by which reports say that a hole is being used, in English, German, French, Spanish and
//! Turkish.

use super::super::plain::wording;
use regex::Regex;
use std::sync::LazyLock;

/// Phrases that say that somebody uses the hole already.
pub(super) static EXPLOITED: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"
        \b(?:actively|currently|already|widely|massively|mass|being|now)[\s-]+(?:being\s+|mass[\s-]+)?exploited\b
      | \bactive(?:ly)?[\s-]+(?:exploitation|exploits?|exploiting|attacks?\s+exploiting)\b
      | \b(?:exploited|exploitation|exploits?|abused|attacks?)\s+(?:\S+\s+){0,3}?in[\s-]the[\s-]wild\b
      | \bin[\s-]the[\s-]wild\s+(?:exploit\w*|attacks?|abuse)\b
      | \bexploit(?:s|ed|ing)?\s+(?:\S+\s+){0,4}?(?:zero|0)[\s-]?days?\b
      | \b(?:zero|0)[\s-]?days?\b(?:\s+\S+){0,6}?\s+exploit(?:ed|ation)\b
      | \bknown[\s-]+(?:to\s+be\s+)?exploited\b
      | \bexploited\s+by\s+(?:\S+\s+){0,4}?(?:attackers?|hackers?|actors?|gangs?|groups?|criminals|spies|botnets?|ransomware|malware)\b
      | \bexploited\s+in\s+(?:\S+\s+){0,3}?(?:attacks?|campaigns?)\b
      | \bexploitation\s+(?:\S+\s+){0,4}?(?:detected|observed|confirmed|under\s*way|begins|began|started|continues)\b
      | \b(?:detected|observed|confirmed|limited|widespread|ongoing|targeted|in-the-wild)\s+exploitation\b
      | \b(?:zero|0)[\s-]?days?\b(?:\s+\S+){0,4}?\s+in[\s-]the[\s-]wild\b
      | \bunder\s+active\s+(?:attack|exploitation)\b
      | \b(?:flaw|bug|hole|vulnerability|zero-day|CVE-[\d-]+)\s+(?:\S+\s+){0,4}?under\s+(?:attack|exploitation)\b
      | \bmass[\s-]+exploitation\b
      | \b(?:hackers|attackers|threat\s+actors|criminals)\s+(?:are\s+|now\s+|actively\s+|have\s+)*exploit(?:ing|ed)?\b
      | \baktiv\s+(?:ausgenutzt\w*|angegriffen\w*|ausgenützt\w*)
      | \b(?:bereits|derzeit|gerade|schon|momentan)\s+(?:aktiv\s+)?(?:ausgenutzt|angegriffen|attackiert)
      | \baktive\s+(?:ausnutzung|angriffe)\b
      | \bangreifer\s+(?:\S+\s+)?nutzen\s+(?:\S+\s+){0,8}?aus\b
      | \b(?:wird|werden)\s+(?:ausgenutzt|angegriffen|attackiert)\b
      | \bangreifer\s+attackieren\b
      | \bin\s+freier\s+wildbahn\b
      | \b(?:attacken|angriffe)\s+(?:auf|laufen)\b.{0,60}\b(?:lücke|schwachstelle|sicherheitslücke)
      | \b(?:attacken|angriffe)\s+auf\s+(?:\S+\s+){1,5}?(?:laufen|beobachtet|gesichtet|im\s+gange)\b
      | \bzero[\s-]?day\S*\s+(?:\S+\s+){0,6}?ausgenutzt
      | \baktiv\s+(?:von\s+\S+\s+)?missbraucht\b
      | \bactivement\s+exploité\w*
      | \bexploitée?s?\s+(?:activement|dans\s+la\s+nature|par\s+des\s+(?:attaquants|pirates))
      | \bexploitée?s?\s+dans\s+des\s+attaques\b | \ben\s+cours\s+d['’]exploitation\b
      | \b(?:zero|0)[\s-]?days?\s+(?:\S+\s+){0,4}?exploitée?s?\b
      | \bexploitation\s+(?:active|en\s+cours|avérée)\b
      | \b(?:explotad[oa]s?|explotándose)\s+(?:activamente|en\s+(?:ataques|la\s+naturaleza|entornos\s+reales|estado\s+salvaje))
      | \bactivamente\s+explotad[oa]s?
      | \bexplotación\s+activa\b
      | \b(?:siendo|están?)\s+explota(?:d[oa]s?|ndo)\b
      | \bdía\s+cero\s+(?:\S+\s+){0,4}?explotad[oa]s?
      | \bexplotad[oa]s?\s+por\s+(?:\S+\s+){0,2}?(?:atacantes|ciberdelincuentes|hackers|piratas)\b
      | \bsaldırganlar\w*\s+(?:\S+\s+){0,6}?istismar\s+edi\w*
      | \baktif\s+(?:olarak\s+|bir\s+şekilde\s+)?(?:istismar|sömür|kullanıl)\w*
      | \bistismar\s+edil(?:iyor|mekte|en|di)\w*
      | \bsaldırılarda\s+(?:aktif\s+olarak\s+)?kullanıl(?:ıyor|an|dı)\w*
      | \b(?:hackers|attackers|actors|criminals|gangs|intruders)\s+(?:now\s+|already\s+|actively\s+|are\s+)*(?:chain|abuse|leverage|weaponi[sz]e|use|chaining|abusing|leveraging|weaponi[sz]ing|using)\s+
            (?:\S+\s+){0,5}?(?:bugs?|flaws?|holes?|vulnerabilit\w+|zero-?days?|0-?days?|CVE-\d+)\b
      | \b(?:angreifer|cyberkriminelle|kriminelle|hacker)\s+(?:kapern|übernehmen|missbrauchen|attackieren|nutzen)\s+(?:\S+\s+){0,6}?(?:lücken?|schwachstellen?|zero-?day\S*)
      | (?:lücke|schwachstelle|zero-?day)\s+(?:\S+\s+){0,3}?(?:gekapert|kompromittiert|gehackt|attackiert)\b
      | \b(?:pirates|attaquants|hackers|cybercriminels)\s+(?:exploitent|profitent|utilisent|se\s+servent|abusent)\s+(?:\S+\s+){0,4}?\S*(?:failles?|vulnérabilités?|zero-?day|0-?day)\b
      | \b(?:ciberdelincuentes|atacantes|piratas(?:\s+informáticos)?|hackers|delincuentes)\s+(?:ya\s+|están\s+)?(?:aprovechan|explotan|usan|utilizan|aprovechando|explotando)\s+(?:\S+\s+){0,4}?(?:fallos?|fallas?|vulnerabilidad\w*|agujeros?|día\s+cero|zero-?day)\b
      | \b(?:saldırganlar|korsanlar\w*|hackerlar)\s+(?:\S+\s+){0,7}?açı(?:ğı|k)\S*\s+(?:\S+\s+)?(?:kullanıyor|kullandı|sömürüyor|istismar)
      | \bseeing\s+(?:\S+\s+){0,2}?(?:attacks|exploitation|exploit\s+attempts)\b
      | \b(?:flaw|bug|hole|vulnerability)\s+(?:is|was)\s+(?:already\s+|now\s+)?(?:being\s+)?used\s+(?:to|by|in)\b
      | \battacks\s+(?:against|on|targeting)\s+(?:\S+\s+){1,5}?(?:under\s*way|ongoing|observed|continue|spotted|detected)\b
      | \S*(?:bande|gruppe|gang|botnetz?|malware|trojaner|wurm)\s+(?:nutzt|missbraucht|attackiert)\s+(?:\S+\s+){0,4}?(?:lücken?|schwachstellen?)\b
      | \bexploitation\s+(?:constatée|observée|confirmée|détectée|massive)\b
      | \b(?:connaissance|constaté|observé|victimes?)\s+d'attaques\b
      | \b(?:fallos?|vulnerabilidad\w*|día\s+cero|zero-?day)\s+(?:\S+\s+){0,5}?bajo\s+ataque\b
      | \bexplotación\s+(?:masiva|confirmada|detectada|observada|en\s+curso)\b | \bataques\s+en\s+curso\b
      | \bsaldırılar\s+(?:sürüyor|başladı|devam\s+ediyor|gözlemlen\w*|tespit\s+edil\w*)
        ",
    )
});
