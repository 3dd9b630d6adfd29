//! What takes a phrase back: denials, what only could be, and talk about holes that is no news of one.

use super::super::plain::wording;
use regex::Regex;
use std::sync::LazyLock;

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
      | \bno\s+(?:(?:hay|ha|han|está|están|sido|siendo|se|es|fue|sea)\s*)*
      | \bno\s+se\s+han?\s+(?:detectado|observado|confirmado|reportado|constatado)\s+(?:\S+\s+){0,2}?
      | \b(?:ninguna?|sin)\s*
        )\s*$",
    )
});
/// What makes of "exploited by attackers" what only could be.
static POTENTIAL: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"(?:\b(?:could|can|may|might|would)\s+(?:also\s+|then\s+|potentially\s+|easily\s+|only\s+)*be
        | \b(?:likely|expected|bound)\s+to\s+(?:soon\s+)?be)\s*$",
    )
});
/// What leaves open whether it is so, says that it is not so yet, or only possible.
static OPEN: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"(?:\b(?:whether|before)\s+(?:it|they|these|this|that|the\s+\S+)\s+(?:is|are|was|were|gets?|has\s+been|have\s+been)(?:\s+being)?
        | \bob\s+(?:\S+\s+){0,4}\S+ | \bbevor\s+(?:\S+\s+){0,3}\S+ | \bavant\s+(?:d'être|qu'elle\s+(?:ne\s+)?soit)
        | \bantes\s+de\s+(?:ser|que\s+sea) | \b(?:lets?|letting|allow(?:s|ed|ing)?|help(?:s|ed|ing)?|enabl(?:e|es|ed|ing)|how|if|stop(?:s|ped)?)(?:\s+\S+)?)\s*$",
    )
});
/// Words before a phrase that sell protection from it.
static SOLD: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"\b(?:prioriti[sz](?:e|es|ing)|priorisier\S*|how\s+\S+\s+(?:stops|blocks|detects|finds)|our\s+\S+\s+(?:stops|blocks|detects|finds))\s+(?:\S+\s+){0,2}$",
    )
});
/// A conversation, a lesson, a test or an advertisement, as it says of itself at its beginning.
static TALK: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"^\W*(?:(?:free|live|new|on-demand|kostenlose[sr]?|gratis|ücretsiz)\s+)?
        (?:podcast|webinar|webinaire|webcast|quiz|episode|épisode|episodio|folge|bölüm|training|workshop|course|e-?book|white\s?paper|whitepaper|sponsored|advertorial|anzeige
          |advertisement|publicité|livre\s+blanc|seminario\s+web|poll|survey|umfrage|sondage|encuesta|anket|retrospective|rückblick|rétrospective|retrospectiva)
        (?:\s+\#?\d+)?(?:\s*:|\s+[-|]\s)",
    )
});
/// A look back, as it says of itself at its beginning.
static LOOK_BACK: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"^\W*(?:
          (?:\S+\s+){0,2}?(?:years|jahre|ans|años)\s+(?:of|with|mit|de)\b
        | (?:a\s+)?(?:brief\s+)?(?:history|anatomy|retrospective)\s+of\b | (?:a\s+)?look(?:ing)?\s+back\b
        | vor\s+\S+\s+jahren\b | il\s+y\s+a\s+\S+\s+ans\b | hace\s+\S+\s+años\b | retour\s+sur\b | remembering\b )",
    )
});
/// What is so today, whatever it began with.
static TODAY: LazyLock<Regex> = LazyLock::new(|| {
    wording(
        r"\b(?:is|are|now|currently|still|again|today|being|wird|werden|derzeit|wieder|nun|est|sont|encore|maintenant|está|están|ahora|siguen?|vuelven?|şimdi|hala|\S*iyor)\b",
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
      | (?:is|was|are)\s+(?:currently\s+|considered\s+|rated\s+)*(?:unlikely|unproven|unconfirmed|less\s+likely)\b
      | (?:has|have|was|were|is|are)(?:n't|\s+not|\s+never)\s+(?:yet\s+|been\s+|currently\s+|publicly\s+)*
            (?:observed|seen|detected|reported|confirmed|known|expected|likely|recorded)\b
      | (?:der|dieser|einer|von)?\s*(?:\S+\s+){0,3}?(?:ist|sind|wurden?|liegen|gibt\s+es)\s+(?:\S+\s+){0,3}?(?:nicht|keine?)\b
      | (?:de\s+\S+\s+(?:\S+\s+)?)?n'(?:est|a|ont|était)\s+(?:\S+\s+)?(?:pas|jamais)\b | non\s+(?:confirmée?|avérée?|connue?)
      | no\s+(?:se\s+ha|ha\s+sido|confirmad\S*|detectad\S*|conocid\S*|observad\S*)\b
        )",
    )
});

/// Before a phrase and behind it, so many bytes are looked at.
const REACH: usize = 240;

/// Whether what stands around a phrase says that it is not so, or not yet.
pub(super) fn takes_back(before: &str, phrase: &str, behind: &str) -> bool {
    let (before, behind) = (tail(before), head(behind));
    let bare = phrase
        .get(..7)
        .is_some_and(|start| start.eq_ignore_ascii_case("exploit"));
    (bare && POTENTIAL.is_match(before))
        || [&OPEN, &DENIED_BEFORE, &SOLD]
            .into_iter()
            .any(|denial| denial.is_match(before))
        || DENIED_BEHIND.is_match(behind)
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(REACH);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

fn tail(text: &str) -> &str {
    let mut start = text.len().saturating_sub(REACH);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// Whether a statement only talks about holes: a podcast, a quiz, an advertisement, a look back at
/// what is long over.
pub(super) fn is_talk(said: &str) -> bool {
    TALK.is_match(said) || (LOOK_BACK.is_match(said) && !TODAY.is_match(said))
}
