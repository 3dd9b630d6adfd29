//! The floor: what is known to be exploited, or scored 9 and more, is critical whatever else is
//! said. Wording of reports in English, German, French, Spanish and Turkish.

use super::cvss;
use crate::pattern::{pattern, wording};
use regex::Regex;
use shared::model::Entry;
use std::sync::LazyLock;

/// CVSS calls a score from here on critical:
/// <https://www.first.org/cvss/v3.1/specification-document>.
const CRITICAL_SCORE: f64 = 9.0;

/// Phrases that say that somebody uses the hole already.
static EXPLOITED: LazyLock<Regex> = LazyLock::new(|| {
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
      | \bzero[\s-]?day\S*\s+(?:\S+\s+){0,6}?ausgenutzt
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
        ",
    )
});
/// Only in capitals: a name in any other writing.
static KEV: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bKEV\b"));

/// What stands directly before a phrase and takes it back. Fillers may stand between; any other
/// word breaks it, so that "no patch for the actively exploited" keeps its meaning.
static DENIED_BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"(?:
        (?:\b(?:not|never|unlikely|cannot|nor|neither)\b|n['’]t\b)
            (?:\s+(?:yet|currently|known|believed|thought|considered|observed|seen|been|being|be|to|
                aware|of|any|publicly|public|under|have|has|had|listed|in|the|this|these|that|it|its|as|
                reported|a|an|actively|widely|is|are|was|were|vulnerabilit(?:y|ies)|issues?|flaws?|
                bugs?|exploits?|cves?|cisa|cisa's|catalog|active|evidence|reports?|added|attempts?))*
      | \b(?:no|without(?:\s+any)?|zero|nor|lacks?)(?:\s+(?:known|public|publicly|confirmed|current|clear|direct|
            longer|credible|further|available|such|verified|active|reported|observed|malicious|recent|other))*
            (?:\s+(?:evidence|reports?|indications?|signs?|proof|knowledge|instances?|cases?|
                information|confirmation|attempts?|exploits?|hints?)\b[^.!?;]*)?
      | \bunaware\b[^.!?;]*
      | \b(?:nicht|nie|niemals)(?:\s+(?:aktiv|bereits|derzeit|öffentlich|bekannt|dass|sie|es|die|der|lücke|
            schwachstelle|wird|werden|wurde))*
      | \bkeine?(?:n|r|rlei)?\s+(?:\S+\s+){0,2}?(?:hinweise?|anzeichen|belege?|berichte?|erkenntnisse|informationen)\b[^.!?;]*
      | \bkeine?\s*
      | \b(?:pas|jamais|non)(?:\s+(?:encore|été|être|connue?s?|à|ce|jour))*
      | \b(?:aucune?|sans)\s+(?:\S+\s+){0,2}?(?:preuve|signe|indice|indication|rapport|trace)\w*\b[^.!?;]*
      | \baucune?\s*
      | \b(?:no|sin)\s+(?:\S+\s+){0,3}?(?:evidencias?|pruebas?|indicios?|constancia|informes?)\b[^.!?;]*
      | \bno\s+(?:(?:ha|han|está|están|sido|siendo|se|es|fue|sea)\s*)*
      | \b(?:ninguna?|sin)\s*
        )\s*$",
    )
});
/// What makes of "exploited by attackers" what only could be.
static POTENTIAL: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"\b(?:could|can|may|might|would)\s+(?:also\s+|then\s+|potentially\s+|easily\s+|only\s+)*be\s*$",
    )
});
/// What stands behind a phrase and takes it back: "Actively exploited: No", and Turkish, whose
/// negation comes last.
static DENIED_BEHIND: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"^\s*(?:
        (?:\?|:|=|-|\|)\s*(?:no|none|false|nein|non|hayır|n/a|not\s|0)\b
      | \S*\s*(?:\S+\s+){0,4}?(?:dair|ilişkin|yönünde|hakkında)\s+(?:\S+\s+){0,3}?(?:kanıt|bilgi|bulgu|işaret|rapor)\w*\s+
            (?:yok|bulunmuyor|bulunmamakta|mevcut\s+değil|rastlanmadı)
      | (?:\s*\S+)?\s*(?:edilmiyor|edilmedi|edilmemiş|değil)\w*
        )",
    )
});

/// Why the entry cannot be less than critical; `None` when nothing says so.
pub(super) fn find(entry: &Entry) -> Option<String> {
    [("title", &entry.title), ("text", &entry.summary)]
        .into_iter()
        .find_map(|(place, text)| {
            exploited(text)
                .map(|phrase| format!("known to be exploited: \"{phrase}\" in the {place}"))
                .or_else(|| scored(text, place))
        })
}

fn scored(text: &str, place: &str) -> Option<String> {
    let score = cvss::highest(text).filter(|&score| score >= CRITICAL_SCORE)?;
    Some(format!("CVSS {score:.1} in the {place}"))
}

fn exploited(text: &str) -> Option<&str> {
    let phrases = EXPLOITED.find_iter(text).chain(KEV.find_iter(text));
    let mut stated = phrases.filter(|phrase| {
        let before = text.get(..phrase.start()).unwrap_or_default();
        let behind = text.get(phrase.end()..).unwrap_or_default();
        let sentence = before.rsplit(". ").next().unwrap_or_default();
        let potential = phrase.as_str().starts_with("exploit") && POTENTIAL.is_match(sentence);
        !potential && !DENIED_BEFORE.is_match(sentence) && !DENIED_BEHIND.is_match(behind)
    });
    stated.next().map(|phrase| phrase.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floor(title: &str) -> Option<String> {
        find(&Entry {
            title: title.to_owned(),
            ..Entry::default()
        })
    }

    #[test]
    fn exploitation_is_seen_in_five_languages() {
        for title in [
            "Actively exploited flaw in router firmware",
            "Vendor patches bug under active exploitation",
            "Flaw exploited in the wild since May",
            "In-the-wild exploitation of mail gateway observed",
            "Browser update fixes zero-day exploited by spies",
            "Exploited zero-day in VPN appliance",
            "Agency adds two known exploited vulnerabilities to its catalog",
            "CVE-2026-1111 added to KEV",
            "Attackers are exploiting a hole in backup software",
            "No patch yet for actively exploited zero-day",
            "Not only actively exploited, but wormable",
            "Fix available. Not a drill: flaw under active attack",
            "Agencies told to patch flaw exploited as zero-day",
            "Plugin bug exploited by ransomware gangs",
            "Eighth zero-day exploited in attacks this year",
            "Exploitation of CVE-2026-40001 detected",
            "This issue may have been actively exploited",
            "Sicherheitslücke in Firewall wird aktiv ausgenutzt",
            "Schwachstelle in Routern wird angegriffen",
            "Angreifer nutzen Schwachstelle in Mailserver aus",
            "Lücke bereits ausgenutzt: Jetzt aktualisieren",
            "Noch kein Patch für aktiv ausgenutzte Lücke",
            "Une faille activement exploitée dans un VPN",
            "Vulnérabilité exploitée dans la nature",
            "Exploitation active d'une faille dans un pare-feu",
            "Faille en cours d'exploitation",
            "Vulnerabilidad explotada activamente en servidores web",
            "Fallo de día cero explotado por atacantes",
            "Detectan explotación activa de un fallo crítico",
            "Güvenlik açığı aktif olarak istismar ediliyor",
            "Saldırılarda kullanılan açık kapatıldı",
            "Saldırganlar güvenlik açığını istismar ediyor",
        ] {
            assert!(floor(title).is_some(), "{title}");
        }
    }

    #[test]
    fn a_denial_raises_nothing() {
        for title in [
            "There is no evidence of active exploitation",
            "No evidence that the flaw is being exploited in the wild",
            "We are not aware of this vulnerability being actively exploited",
            "The issue is not known to be exploited in the wild",
            "The flaw has not been exploited in the wild",
            "No active exploitation so far",
            "It isn't currently being exploited",
            "Vendor is unaware of any in-the-wild attacks",
            "No known exploited vulnerabilities this month",
            "Actively exploited: No",
            "Die Lücke wird bislang nicht aktiv ausgenutzt",
            "Keine Hinweise auf aktive Ausnutzung",
            "La faille n'est pas activement exploitée",
            "Aucune exploitation active connue",
            "No hay evidencia de explotación activa",
            "No está siendo explotada activamente",
            "Aktif olarak istismar edildiğine dair kanıt yok",
            "The flaw can be exploited by remote attackers to crash the daemon",
            "No longer exploited in the wild",
            "Power grid under attack",
            "Attackers abuse calendar invitations",
            "Kev joins the board",
            "How to exploit your cache for speed",
            "Library 9.8 released",
        ] {
            assert_eq!(floor(title), None, "{title}");
        }
    }

    #[test]
    fn one_denial_does_not_silence_the_next_sentence() {
        let text = "CVE-1 is not known to be exploited. CVE-2 is actively exploited";
        assert!(floor(text).is_some());
    }

    #[test]
    fn the_reason_names_the_words() {
        assert_eq!(
            floor("Actively exploited flaw").as_deref(),
            Some("known to be exploited: \"Actively exploited\" in the title")
        );
        assert_eq!(
            floor("Flaw (CVSS 9.8)").as_deref(),
            Some("CVSS 9.8 in the title")
        );
        assert_eq!(floor("Flaw (CVSS 8.9)"), None);
    }
}
