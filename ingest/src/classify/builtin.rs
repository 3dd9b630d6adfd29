//! The built-in lists: severity and category by the words of an entry, when nobody knows better.

use super::{FeedFacts, Opinion};
use crate::pattern::wording;
use regex::Regex;
use shared::model::{Category, Entry, Judge, Severity};
use std::sync::LazyLock;

/// Words, and what an entry is that holds one of them.
struct List {
    severity: Severity,
    category: Category,
    /// Of what the words are a sign, as the reason says it.
    sign: &'static str,
    /// Searched in the title.
    title: Regex,
    /// If given, one of these must stand in the title or the text as well.
    with: Option<Regex>,
}

/// The first list that matches decides.
static LISTS: LazyLock<Vec<List>> = LazyLock::new(|| {
    use Category::{Incident, Industry, Operations, Other, Release, Vulnerability};
    use Severity::{Critical, High, Low, Normal};
    let list = |severity, category, sign, title: &str, with: Option<&str>| List {
        severity,
        category,
        sign,
        title: wording(title),
        with: with.map(wording),
    };
    vec![
        list(Low, Other, "an advertisement", MARKETING, None),
        list(
            Critical,
            Vulnerability,
            "a critical vulnerability",
            VULNERABILITY,
            Some(CRITICAL),
        ),
        list(
            Critical,
            Vulnerability,
            "a critical vulnerability",
            OPEN_TO_ALL,
            None,
        ),
        list(High, Vulnerability, "a grave vulnerability", GRAVE, None),
        list(
            High,
            Vulnerability,
            "a vulnerability of high severity",
            VULNERABILITY,
            Some(HIGH),
        ),
        list(
            Low,
            Vulnerability,
            "a vulnerability of low severity",
            VULNERABILITY,
            Some(LOW),
        ),
        list(
            Normal,
            Vulnerability,
            "a vulnerability",
            VULNERABILITY,
            None,
        ),
        list(
            Normal,
            Incident,
            "an incident that is over",
            INCIDENT,
            Some(OVER),
        ),
        list(High, Incident, "an incident", INCIDENT, None),
        list(Normal, Incident, "a disturbance", DISTURBANCE, None),
        list(
            Normal,
            Operations,
            "a matter of operations",
            OPERATIONS,
            None,
        ),
        list(Low, Release, "a pre-release", PRERELEASE, None),
        list(Normal, Release, "a release", RELEASE, None),
        list(Low, Industry, "trade news", INDUSTRY, None),
    ]
});

const MARKETING: &str = r"
    \b(?:webinars?|sponsored|advertorial|e-?books?|white\s?papers?|giveaway|gewinnspiel|promo(?:tion)?\s+code
    |black\s+friday|cyber\s+monday|register\s+now|join\s+us|\d+\s?%\s+(?:off|rabatt|indirim)
    |we(?:'|’)?re\s+hiring|is\s+hiring|livre\s+blanc|webinaire|seminario\s+web|patrocinado|sponsorlu)\b
    |\bsave\s+(?:up\s+to\s+)?\d+\s?%|^\s*(?:anzeige|advertisement|ad|publicité|\[ad\])\s*[:|]";

const VULNERABILITY: &str = r"
    \bCVE-\d{4}-\d{4,}|\bGHSA-|\bvulnerab\w+|\bsecurity\s+(?:advisor\w+|update|fix(?:es)?|release|bulletin|flaw|bug|hole|issue|patch(?:es)?|notice)
    |\b(?:flaws?|exploits?|(?-i:XSS|CSRF|SSRF|RCE|DoS|LPE|XXE))\b|\bbuffer\s+overflow|\buse[\s-]after[\s-]free|\bout[\s-]of[\s-]bounds
    |\bpath\s+traversal|\bprototype\s+pollution|\bdenial[\s-]of[\s-]service|\bcross[\s-]site|\binjection\b|\bdeseriali[sz]ation
    |\bmemory\s+(?:corruption|leak)|\binformation\s+disclosure|\bzero[\s-]day
    |sicherheitslücke|schwachstelle|sicherheitsupdate|\blücken?\b|\bvulnérabilité|\bfailles?\b|\bvulnerabilidad|\bfallos?\s+(?:de\s+seguridad|crítico)
    |güvenlik\s+açığı|güvenlik\s+güncelle|\bzafiyet|\baçığı\b";

const CRITICAL: &str = r"
    \bcritical(?:[\s-]severity)?\s+(?:\S+\s+){0,4}?(?:vulnerab\w+|flaws?|bugs?|holes?|issues?|CVEs?|RCE|exploit|zero-day|security|update|patch(?:es)?|injection|remote|XSS|SSRF|buffer|use-after-free|deserialization|SQL|auth\w*|memory|path)
    |\b(?:vulnerab\w+|flaws?|bugs?)\s+(?:is\s+|are\s+)?(?:rated\s+|considered\s+)?(?:as\s+)?critical\b
    |\b(?:severity|impact|schweregrad|sévérité|gravité|severidad|gravedad|önem)\s*(?:[:=(]|is|rating:?)?\s*(?:critical|kritisch|critique|crític\w+|kritik)
    |^\W*critical\b|\[critical\]|\(critical\)|\brated\s+critical
    |\bkritische\w*|\bcritiques?\b|\bcrític[oa]s?\b|\bkritik\b";

const OPEN_TO_ALL: &str = r"
    \b(?:unauthenticated|pre-?auth(?:entication|enticated)?|zero-?click)\s+(?:\S+\s+)?(?:RCE|remote\s+code|code\s+execution|command|takeover|exploit)
    |\bwormable\b|\bwithout\s+authentication\b.*\bcode";

const GRAVE: &str = r"
    \b(?:RCE|remote\s+code\s+execution|arbitrary\s+code|code\s+execution|zero[\s-]days?|privilege\s+escalation|sandbox\s+escape
    |authentication\s+bypass|auth\s+bypass|command\s+injection|SQL\s+injection|supply[\s-]chain\s+(?:attack|compromise)
    |backdoor(?:ed|s)?|malicious\s+(?:packages?|versions?|releases?|code|commits?)|emergency\s+(?:update|patch|fix)|out-of-band\s+(?:update|patch))\b
    |\b(?:compromised|hijacked)\s+(?:\S+\s+)?(?:packages?|maintainer|npm|crates?)\b
    |codeausführung|schadcode|exécution\s+de\s+code|ejecución\s+(?:remota\s+)?de\s+código|uzaktan\s+kod|hintertür|porte\s+dérobée|puerta\s+trasera|arka\s+kapı";

const HIGH: &str = r"
    \bhigh[\s-](?:severity|risk|impact)\b|\b(?:severity|impact|schweregrad|sévérité|gravité|severidad|gravedad)\s*[:=(]?\s*(?:high|important|hoch|élevée?|alta|yüksek)\b
    |\[high\]|\(high\)|\bimportant:|\bschwerwiegend\w*|\bhochriskant\w*|\byüksek\s+riskli";

const LOW: &str = r"
    \b(?:severity|impact)\s*[:=(]?\s*low\b|\blow[\s-](?:severity|risk|impact)\b|\[low\]|\(low\)";

const INCIDENT: &str = r"
    \b(?:outages?|major\s+incident|security\s+incident|data\s+(?:breach|leak)\w*|breach(?:ed|es)?|hacked|ransomware|DDoS|unavailable|down\s+for|goes\s+down|service\s+disruption|data\s+loss)\b
    |^\s*(?:incident|störung)\b|\b(?:ausfall|ausgefallen|datenleck|datenpanne|gehackt|cyberangriff|panne|fuite\s+de\s+données|cyberattaque|piratage|hors\s+service
    |caída|interrupción|filtración\s+de\s+datos|ciberataque|kesinti\w*|veri\s+(?:sızıntısı|ihlali)|siber\s+saldırı)\b";

const OVER: &str = r"
    \b(?:resolved|post-?mortem|root\s+cause|restored|behoben|résolue?|rétabli|resuelt[oa]|çözüldü|giderildi|incident\s+re(?:port|view))\b";

const DISTURBANCE: &str = r"
    \b(?:degraded|elevated\s+(?:error|latenc)\w*|increased\s+(?:error|latenc)\w*|investigating|slow\s+(?:response|quer)\w*|delays?\s+in|partial\s+\w+\s+failure
    |störungen|verzögerung\w*|ralentissement\w*|dégradé\w*|degradad[oa]|yavaşlama|aksaklık)\b";

const OPERATIONS: &str = r"
    \b(?:maintenance|end[\s-]of[\s-](?:life|support)|EOL|deprecat\w+|sunset\w*|breaking\s+changes?|migration|retir(?:ed|ing|ement)|certificates?\s+expir\w+|shut(?:ting)?\s+down|discontinued
    |wartung\w*|wartungsarbeiten|abgekündigt|supportende|fin\s+de\s+(?:vie|support)|mantenimiento|fin\s+de\s+soporte|bakım)\b";

const PRERELEASE: &str = r"
    \d(?:\.\d+)*[-.~]?(?:alpha|beta|rc|pre|dev|preview|nightly|canary|snapshot)\b|\b(?:release\s+candidate|nightly|canary|insider\s+preview|alpha\s+\d|beta\s+\d|(?:alpha|beta)\s+(?:release|version))\b
    |\d(?:alpha|beta|rc|a|b)\d+\b|[-\s](?:alpha|beta|rc)[.\s-]?\d*\s*$";

const RELEASE: &str = r"
    ^\W*(?:\S+\s+){0,3}?(?:release[\s/-])?v?\d{1,4}(?:\.\d{1,3})+(?:[-+~a-z]\w*)?(?::\s.*)?$
    |\bv?\d+(?:\.\d+)+\S*\s+(?:is\s+|now\s+|ist\s+|est\s+|está\s+)*(?:out|available|released?|here|erschienen|veröffentlicht|verfügbar|freigegeben|disponibles?|publiée?|sorti|lanzad[oa]|publicad[oa]|yayınlandı|çıktı)\b
    |\b(?:announcing|introducing|released?|releases|what(?:'|’)?s\s+new\s+in|changelog|release\s+notes|veröffentlicht|erschienen|sortie\s+de|publie|lanza(?:miento)?|yayınlandı|sürümü?)\b.*\d
    |\b(?:version|release|sürüm|versión)\s+v?\d[\w.]*";

const INDUSTRY: &str = r"
    \b(?:acqui(?:res?|red|sition)|funding|raises|series\s+[a-f]\b|IPO|layoffs?|lays\s+off|merger|merges\s+with|CEO|CFO|earnings|revenue|market\s+share|valuation|lawsuit|sues|antitrust|startup|appoints|partnership
    |übernimmt|übernahme|entlassungen|stellenabbau|umsatz|rachète|rachat|levée\s+de\s+fonds|licenciements|adquiere|adquisición|despidos|satın\s+al\w*|yatırım\s+al\w*)\b
    |(?:\$|€|£)\s?\d+(?:[.,]\d+)?\s?(?:m|bn|million|billion|mrd|mio)\b";

/// Judges by the words in the title, then by what the feed is about.
pub(super) fn judge(entry: &Entry, feed: &FeedFacts) -> Opinion {
    LISTS
        .iter()
        .find_map(|list| by_list(list, entry))
        .unwrap_or_else(|| by_feed(feed))
}

fn by_list(list: &List, entry: &Entry) -> Option<Opinion> {
    let trimmed = |text: regex::Match<'_>| {
        text.as_str()
            .trim()
            .trim_end_matches([',', '.', ':', ';'])
            .to_owned()
    };
    let mut words = vec![trimmed(list.title.find(&entry.title)?)];
    if let Some(with) = &list.with {
        let found = with
            .find(&entry.title)
            .or_else(|| with.find(&entry.summary));
        let found = trimmed(found?);
        if !words.contains(&found) {
            words.push(found);
        }
    }
    let quoted: Vec<String> = words.iter().map(|words| format!("\"{words}\"")).collect();
    Some(Opinion {
        severity: list.severity,
        category: list.category,
        reason: format!("looks like {}: {}", list.sign, quoted.join(" and ")),
        judge: Judge::Builtin,
    })
}

/// What a feed's tags and address say that is about one thing only.
fn by_feed(feed: &FeedFacts) -> Opinion {
    let about = |names: &[&str]| {
        feed.tags
            .iter()
            .any(|tag| names.contains(&&*tag.to_lowercase()))
    };
    let category = if about(&["security", "advisories", "vulnerabilities", "cve"]) {
        Category::Vulnerability
    } else if about(&["release", "releases"])
        || feed.url.ends_with("/releases.atom")
        || feed.url.ends_with("/tags.atom")
    {
        Category::Release
    } else if about(&["status", "incidents"]) {
        Category::Incident
    } else if about(&["operations", "ops"]) {
        Category::Operations
    } else if about(&["industry", "business", "trade"]) {
        Category::Industry
    } else {
        Category::Other
    };
    let reason = match category {
        Category::Other => "no word that decides".to_owned(),
        category => format!("no word that decides; the feed is about {category}"),
    };
    Opinion {
        severity: Severity::Normal,
        category,
        reason,
        judge: Judge::Builtin,
    }
}
