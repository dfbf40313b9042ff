"""Rules on the wording of commands to a model, for texts that did not come from the user.

Each pattern reads a view of :mod:`simonides.hygiene.injection.obfuscation`, in lower case. Users
write wordings such as "remember: always …" as well, so these are left to the classifier.
"""

from __future__ import annotations

from typing import NamedTuple


class PoisonRule(NamedTuple):
    """One way to command a model, with its name in findings, marks and events."""

    name: str
    pattern: str


def _rule(name: str, *patterns: str) -> PoisonRule:
    return PoisonRule(name, "|".join(patterns))


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


_AI = (
    r"(?:(?:the|any|all|an?|your|this|every)\s+)*"
    r"(?:(?:ai|llm)\s+)?(?:ai|llm|a\.i\.|assistant|language model|chat ?bot|bot|agent|gpt|model"
    r"|summari[sz]er|copilot)s?"
)
_OLD = _any(
    "all any every everything the of these those your my our previous prior above earlier"
    " preceding existing original initial system safety current other past and security ethical"
    " built-in content"
)
_ORDERS = _any(
    "instructions? directions? directives? guidelines? rules? prompts? commands? programming"
    " restrictions? policy policies constraints? orders training context safeguards?"
)
_DROP = (
    r"(?:ignore|disregard|forget|neglect|override|bypass|skip|drop|discard|dismiss|nullify"
    r"|set aside|do not (?:follow|obey)|don'?t (?:follow|obey)|stop (?:following|obeying)"
    r"|pay no attention to)"
)
_SHOW = (
    r"(?:reveal|show|print|output|repeat|display|dump|leak|expose|disclose|share|recite|paste"
    r"|tell me|give me|write out|list|quote|summari[sz]e|translate|copy|provide|return)"
)
_INSIDE = (
    r"(?:(?:system|hidden|initial|original|secret|internal|core|base|starting|developer|full|exact"
    r"|entire)\s+)+(?:prompts?|messages?|instructions?|guidelines?|configuration|directives?|rules)"
)
_SECRETS = (
    r"(?:passwords?|credentials?|api[ _-]?keys?|(?:access |auth )?tokens?|secrets?"
    r"|customer (?:list|data|database)|user data|private keys?|(?:chat|conversation) history"
    r"|\.env|env(?:ironment)? variables|contacts|contents of)"
)
_TO = (
    r"(?:to|at|via)\s+(?:https?://|www\.|[\w.+-]+@|this (?:url|address|endpoint|server)"
    r"|the (?:url|address|attacker))"
)
_LATER = (
    r"(?:future|later|subsequent|following)\s+(?:conversations?|sessions?|tasks?|responses?"
    r"|repl(?:y|ies)|answers?|users?|reports?|requests?)"
)
_MUST = _any("must include append add mention recommend send say insert end trust always never")
_FREE = _any("restrictions filters guidelines limits rules moral policy policies")
_UNBOUND = (
    rf"(?:dan|unrestricted|unfiltered|uncensored|jailbroken|developer mode|bound by"
    rf"|without (?:any )?{_FREE}|no (?:\w+ )?{_FREE})"
)
_CIPHER = r"(?:base ?64|rot ?13|hex(?:adecimal)?|binary|morse|cipher|string)"
_NOTE = _any("note message instructions? attention important reminder notice directive hint")

ADDRESSED = "addressed"

POISON_RULES: tuple[PoisonRule, ...] = (
    _rule(
        "override",
        rf"\b{_DROP}\s+(?:{_OLD}\s+){{1,6}}{_ORDERS}\b",
        rf"\b{_DROP}\s+(?:everything|anything|all)\s+(?:above\b|before this\b|(?:that\s+)?you\s+"
        r"(?:were|was|have been|learned|learnt|know about yourself))",
        rf"\b(?:previous|prior|earlier|original)\s+{_ORDERS}\s+(?:are|is|do|have)\s+(?:been\s+)?"
        r"(?:void|not apply|no longer|cancel|superseded|obsolete)",
    ),
    _rule(
        "system-prompt",
        rf"\b{_SHOW}\b[^.\n]{{0,40}}\b(?:your|its)\s+{_INSIDE}",
        rf"\b{_SHOW}\s+(?:me\s+)?(?:the|all|every)\s+(?:[\w' ]{{0,20}}\s)?"
        r"system (?:prompt|message)s?\b",
        r"\b(?:repeat|print|output|copy)\s+(?:everything|all|the (?:text|words?|lines?|content))"
        r"\s+(?:of the text\s+)?(?:above|before this)",
        r"\binstructions?\s+you\s+(?:were|have been)\s+given\b",
    ),
    _rule(
        "chat-delimiter",
        r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id"
        r"|end_header_id|end|begin_of_text)[^|>]{0,20}\|>",
        r"\[/inst\]|<</?sys>>|</?(?:system|assistant)(?:_prompt|_message)?>\s*\S",
        # Closes a block (ours too) that the text did not open; a digest pasted whole opens it.
        r"\A[^<]*</(?:memory-data|tool_(?:result|response|output)s?|function_results?)>",
        r"\"role\"\s*:\s*\"(?:system|developer)\"\s*[,;. ]*\s*\"content\"\s*:",
        r"(?m:^\s*#{2,}\s*(?:new |system |end of )?(?:system|instructions?|user input|prompt)"
        r"\s*#*\s*(?::|$))",
        r"\[\s*(?:end of |/)?(?:system|admin|developer|instructions?|prompt)\s*"
        r"(?:message|note|override|prompt|instruction)?\s*\]\s*:?\s*\w+\s+\w+",
    ),
    _rule(
        "tool-call",
        r"<(?:tool_call|function_call|function_calls|tool_use|invoke|tool_code)\b",
        r"\"(?:tool|tool_name|function|function_call|tool_calls)\"\s*:[^\n]{0,200}"
        r"\"(?:arguments|parameters|args|input)\"\s*:",
    ),
    _rule(
        ADDRESSED,
        rf"\b{_NOTE}s?\s*(?:to|for|:)\s*{_AI}"
        r"(?:\s+(?:reading|processing|summari[sz]ing)[^:.\n]{0,40})?\s*[:,.!-]",
        r"\bif you are an? (?:ai|llm|a\.i\.|language model|ai assistant|ai agent|chat ?bot)\b",
        rf"\bmessage from [^\n]{{1,60}}\bto you,?\s+{_AI}\b",
        rf"\bwhen {_AI}\s+(?:reads?|process|summari)",
    ),
    _rule(
        "exfiltration",
        r"\b(?:send|e-?mail|forward|post|upload|exfiltrate|transmit|leak|submit)\b[^.\n]{0,60}"
        rf"\b{_SECRETS}\b[^.\n]{{0,60}}\b{_TO}",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}[?&][\w-]{1,30}="
        r"(?:\{|\[|<|\$|data|secret|history|conversation)",
    ),
    _rule(
        "planted",
        rf"\b(?:in|for|to|of)\s+(?:all|every|any|each)\s+(?:of your\s+)?{_LATER}\b[^.\n]{{0,80}}"
        rf"\b{_MUST}\b",
        r"\b(?:update|overwrite|modify|rewrite)\s+your\s+(?:long-?term\s+)?memory\b",
        r"\b(?:save|store|write|add|put)\s+(?:this|the following|that)\s+(?:in|to|into)\s+your\s+"
        r"(?:long-?term\s+)?memory\b",
    ),
    _rule(
        "persona",
        r"\byou are (?:now|no longer|from now on|going to (?:act|be|pretend))\b[^.\n]{0,80}"
        rf"\b{_UNBOUND}\b",
        r"\bdo anything now\b",
        r"\b(?:ai|model|assistant|bot|llm)\s+(?:with|that has|that have|without|who has)\s+"
        rf"(?:no|any|zero)\s+(?:\w+\s+)?{_FREE}",
        r"\b(?:developer|god|jailbreak|unrestricted|dan)\s+mode\s+(?:is\s+(?:now\s+)?)?"
        r"(?:enabled|activated|on|unlocked)\b",
    ),
    _rule(
        "encoded-command",
        r"\b(?:decode|decrypt|decipher|unscramble|deobfuscate|translate)\b[^.\n]{0,60}"
        rf"\b{_CIPHER}\b[^\n]{{0,60}}\b(?:follow|execute|obey|act on|do what|run|comply"
        r"|carry out)\b",
    ),
)
"""Every rule on wording; :mod:`simonides.hygiene.injection.detect` finds invisible characters."""
