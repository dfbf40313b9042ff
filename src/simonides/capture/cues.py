"""RE2 patterns for wordings that show how a clause is meant; ``clauses`` uses them.

Data only. Patterns ignore case and expect plain apostrophes and spaces. Patterns for a lead-in
match at the start of a clause, with the white space after it.
"""

from __future__ import annotations

from simonides.capture import lexicon
from simonides.text import patterns

SENTENCE_END = r"[.!?…。！？]+[\"')\]*]*(?:\s+|$)|[。！？]+|\s*\n\s*|\s*\[shares "
ABBREVIATIONS = frozenset(
    {
        "dr",
        "mr",
        "mrs",
        "ms",
        "prof",
        "st",
        "vs",
        "etc",
        "e.g",
        "i.e",
        "approx",
        "inc",
        "ltd",
        "jr",
        "sr",
        "ул",
        "пер",
        "просп",
    }
)
# Months of languages in which a day is written with a point before them.
MONTHS_OF_DAYS = lexicon.words(
    "januar jänner februar märz april mai juni juli august september oktober november dezember"
)
BULLET = r"(?:[-*•–]\s+|\(?\d{1,2}[.)]\s+|#+\s*)"
# Patterns and the group that is masked; a clause that begins inside is not the speaker's own.
CODE = r"(?s)```.*?(?:```|$)|'''.*?(?:'''|$)"
LINE_QUOTE = r"(?m)^\s*[>|].*$"
DOUBLE_QUOTED = r"\"[^\"\n]{0,600}\""
SINGLE_QUOTED = r"(?:^|[\s(:,])('[^'\n]{2,300}')(?:$|[\s.,;:!?)])"
MASKS = ((CODE, 0), (LINE_QUOTE, 0), (DOUBLE_QUOTED, 0), (SINGLE_QUOTED, 1))

# Where one clause may end and the next begin; only if the next begins like a clause.
JOINT = (
    r"\s*(?:[,;:]|\s[-–—]+\s|—)\s*(?:(?:and|but|so|also|plus|then|yet|because|since|or)\s+)?"
    r"|\s+(?:and|but|so|also|plus|because|since|though)\s+"
)
SUBJECT_HEAD = (
    r"(?:(?:also|please|then|so|just|really|btw|by the way),?\s+){0,3}"
    r"(?:(?:i|we|he|she|they|you|it|this|that|there)(?:'\w+)?\s+\S|let's\s"
    r"|(?:my|our|the|his|her|their)\s+(?:[\w'-]+\s+){1,3}?(?:is|are|was|were|has|have|likes?|loves?"
    r"|hates?|prefers?|lives?|works?|should|must|will|wants?|needs?)\s"
    r"|(?:can|could|would|will|do|does|did|is|are|should|what|how|which|who|why|where|any|right"
    r"|correct|remember|isn't|don't|eh|huh)\b"
    r"|(?:actually|sorry|from now on|going forward|in (?:the )?future"
    r"|for (?:all |any |every )?future)\b)"
)
IMPERATIVE_HEAD = (
    r"(?:(?:also|please|then|so|just|kindly),?\s+){0,3}(?:"
    + "|".join(sorted(lexicon.IMPERATIVES))
    + r"|do not)\b"
)
HEAD = rf"{SUBJECT_HEAD}|{IMPERATIVE_HEAD}"
# "I'm a nurse and live in Leeds": the subject of the second clause is in the first. Only verbs
# of the present and of news count, and only if the words after them refer to the speaker.
ELIDED_HEAD = (
    r"(?:(?:also|now|currently|still|mostly|usually|really),?\s+){0,2}"
    r"(?:(?:live|reside)\s+(?:in|near)|work\s+(?:as|at|for|from|in)|prefer|love|enjoy|hate"
    r"|dislike|can't stand|don't (?:like|eat|drink|use|want)|avoid|speak|drink|eat|get up at"
    r"|go by|moved to|relocated to|started (?:working )?(?:at|as)|just started (?:at|as)"
    r"|am|have (?:a|an|two|three|four|no)|own)\s+\S"
)
THAT_I = r"that\s+(?:i|i'm|i've|my|we|our)\b"
# "I like hiking and hate running" is one statement, kept whole.
TASTES = r"(?:love|like|enjoy|hate|dislike|can't stand|don't like|prefer|avoid)"
# The clause before it is a statement about the speaker, without anything else that the verb could
# belong to: an infinitive, a wish, another person.
OWN_HEAD = (
    r"(?:(?:and|but|so|also|well|ok|hi|hello|hey|actually|no|that),?\s+){0,3}(?:i|i'm|i've)\s"
)
SHARED_VERB = (
    r"(?:\b(?:to|want|would|could|should|might|may|will|can|cannot|can't|won't|wouldn't|shall|must"
    r"|did|didn't|let|make|help|if|when|while|until|unless|who|whom|whose|which|that|where|because"
    r"|he|she|they|you|people|friends?|was|were|used)\b|'d\b|'ll\b)"
)
TOLD = (
    r"(?:(?:and|but|so|also|well|ok|hi|hello|hey|actually|no),?\s+){0,3}(?:i|i'm|i've|i'd|we|we're"
    r"|my|our|he|she|they|you|people|it)\b"
)
POLITE = r"(?:please|kindly|just|don't|do not|from now on)\b"
STRONG_JOINT = r"[;:—–]|\s-+\s|\b(?:so|but|then|also|plus)\b"

# Words before the point; each is peeled off the front of a clause and changes how it is read.
FILLER = (
    r"(?:so|well|ok|okay|hey|hi|hello|oh|also|and|but|plus|btw|by the way|fyi|just so you know"
    r"|just to let you know|for your information|anyway|alright|right|yes|yeah|yep|yup|sure|thanks"
    r"|thank you|great|cool|nice|perfect|awesome|again|first|secondly|honestly|personally|tbh"
    r"|to be honest|generally|overall|in general|as a reminder|reminder|quick note|as you know"
    r"|(?:as|like) i (?:said|mentioned)(?: before| earlier)?|i(?:'ve| have)? (?:already )?told you"
    r"(?: before| already)?(?: that)?|one more thing|another thing|hmm+|um+|uh+|ah+|haha+|wow"
    r"|just|please|kindly|because|since)\b[\s,:.!–—-]*"
)
GREETING = r"(?:hi|hello|hey|dear)(?: there)?(?: [a-z][\w-]+)?(?:\s*[,!.]\s*|$)"
WRONG = (
    r"(?:that(?:'s| is| was) (?:wrong|incorrect|not (?:right|correct|true))|you(?:'re| are) wrong"
    r"|you (?:got|have) (?:that|it|this|my \w+) wrong|not quite)\b[\s,:.!;–—-]*"
)
MEANT = (
    r"(?:(?:no|nope)(?:,\s*|\.\s+|\s+-\s+|[.!]?$)|(?:sorry,? )?(?:no,? )?i (?:meant"
    r"|mean)(?: to say)?\b"
    r"|correction\b|scratch that\b|my (?:mistake|bad)\b|let me correct (?:that|myself)\b"
    r"|i misspoke\b|wait,? no\b)[\s,:.!;–—-]*"
)
ACTUALLY = r"(?:actually|sorry|oops|wait|in fact)\b[\s,:.!–—-]*"
DURABLE = (
    r"(?:from now on(?:wards)?|from here on(?: out)?|from this point (?:on|forward)"
    r"|(?:going|moving) forward|in (?:the )?future|by default|as a (?:general )?rule|at all times"
    r"|in all (?:your|future) [\w ]{1,30}?"
    r"|for (?:all |any |every |each |my |our |your )*(?:future|upcoming|subsequent|later)"
    r" [\w' -]{1,60}?|for (?:all|any|every|each) (?:of )?(?:\w+ ){0,3}?(?:repl(?:y|ies)|answers?"
    r"|responses?"
    r"|messages?|e-?mails?|updates?|reports?|summar(?:y|ies)|questions?|requests?|conversations?"
    r"|chats?"
    r"|tasks?|meetings?|documents?|communications?|trips?|bookings?|flights?|travel|times|dates"
    r"|projects?|incidents?|code))"
    r"(?:\s*[,:]\s*|$)|(?:from now on|going forward|in future)\s+"
)
REQUEST = (
    r"(?:(?:can|could|would|will) you(?: please| kindly)?|i(?:'d| would) (?:like|love|prefer)"
    r"(?: for)? you to|i (?:want|need|expect|prefer) (?:for )?you to|you (?:should|must|can|may"
    r"|need to|have to|ought to)|(?:please )?(?:make sure|be sure|try)(?: that)?(?: you| to)+"
    r"|let's|would you mind|it would be (?:great|nice|good|helpful) if you(?: could)?)\s+"
)
REMEMBER_TO = r"(?:remember|don't forget|do not forget|never forget) to\s+"
REMEMBER = (
    r"(?:(?:remember|note|keep in mind|bear in mind|don't forget|do not forget|never forget"
    r"|make a (?:mental )?note|take note|be aware|memori[sz]e|for the record)"
    r"(?:\s+(?:this|the following)\s*(?:[:,–—-]\s*|$)|\s*[:,–—-]?\s+that\s+|\s*:\s*)"
    r"|(?:save|store) (?:this|the following)\s*:\s*|for the record,?\s+)"
)
REMEMBER_ME = r"(?:remember|note|keep in mind|bear in mind|don't forget|do not forget),?\s+"
# "Remember, we talked about it" looks back; nothing is asked to be kept.
LOOKING_BACK = r"(?:i|we)(?:'d)?\s+(?:was|were|had|did|said|told|went|made|took|got|put|\w+ed)\b"
ABOUT_ME = r"(?:i|i'm|i've|my|we|we're|our)\b"

PASSING_LEAD = (
    r"(?:(?:just |only )?for (?:now|today|tonight|the moment|the time being)|just (?:now|today|this"
    r" (?:once|time))|this time|(?:just |only )?for this (?:one|chat|session|conversation|answer"
    r"|reply"
    r"|question|message|task|email|time|trip|week))(?:\s*,\s*|$)"
)
LEAD_INS = (
    ("wrong", WRONG),
    ("meant", MEANT),
    ("remember_to", REMEMBER_TO),
    ("remember", REMEMBER),
    ("remember_me", REMEMBER_ME),
    ("durable", DURABLE),
    ("passing", PASSING_LEAD),
    ("request", REQUEST),
    ("actually", ACTUALLY),
    ("greeting", GREETING),
    ("filler", FILLER),
)
ANY_LEAD_IN = "|".join(f"(?:{pattern})" for _, pattern in LEAD_INS)

HYPOTHETICAL = (
    r"(?:if|unless|suppose|supposing|imagine|assume|assuming|pretend|what if|as if|even if|say i"
    r"|let's (?:say|suppose|pretend|imagine|assume)|hypothetically|in case|whether|in theory"
    r"|once upon|for (?:example|instance)|e\.g)\b"
)
WHEN = r"(?:when|whenever|every time|each time|any ?time)\s+(?:i|we|i'm|we're)\b"
ASK = (
    r"(?:when|whenever|every time|each time|any ?time|if)\s+(?:i|we)\s+(?:ask|say|request"
    r"|mention|send|share|write|message|talk|discuss)\b"
)
INTERROGATIVE = (
    r"(?:do|does|did|is|are|am|was|were|can|could|would|will|should|shall|may|might|what|what's|how"
    r"|how's|which|who|who's|whom|whose|where|why|have|has|any|isn't|aren't|don't you|doesn't"
    r"|didn't"
    r"|won't you|can't you)\b"
)
TAG = (
    r"(?:and |so )?(?:right|correct|remember|isn't it|ain't it|no|yeah|yes|ok|okay|eh|huh|you know"
    r"|don't i|am i|do i|didn't i)\W*$"
)
COUNTERFACTUAL = (
    r"\b(?:if (?:i|we|you|he|she|they|it) (?:were|was|had|lived|could|would|\w+ed)"
    r"|suppose|imagine|pretend(?:ing)?|hypothetical(?:ly)?)\b"
)
WHEN_QUESTION = r"when\s+(?:do|does|did|is|are|was|were|will|should|can|would|could)\b"
# "Tom: I live in Rome" is Tom's line; "about me: I live in Rome" is not.
LINE_OF = r"(?:[\w.'-]+\s*){1,3}$"
OWN_LINE = (
    r"(?:(?:some |quick |more )?(?:about me|me|facts?|preferences?|correction|updates?|reminder"
    r"|info"
    r"|background|context|profile|fyi|note|ps|p\.s|edit|question|answer))$"
)
REPORTED = (
    r"(?:[\w'.-]+\s+){0,5}?(?:said|says|say|saying|told|tells|tell|asked|asks|wrote|writes|claims?"
    r"|claimed|thinks?|thought|believes?|believed|mentioned|suggests|suggested|replied|insists?"
    r"|insisted|quoted?|quotes|according to|heard|advised|recommended|reads|goes|sings?|lyrics)\b"
)
FICTION = (
    r"\b(?:my character|in (?:the|this|my|a) (?:story|novel|book|play|series|game|role-?play"
    r"|scenario|script|movie|song|dream|example|simulation)|the (?:narrator|protagonist|speaker))\b"
)
PASSING = (
    r"\b(?:for now|(?:just|only) (?:for )?(?:today|now|tonight|this once|this time|this one)"
    r"|this time(?: around| only)?|for today|for tonight|today only|right now|at the moment"
    r"|temporarily|for the time being|for (?:this|the current|that) (?:one|chat|session"
    r"|conversation|answer|reply|response|question|message|task|e-?mail|letter|time|trip|meeting"
    r"|call|exercise|assignment|document|version|project|prompt)|in this (?:chat|session"
    r"|conversation|answer|reply|response|message|case|instance|e-?mail)|until (?:tomorrow|tonight"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|next|then|i|we)"
    r"|for the (?:next|rest of|remainder)|this (?:week|weekend|morning|afternoon|evening)"
    r"|these days only|next time only)\b"
)
DURABLE_INSIDE = (
    r"\b(?:from now on|going forward|in (?:the )?future|always|whenever|every time|each time"
    r"|any ?time|by default|permanently|for good|at all times|when i (?:ask|say|request|mention))\b"
)
CONTROL = (
    r"(?:please\s+)?(?:(?:don't|do not|never|you don't (?:have|need) to|no need to) "
    r"(?:remember|store|save|record|memori[sz]e|retain|log|keep|note|learn)"
    r"(?: down)? (?:this|that|it|any of (?:this|that|it)|these|anything|what i|my|about)"
    r"(?: (?:conversation|chat|one|message|part|detail|session|secret|please|to memory"
    r"|in (?:your )?memory|about me|just said|say|said|am|tell|told|i (?:say|said|tell)"
    r"|[\w]+ (?:in|to) (?:your )?memory))*"
    r"\s*(?:$|[.,;:!?–—-]|\bbut\b|\band\b|\bi\b)"
    r"|don't remember my\b|(?:this|that|what i).{0,40}\boff the record\b|off the record\b"
    r"|forget (?:that )?(?:i|what i)(?: just)?(?: ever)? (?:said|told|mentioned)\b)"
)
# The same after the content. "I had it as a child but don't remember it" is about the speaker,
# and "and don't save it" may be: there a "please" or "this" is required.
CONTROL_BEHIND = (
    r"(?:[,;(–—-]|\bbut\b|\band\b|\bso\b)\s*(?:but\s+|and\s+|so\s+)?"
    r"(?:please\s+(?:don't|do not|never)\s+"
    r"(?:remember|store|save|record|memori[sz]e|retain|log|keep|note)(?: down)? (?:this|that|it)"
    r"|(?:don't|do not|no need to|you don't (?:have|need) to)\s+"
    r"(?:remember|store|save|record|memori[sz]e|retain|log|note)(?: down)? (?:this|that)"
    r"|please\s+forget\s+(?:this|that|it)|(?:that's|this is)\s+off the record|off the record)"
    r"(?:\s+(?:please|though|in (?:your )?memory|to memory|anywhere))*\s*[.!)]*$"
)
# "Translate this: …" in other languages. In Japanese the verb comes last.
_WORK_OF_HAN = (
    r"(?:翻[译譯]|修改|[润潤]色|改[写寫]|[总總][结結]|校[对對]|概括|[缩縮][写寫]|[扩擴][写寫]|[续續][写寫]|批改|仿[写寫]"
    r"|(?:(?:この|次の|以下の?|下記の?|下の)[^:：\n]{0,40})?(?:翻訳|校正|要約|添削|和訳|英訳))"
)
# "Correct the following text." has no colon.
_WORK_ON_WHAT_FOLLOWS = (
    rf"{_WORK_OF_HAN}[^:：\n]{{0,12}}(?:以下|下面|下列)[^:：\n]{{0,40}}$"
    rf"|[把将將]?(?:以下|下面|下列|次の|下記)[^:：\n]{{1,40}}{_WORK_OF_HAN}[^:：\n]{{0,20}}$"
)
_WORK_ON = (
    r"(?:übersetz|korrigier|verbesser|fasse? .{0,40}zusammen|formulier|überprüf|lektorier|traduc"
    r"|tradu[iz]|corrig|corríg|corrija|corr[ei]gg|resum|résum|riassum|reformul|riformul|riscriv"
    r"|reescrib|reescrev|réécri|mejora|melhor[ae]|parafras|escr[ií]b[ea]|escrev[ae]|redact[ae]|redij"
    r"|revis|vertaal|verbeter|corrigeer|herschrijf|herformuleer|redigeer|vat .{0,40}samen|перевед"
    r"|исправ|перепиш|проверь|улучши|отредактир|перефразир|сократи"
    r"|améliore|raccourci|simplifie[rz]?\s|relis\s|relire|complète|migliora|accorcia|semplifica"
    r"|rileggi|completa\s"
    # "Write a story: my name is Otto": the text after the colon is the story's.
    r"|schreibe?\s+(?:(?:mir|uns|bitte)\s+)*(?:eine?[nmrs]?|de[nmrs]|die|das)\s"
    r"|schrijf\s+(?:(?:me|mij|alsjeblieft|even)\s+)*(?:een|de|het)\s|напиши"
    rf"|(?:[把将將用][^:：\n]{{0,40}})?{_WORK_OF_HAN})"
)
# "Here is the letter: …".
_SHOWN = (
    r"(?:voici|voilà|ecco)\s+(?:(?:le|la|l'|les|un|une|mon|ma|il|lo|i|una|il mio|la mia)\s?)?"
    r"(?:texte|lettre|e-?mail|message|histoire|article|paragraphe|extrait|dialogue|poème|chanson"
    r"|phrase|brouillon|transcription|testo|lettera|messaggio|storia|articolo|paragrafo|estratto"
    r"|dialogo|poesia|canzone|frase|bozza|trascrizione)"
)
MATERIAL = (
    r"(?:(?:can|could|would|will) you |i (?:want|need) you to |please |help me )*"
    r"(?:translate|proofread|rewrite|re-write|rephrase|paraphrase|summari[sz]e|edit|improve|polish"
    r"|correct|review|check|fix|grade|analy[sz]e|explain|revise|shorten|expand|continue|reply to"
    r"|respond to|critique|evaluate|extract|format|read|use|take|here(?:'s| is| are)|below)\b"
    r".{0,200}?\b(?:this|the following|these|below|following|here|my|the|our|a|an)\b"
    r".{0,160}:\s*$|.{0,200}\b(?:the following|below|as follows|draft|e-?mail|essay|letter|article"
    r"|transcript|text|prompt|script|bio|resume|cover letter|paragraph|story|poem|lyrics|intro"
    r"|template|dialogue|post)\b[^.]{0,80}:\s*$"
)
INLINE_MATERIAL = (
    r"(?:(?:bitte|por favor|per favore|s'il te pla[iî]t|s'il vous pla[iî]t|alsjeblieft|пожалуйста"
    r"|[请請]|麻[烦煩]你?|你?能不能|可以|(?:est-ce que )?(?:peux|pourrais|pouvez|pourriez|tu peux"
    r"|vous pouvez)[- ]?(?:tu|vous)?(?: m')?|bonjour|salut|ciao|merci de"
    r"|(?:mi )?(?:puoi|potresti|può|potrebbe)|aide-moi à|aiutami a)[, ，]*){0,3}(?:[帮幫][我忙])?"
    rf"(?:(?:{_WORK_ON}|{_SHOWN})[^:：\n]{{0,160}}[:：]|{_WORK_ON_WHAT_FOLLOWS})"
    r"|(?:(?:please|hi|hello|hey|ok|now|so|then|can you|could you|would you|will you|help me"
    r"|i want you to|i need you to)[, ]+)*(?:translate|proofread|rewrite|re-write|rephrase"
    r"|paraphrase|summari[sz]e|edit|improve|polish|correct|fix|grade|analy[sz]e|revise|shorten"
    r"|expand|continue"
    r"|reply to|respond to|critique|evaluate|review|explain|complete|convert"
    r"|classify)\b[^:\n]{0,160}:"
)


_TALK = r"(?:chat|session|conversation|talk|discussion|thread)"
_LIMIT = (
    rf"\b(?:(?:just |only )?(?:for|in|during|throughout) (?:the rest of )?(?:this|our|the current)"
    rf" {_TALK}(?: only)?)\b,?"
)
_LASTING = (
    r"\b(?:for now|for the time being|for the moment|temporarily"
    r"|(?:just |only )?(?:for )?(?:today|tonight)(?: only)?"
    r"|until (?:tomorrow|tonight|then|i (?:say|tell)|further notice))\b"
)
_ONCE = (
    r"\b(?:this (?:once|time)|for (?:this|that) (?:one|answer|reply|response|question|message"
    r"|e-?mail|letter)|in this (?:answer|reply|response|message|e-?mail))\b"
)


def within_session(text: str) -> str:
    """Return a turn with the words that limit it to the session replaced by spaces.

    Positions stay the same.
    """
    said = text
    for match in patterns.compile(_LIMIT, ignore_case=True).finditer(text):
        start, end = match.span()
        said = f"{said[:start]}{' ' * (end - start)}{said[end:]}"
    return said


def lasts_for_session(text: str) -> bool:
    """Return whether a statement for the moment holds until the end of the session.

    Args:
        text: The turn with the statement.
    """
    lasting = patterns.compile(_LASTING, ignore_case=True).search(text) is not None
    return lasting and patterns.compile(_ONCE, ignore_case=True).search(text) is None
