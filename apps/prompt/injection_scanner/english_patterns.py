"""Rules for English prompt injections: their first words, and what follows. Rules do not decide what happens to a text."""

# One rule per line, however long, because rules are read and changed one at a time.
# ruff: noqa: E501
# fmt: off
from typing import Final

from apps.prompt.injection_scanner.rule_language import Opening, RuleSource, Suspicion

ENGLISH_WORDS: Final = {
    # References to earlier instructions, and the instructions themselves.
    "THAT": "all|any|every|your|previous|previously|prior|above|earlier|preceding|former|foregoing|existing|original|initial"
    "|past|given|system|aforementioned|these|current",
    "THE": "all|any|every|each|of|the|these|those|this|that|your|its|about|previous|previously|prior|above|earlier|preceding"
    "|former|foregoing|existing|original|initial|current|past|old|other|given|provided|system|built|in|internal|safety"
    "|content|ethical|moral|hidden|default|last|first|entire|whole|and|or|such|said|usual|normal|own|received|stated",
    "ORDERS": "instructions?|instrutions|instuctions|instrucions|directives?|directions|prompts?|programming|guidelines?"
    "|guardrails|commands?|rules?|training|constraints|restrictions|protocols?|filters?|safeguards",
    "MATTER": "tasks?|assignments?|informations?|context|documents?|articles?|artikels|content|conversations?|texts?|orders"
    "|messages|inputs?|statements|requests|sentences|thoughts|knowledge|facts|discussions?|sources",
    "FORGET": "ignore|ignoring|disregard|disregarding|forget|forgetting|override|overriding|bypass|bypassing|neglect"
    "|dismiss|discard|abandon|overrule|nullify|disobey|circumvent|unlearn|scrap",
    "REVEAL": "show|reveal|print|output|display|repeat|tell|give|share|expose|leak|disclose|dump|write|recite|list|return"
    "|provide|echo|quote|copy|summarize|summarise|translate|paraphrase|restate|describe|explain|send|state|say|spell|encode"
    "|type|reproduce|recall|divulge|publish|convert|rephrase|read|post|reiterate|showing|revealing|printing|repeating|spill"
    "|transcribe|rewrite|release|outline|present|report|relay|confess|exhibit",
    "SAY": "say|print|output|respond|reply|answer|return|write|speak|echo|state|type|display",
    "REPLY": "responses?|answers?|reply|replies|outputs?|completion|summary|translation",
    "SECRET": "(?:secret|hidden|confidential|forbidden)~@1(?:key|code|word|password|phrase|message|information|data|passphrase"
    "|token|instructions?|prompt|number|flag|value)s?|secretkey|access~?codes?|passphrases?|pass~?codes?|code~?words?"
    "|api~?keys?|magic~words?|your~password|the~password~(?:you|is|above)|security~code|the~secret|secrets|your~secret|private~keys?"
    "|credentials",
    "ADDRESS": r"(?:\w@\w|https?:|www\.|\w\.(?:com|net|org|io|xyz|ru)\b)",
}
_O, _N, _E = Suspicion.OVERRIDE, Suspicion.NEW_TASK, Suspicion.EXTRACTION

_OVERRIDE_RULES: Final[tuple[tuple[Suspicion, str, str] | tuple[Suspicion, str, str, Opening], ...]] = (
    (_O, "<FORGET>", r"~(?:<THE>~){0,3}?<THAT>~(?:<THE>~){0,3}?<ORDERS>\b"),
    (_O, "<FORGET>", r"~(?:the~)?(?:instructions?|prompts?|directions|directives|commands|programming)\b"),
    (_O, "<FORGET>|drop|leave|skip", r"~(?:about~)?(?:all|any|every|entire|the~entire)~(?:<THE>~){0,4}?<MATTER>\b"),
    (_O, "<FORGET>", r"~(?:<THE>~){1,3}?<MATTER>~(?:above|before|provided|you~(?:were|have|got|received)|and~instead)\b"),
    (_O, "<FORGET>", r"~(?:about~)?(?:everything|anything|all|whatever|what)~(?:that~|which~|of~|the~)?(?:has~been~)?(?:above|before|previous|previously|prior|earlier|until~now|i~said|i~told|was~said|said|written|came|else~before|preceding)\b"),
    (_O, "<FORGET>", r"~(?:about~)?everything~(?:you|we|i)~@2(?:know|told|learned|learnt|discussed|talked|believe|said|remember)\b"),
    (_O, "<FORGET>", r"~(?:the~|all~)?(?:above|foregoing|preceding|aforementioned)(?:~(?:and|instead|but|then|now|text|content|conversation|prompt|context|directions|sentences?|paragraphs?)\b|\s?[.,:;!\n]|\s*\Z)"),
    (_O, "do|don|dont|never|stop|quit|without|not", r"(?:~not|'t)?~(?:follow|following|obey|obeying|heed|adhere~to|adhering~to|comply~with|stick~to|look~(?:in|at)|listen~to)~(?:<THE>~){0,3}?<THAT>~(?:<THE>~){0,3}?(?:<ORDERS>|<MATTER>)\b|~(?:look~in|look~at|use)~the~(?:documents|articles)"),
    (_O, "despite|regardless|notwithstanding|contrary|irrespective|deviating|deviate|depart", r"~(?:of~|to~|from~)?(?:what|whatever|all|any|your|the|everything)~@4(?:told|instructions?|instructed|prompt|guidelines|programming)\b"),
    (_O, "change|modify|update|alter|replace|rewrite|overwrite|reset|revise|erase|delete|wipe|clear|remove|cancel|drop|lose|skip|void|suspend|disable|lift|switch~off|break|turn~off", r"~(?:all~)?(?:of~)?your~(?:<THE>~){0,3}?(?:instructions?|prompt|programming|guidelines|rules|memory|context|directives|restrictions|filters?|training|thoughts|safeguards|limitations|limits|character)\b"),
    (_O, "forget|ignore|disregard", r"~everything(?:\s?[,;:!-]|~(?:and|then|now|but))~?@2(?:just|only|write|say|print|output|tell|start|begin|reply|respond|answer|show)\b"),
    (_O, "disregarding|ignoring", r"~(?:the~|all~|any~|your~)(?:provided~|given~)?<MATTER>\s?,", Opening.SENTENCE),
    (_O, "set|put", r"~aside~(?:<THE>~){0,4}?<ORDERS>\b"),
    (_O, "pay", r"~no~(?:attention|heed|mind)~to~(?:<THE>~){0,4}?(?:<ORDERS>|<MATTER>)\b"),
    (_O, "no", r"~longer~(?:have~to|need~to|must|required~to)~(?:follow|obey|comply|adhere)\b"),
    (_O, "bypass|disable", r"~(?:all|any|the)~(?:security~|safety~|verification~)?(?:checks|safeguards|security|authentication|guardrails)\b", Opening.ORDER),
    (_O, "prompt|restrictions|guardrails", r"~(?:has|have)~been~(?:updated|changed|replaced|overridden|lifted|removed|disabled)\b"),
    (_O, "policy", r"~update\s?:"),
    (_O, "answer|according", r"~(?:@3not~)?(?:by|from|with)~your~own~knowledge\b"),
    (_O, "remove|erase|delete|put|get|leave|leaving|throw|push", r"~(?:<THE>~){1,4}?(?:<MATTER>|<ORDERS>)~(?:behind|out~of~your)\b"),
)
_NEW_TASK_RULES: Final[tuple[tuple[Suspicion, str, str], ...]] = (
    (_N, "your", r"~(?:new|updated|real|actual|true|only|sole|main|primary|next|first)?~?(?:instructions?|task|goal|job|role|purpose|objective|mission|orders|function)~(?:is|are|will|has|have)~(?:now|changed|only|be)\b"),
    (_N, "your", r"~(?:new|updated|real|actual|true)~(?:system~)?(?:instructions?|task|goal|objective|mission|orders|prompt)\b"),
    (_N, "new|updated|additional|further|extra|revised|following|special|secret|real|modified|override|overriding", r"~(?:system~)?(?:instructions?|directives?|tasks?|prompt|rules|objective|mission|command)\s*[:=>\n-]"),
    (_N, "new|further|more|other|additional|different", r"~(?:instructions?|tasks?|orders|assignments?)~(?:now~)?(?:follow|are~followed|for~you|come|from~now|is~to|are~as)\b"),
    (_N, "follow|obey|execute|adhere|perform|complete|do", r"~(?:strictly~)?(?:to~|only~)?(?:the~|this~|these~|my~)(?:new~)?(?:following|next|new|updated|below|subsequent)~@1(?:<ORDERS>|tasks?|orders)\b"),
    (_N, "focus|concentrate", r"~(?:only~)?on~(?:your|the|this|a|my)~(?:new|next|following|other|real)\b"),
    (_N, "start|starting|begin|beginning|continue", r"~@3(?:with|on)~(?:a|the|your|this)~(?:new|different|other)~(?:task|instruction|assignment|topic)"),
    (_N, "challenge|task|job|question", r"~for~you(?:\W{1,6}|~now~)(?:answer|write|print|say|tell|ignore)\b"),
    (_N, "well|very|great|excellent|congratulations|perfect|simply|fantastic|good|awesome|nice|amazing|brilliant|wonderful", r"(?:~\w{1,15}+){0,6}?\s?[.!,]{1,3}\W{0,6}(?:(?:that|this|it)'?~?(?:is|was|s)~(?:done|enough|ok|okay|settled)\W{1,6})?(?:but~)?now~@2(?:new|further|write(?!~my|~me)|focus|forget|show|ignore|print|say|instructions|tasks|another)\b"),
    (_N, "stop|halt|wait|attention|important|urgent|no", r"\s{0,2}[-:,.!*]{1,8}+\W{0,6}@2(?:ignore|disregard|forget|write|print|output|say|new~instructions?|i~urgently)\b"),
    (_N, "i|we", r"~(?:have|need)~(?:a|another|your|to|some)~@3(?:new|great|another|different)~(?:challenge|task|instruction|mission|assignment)\b"),
    (_N, "help", r"~(?:me~)?with~(?:the~following|another|a~new|one~more)~(?:task|question|assignment)\b"),
    (_N, "the|this|that", r"~(?:real|actual|true|previous|above|earlier)~(?:task|instructions?|prompt|objective)~(?:is|was|were|are)\b"),
    (_N, "instead", r"\W{1,4}(?:@1)(?:print|output|say|write|respond|reply|return|answer|tell~me|do~the~following|only|just|translate|follow)\b"),
    (_N, "i", r"~(?:command|order|instruct)~you~to\b"),
    (_N, "before|after|instead~of|prior", r"~(?:to~)?(?:you~)?(?:answer|answering|doing|continuing|responding|summarizing|translating)\b@6(?:that|this|the|any)~@3(?:must|should|first|instead)~(?:print|say|output|send|call|run|execute|ignore)"),
)
_EXTRACTION_RULES: Final[tuple[tuple[Suspicion, str, str], ...]] = (
    (_E, "<REVEAL>|what|see|know|access|view|obtain|get|extract", r"~@5(?:system|initial|original|hidden|secret|pre|developer|starting|opening|base|meta|root|custom|internal|confidential|underlying|full|entire|exact|complete|first|current|above|previous|foregoing)~(?:system~|user~)?(?:prompts?|pre~?prompt|instructions?|messages?~(?:above|before|you)|directives?|system~message|programming|configuration~(?:you|above))\b"),
    (_E, "<REVEAL>|what|whats|see|know", r"(?:'s)?~@3your~@3(?:prompts?|prompt~texts?|instructions?|directives?|programming|system~message|initial~message|secrets?|training~data|instruct|preprompt|prime~directive|guardrails|hidden~rules|internal~rules|confidential)\b"),
    (_E, "repeat|print|output|echo|translate|summarize|summarise|copy|recite|display|show|quote|paraphrase|rewrite|reproduce|write|spell|list|return|restate|read|reiterate|give|rephrase|encode|convert", r"~(?:back~|out~|me~|to~me~)*(?:everything|all|the|each|any|every|this|what|these)~@3(?:texts?|words?|content|sentences?|lines?|instructions?|prompts?|messages?|everything|said|written|paragraphs?|above|rules|tokens|characters|output)~@3(?:above|preceding|prior|previous|previously|so~far|until~now|verbatim|up~to~(?:this|here|now)|before~(?:this|that|the|it|me|here)|at~the~(?:start|beginning|top)|you~(?:were|have~been)~(?:given|told|provided))\b"),
    (_E, "what|which|whats", r"(?:'s)?~@4(?:instructions?|prompts?|orders|directions|texts?|sentences?|words|lines?|told|written|said|rules|guidelines|phrases?|tokens?)~@4(?:you~(?:were|have~been|received|got|had)|were~you|did~you|have~you|are~you|above|preceding~this|before~(?:this|the~(?:text|prompt))|at~the~(?:beginning|start|top)~of~(?:this|the|your)~(?:prompt|conversation|instructions?|text|chat|context|document))\b"),
    (_E, "what|whats", r"(?:'s|~is|~was|~are|~were)~(?:the~|your~)?@2(?:secret~@1(?:key|code|word|password|phrase|message|number|information)|access~codes?(?=\s{0,2}(?:[?.!,\n]|\Z))|system~prompt|passphrase|pass~code|code~word|codeword|magic~word|hidden~\w{1,12})\b"),
    (_E, "what|whats", r"(?:'s|~is|~was|~are)~(?:written|stated|said|shown|mentioned)~@2(?:above|before|in~(?:your|the)~prompt)\b"),
    (_E, "reveal|print|output|repeat|leak|disclose|expose|divulge|spell|say|echo", r"~@3(?:the~)?passwords?\b(?!~(?:reset|with|to|by))"),
    (_E, "<REVEAL>|know|guess|confirm|want|need|get|unlock|including|include|reply|respond|answer|remind", r"~@5<SECRET>(?!~(?:reset|recovery|change|requirements?|link|policy|page|field))\b"),
    (_E, "does|is|does|do|has", r"~(?:the~|your~|it~)?<SECRET>~@2(?:start|begin|end|contain|include|rhyme|have|equal|consist|mean)\b"),
    (_E, "first|last|initial|next", r"~(?:\w{1,10}+~)?(?:words?|sentences?|lines?|characters?|letters?|tokens?|paragraphs?)~@2(?:of~|in~|from~)(?:the~|your~|this~)@2(?:prompts?|instructions?|secret|password|access|system|conversation|context|message~above)\b"),
    (_E, "start|starts|starting|begin|begins|beginning", r"~(?:with|from)~(?:the~)?(?:words?~|phrase~|sentence~)?you~are\b"),
    (_E, "verbatim|word|exact|literally", r"~@6(?:prompt|instructions|system~message)\b"),
    (_E, "full|entire|complete|exact|whole|copy|original", r"~(?:of~)?(?:the~|your~)?(?:full~|entire~|system~|whole~)?(?:prompt~texts?|prompts?|system~message)\b"),
    (_E, "prompt|system", r"~(?:texts|leak|leaking|extraction|prompt~(?:above|verbatim|word))\b"),
    (_E, "what|whats", r"~@3secret(?:s|key|~key)?\b(?!~(?:of|to|behind|santa|menu|ingredient))"),
    (_E, "<REVEAL>|see|read", r"~@3(?:the|your)~(?:system|developer|hidden|internal|initial)~(?:messages?|prompts?|instructions?|rules)\b"),
    (_E, "<REVEAL>|know|repeat|see", r"~@3what~you~(?:were|have~been|had~been)~(?:told|instructed|given|programmed|asked)\b"),
    (_E, "what", r"~did~(?:the|your)~@1(?:first|initial|original|system)~(?:message|prompt|instructions?)~(?:say|contain|tell)\b"),
    (_E, "what|which", r"~(?:are|were)~(?:the|your)~@2(?:rules|guidelines|restrictions|constraints)~(?:that~)?you~@3(?:follow|given|told|obey|programmed|operate)\b"),
    (_E, "<REVEAL>", r"~@2(?:your|the)~@4(?:rules|guidelines|prompts?|instructions|text|policy|configuration|message|above)~@2(?:word~(?:by|for)~word|verbatim|letter~by~letter|character~by~character|line~by~line)\b"),
    (_E, "<REVEAL>", r"~@5in~(?:base~?64|rot13|morse|hex|hexadecimal|binary|pig~latin|leet~?speak|reverse|ascii~codes?|emojis?)\b"),
    (_E, "complete|finish|continue", r"~(?:the|this)~(?:following~)?(?:sentence|text|phrase)\s{0,2}:"),
    (_E, "<REVEAL>|see", r"~@4(?:before|prior~to)~(?:i~started|this~conversation|my~first|the~conversation)\b"),
    (_E, "<REVEAL>|what|whats", r"(?:'s|~is|~are)?~@5your~@1(?:configuration|context~window|initiali[sz]ation|system~information|internal~\w{3,20})\b"),
    (_E, "list|show|name|enumerate|what", r"~@3(?:tools|functions|plugins)~@3you~(?:have|can)\b"),
    (_E, "what", r"~(?:are|were)~you~@1(?:not~allowed~to|instructed~to|told~to~(?:keep|hide|say|not)|forbidden|prohibited)\b"),
    (_E, "use|using", r"~@2information~(?:in|from)~the~prompt\b"),
    (_E, "hint|hints|clue|clues|riddle|rhyme|rhymes", r"~(?:about|on|for|to|of|with)~@2(?:the~|your~)?(?:secret|password|access~code|key|code|passphrase|instructions)\b"),
)

ENGLISH_PATTERNS: Final = tuple(RuleSource(*rule) for rule in (*_OVERRIDE_RULES, *_NEW_TASK_RULES, *_EXTRACTION_RULES))
