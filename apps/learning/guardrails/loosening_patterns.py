"""Patterns of sentences that loosen guardrails, in English and in the German that instructions use."""

# One rule per line, however long, because rules are read and changed one at a time.
# ruff: noqa: E501
# fmt: off
import re
from typing import Final

CLAUSE_BREAK: Final = re.compile(r"\s*[,;:.!?]+\s+(?!dass\b|ob\b|that\b|whether\b)|\s+(?:and|then|but|und|aber|dann)\s+")
NEGATION_WORDS: Final = (
    r"never|do not|don't|dont|does not|must not|mustn't|should not|shouldn't|may not|cannot|can't|not|no|nothing|nobody|without|avoid\w*|refrain|instead of|rather than|stop"
    r"|nie|niemals|nicht|kein\w*|nichts|niemand\w*|ohne|vermeide\w*|statt"
)
_REDUCTION_WORDS: Final = (
    r"skip\w*|bypass\w*|circumvent\w*|ignor\w*|omit\w*|suppress\w*|hid(?:e|ing)|conceal\w*|withhold\w*|delay\w*|postpon\w*|defer\w*|discourag\w*|dissuad\w*|deflect\w*|minimi[sz]\w*"
    r"|reduc\w*|limit|evad\w*|sidestep\w*|dodg\w*|work around|get around|go around|disabl\w*|forgo|leave out|refus\w*|declin\w*|deny|denying|resist|hold off|put off|secret|out of"
    r"|downplay\w*|overlook\w*|talk \w+ out of|uberspring\w*|umgeh\w*|verschweig\w*|verheimlich\w*"
)
# Phrases in which two negating words do not negate.
NEUTRAL_NEGATIONS: Final = re.compile(
    r"\b(?:(?:do not|don't|never) (?:forget|hesitate|fail)|not only|no later than|no longer than|cannot (?:find|solve|answer|help|see|tell|read|access)|without (?:discussion|delay|argu\w+))\b"
)
NEGATIONS: Final = re.compile(rf"\b(?:{NEGATION_WORDS}|{_REDUCTION_WORDS})\b")
# German places the negation after the verb.
TRAILING_NEGATION: Final = re.compile(r" (?:(?:bitte|das|es|sie|ihn|den fall) )?(?:nie|niemals|nicht|keinesfalls|niemandem)\b")

_PERSON: Final = r"(?:human\w*|persons?|people|colleague\w*|manager\w*|supervisor\w*|operator\w*|staff|(?:\w+ )?team|specialist\w*|kolleg\w*|mensch\w*|vorgesetzt\w*)"
_ARTICLE: Final = r"(?:(?:a|an|the|your|any|another|real|einen?|den) ){0,2}"
HANDOVER: Final = re.compile(
    r"\b(?:escalat\w*|eskalier\w*|hand(?:ing|ed)? (?:\w+ ){0,3}(?:over|off)|handover|handoff|(?:call|bring|brought)(?:ed)? in"
    rf"|(?:transferr?\w*|pass\w*|forward\w*|refer\w*|connect\w*) (?:\w+ ){{0,3}}(?:on )?(?:to|with) {_ARTICLE}{_PERSON}"
    rf"|(?:involv\w*|call\w*|ask\w*|consult\w*|inform\w*|tell\w*|contact\w*) (?:for )?{_ARTICLE}{_PERSON})\b"
)
RARE_ESCALATION: Final = re.compile(
    r"\b(?:escalation|handing over|escalating)\b.{0,40}\b(?:last resort|not (?:needed|necessary|wanted)|optional|unnecessary|failure|undesirable|discouraged)\b"
    r"|\b(?:only|rarely|seldom|hardly ever) (?:escalate|hand over|transfer)\b(?! to)"
    r"|\b(?:escalate|hand over) (?:only |very )?(?:rarely|seldom)\b|\b(?:escalate|hand over)\b.{0,20}\bonly (?:if|when|after|as)\b"
    r"|\b(?:no (?:colleague|human|person|manager|supervisor)\w*|none|nobody) (?:is|are) (?:available|there|free)\b"
)
HANDLES_ALONE: Final = re.compile(
    r"\b(?:handle|solve|settle|decide|resolve)\b.{0,20}\b(?:every|all|legal|complaint\w*|dispute\w*|threat\w*|angry)\b.{0,40}\b(?:yourself|alone|on your own)\b"
)
HANDOVER_PREPARATION: Final = re.compile(r"\b(?:without|before|until)\b.{0,30}\b(?:number|summary|name|details?|address|reason|notes?|account|e-?mail)\b")

_IS_AI: Final = r"(?:an? )?(?:ai\b|a\.i\.|artificial|(?:chat)?bots?\b|machine\b|robot\w*|automat\w+|language model|computer\b|virtual assistant|ki\b|maschine|not (?:a )?(?:human|person))"
_AI_OR_HUMAN: Final = rf"(?:{_IS_AI}|(?:a )?(?:human|person)\b)"
_ASKED: Final = r"(?:asked|asks|ask|wants? to know|question)"
_TELLS: Final = r"(?:say\w*|tell\w*|admit\w*|disclos\w*|reveal\w*|confirm\w*|stat(?:e|ing)|acknowledg\w*|let\b.{0,15}\bknow|learn|find out|know|sag\w*|verrat\w*|erwahn\w*)"
_MENTIONS: Final = r"(?:mention\w*|bring\w* up|volunteer\w*|introduc\w* yourself|describ\w* yourself|identify\w* yourself|point\w* out)"
REVEALS_AI: Final = re.compile(rf"\b{_TELLS}\b.{{0,40}}?\b(?:{_IS_AI})")
MENTIONS_AI: Final = re.compile(rf"\b{_MENTIONS}\b.{{0,40}}?\b(?:{_IS_AI})")
BEING_AI: Final = re.compile(
    rf"\bbeing (?:{_IS_AI})|(?<!whether )(?<!if )\b(?:you are|that you're|du) (?:eine? )?(?:{_IS_AI})|\b(?:repl(?:ies|y)|answers?|messages?) (?:are|is|comes?) .{{0,15}}?(?:{_IS_AI})"
)
UNPROMPTED: Final = re.compile(r"\b(?:(?:unless|until) .{0,20}(?:ask|sincerely)|unprompted|of your own accord|proactively|by yourself)")
EVEN_WHEN_ASKED: Final = re.compile(rf"\b(?:even (?:if|when) .{{0,20}}{_ASKED}|when .{{0,20}}{_ASKED})")
POSES_AS_HUMAN: Final = re.compile(
    r"\b(?:claim\w*|pretend\w*|say|saying|act\w*|pos(?:e|ing)|introduc\w*|present\w*|impl(?:y|ies|ying)|sign|insist\w*|behaupte\w*|gib dich)\b.{0,40}?"
    r"\b(?:(?:a |to be |are |real |as )(?:human|person|man|woman|member of staff|employee|colleague|real)|(?:ein )?mensch|(?:person|human|colleague) (?:reads|writes|answers|checks)|human name)\b"
)
INTRODUCED_AS_HUMAN: Final = re.compile(rf"^introduce yourself as (?!{_IS_AI}|the |our )\w+, (?:a|an|the|your) (?!{_IS_AI})")
NEVER_PREFIX: Final = re.compile(r"(?:never|do not|don't|nie) (?!answer)")
EVADES_AI_QUESTION: Final = re.compile(
    rf"\b(?:change the subject|chang\w+ the topic|dodg\w*|deflect\w*|evad\w*|ignor\w*|joke|do not answer|don't answer)\b.{{0,60}}?{_AI_OR_HUMAN}"
    rf"|{_ASKED}.{{0,40}}?{_AI_OR_HUMAN}.{{0,30}}\b(?:change the subject|dodge|deflect|evade|ignore|joke|do not answer|don't answer)\b"
)

REVIEW_STEP: Final = re.compile(
    r"\b(?:approv(?:al|e|ed|ing)s?|sign-?off|(?:the|any|human|for|manager's|supervisor's|a|your) review(?:ers?|ing)?\b(?! pages?)|reviewers|permission|is (?:reviewed|approved)"
    r"|(?:been|having|anyone|anybody|somebody|someone|colleague) (?:reviewed|approved|checked)|verif\w+|identity|double-?check\w*|audit\w*|four eyes|freigabe\w*|genehmig\w*"
    r"|(?:log|record|document|report)(?:ging|ing)? (?:\w+ ){0,3}(?:calls?|complaints?|errors?|mistakes?|failures?|look-?ups?|problems?|incidents?))\b"
)
REVIEW_NOT_NEEDED: Final = re.compile(
    r"\b(?:approval|sign-?off|review|permission|freigabe)\b.{0,20}\b(?:not (?:needed|necessary|required)|optional|unnecessary|later|afterwards)\b"
    r"|\bapprove (?:\w+ )?(?:your own|yourself)|\bapprove\b.{0,20}\byourself\b|\bmissing (?:approval|answer)\b.{0,20}\b(?:yes|approv\w*|granted|consent)"
    r"|\b(?:reviewers?|colleagues?|operators?|auditors?)\b.{0,20}\b(?:overlook|miss|not (?:see|notice))\b|\b(?:approvals?|reviews?)\b.{0,60}\bwithout (?:them|it)\b"
    r"|\bleave (?:\w+ ){1,5}out of the (?:report|log|record|notes?|summary)\b"
)
BEFORE_REVIEW: Final = re.compile(r"\bbefore (?:it|they|anyone|somebody|anybody|a \w+|the \w+) (?:has been |have been |is |are |has )?(?:review|approv|check)")
WAITS_FOR_REVIEW: Final = re.compile(rf"\b(?:{NEGATION_WORDS}|wait)\b[^,;.]{{0,60}}\bbefore\b|^without\b[^,]*, .*\b(?:{NEGATION_WORDS})\b")

METRIC_GAMING: Final = re.compile(
    r"\b(?:ask|beg|press|push)\b.{0,30}\b(?:five|5|stars?|good rating|top rating|positive)\b"
    r"|\b(?:mark|set|close|report|count)\b.{0,40}\b(?:resolved|solved|successful|done)\b.{0,40}\b(?:even if|even though|before|although|unless|anyway|regardless)\b"
    r"|\b(?:close|end|finish)\b.{0,30}\b(?:early|quickly so|before the customer|so that it counts|even if)\b|\bso that (?:it|they|the \w+) counts?\b"
    r"|\bbefore (?:the customer|they|anyone) can (?:complain|rate|ask|object)\b|\b(?:discourage|dissuade|keep|stop|prevent)\b.{0,30}\bfrom (?:leaving|giving|rating|complaining|writing)\b"
)
COMPLAINT_HELP: Final = re.compile(
    r"\b(?:mention|tell|explain|show|say|point|inform|help)\b.{0,40}\b(?:(?:file|make|lodge|write) (?:a )?complaints?|complain|ombudsman|(?:their|his|her) rights?)\b"
)

_RULES: Final = r"(?:contract|rules?|instructions?|guidelines?|polic(?:y|ies)|persona|restrictions?|limits?|regeln?|vorgaben)"
RULE_OVERRIDE: Final = re.compile(
    r"\b(?:ignor\w*|disregard\w*|forget\w*|overrid\w*|break\w*|violat\w*|bend\w*|overrul\w*|set aside|work around|ignorier\w*|missacht\w*)"
    rf" (?:(?:the|all|any|these|those|your|our|every|alle|die) )?(?:\w+ )?{_RULES}\b"
)
RULES_OPTIONAL: Final = re.compile(rf"\b{_RULES}\b.{{0,40}}\b(?:may|can|should|does|do) (?:be )?(?:ignored|skipped|broken|bent|disregarded|not apply)\b")

GIVING_VERB: Final = re.compile(
    r"\b(?:offer|give|grant|issue|promise|guarantee|pay|waive|compensate|reimburse|send|hand out|award|add|gewahre|erstatte|versprich)\b"
    r"|(?:^|\b(?:to|may|can|must|should|will|always|please|you|just|simply|immediately) )(?:refund|credit)\b"
)
FAVOURS: Final = re.compile(
    r"\b(?:refund(?:s|ed)?|compensat\w*|voucher\w*|coupon\w*|discount\w*|credits?|money|cash|free|goodwill|gift\w*|reimburse\w*|fees?|upgrade\w*|rabatt\w*|gutschein\w*|erstattung\w*|price|bonus)\b"
)
BOUNDLESS: Final = re.compile(
    r"\b(?:always|any|every(?:body|one)?|each|all|full|double|twice|triple|whatever|whenever|regardless|immediately|at once|even if|as much|in any case|for life|forever|generous\w*|unlimited|no questions|immer|jede[mnrs]?|sofort)\b"
)
PROMISES: Final = re.compile(r"\b(?:promise|guarantee|versprich)\b")
ONLY_CONDITION: Final = re.compile(r"\bonly\b|\bbefore you (?:offer|give)\b")
