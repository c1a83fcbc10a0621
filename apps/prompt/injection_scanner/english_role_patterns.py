"""Rules for English phrases that give a model another role or other limits, or dictate its exact words."""

# One rule per line, however long, because rules are read and changed one at a time.
# ruff: noqa: E501
# fmt: off
from typing import Final

from apps.prompt.injection_scanner.rule_language import Opening, RuleSource, Suspicion

_N, _P = Suspicion.NEW_TASK, Suspicion.PERSONA
_R, _H, _X, _C = Suspicion.POLICY_REMOVAL, Suspicion.OUTPUT_HIJACK, Suspicion.EXFILTRATION, Suspicion.ENCODED_PAYLOAD
_F, _S, _T = Suspicion.FORGED_ROLE, Suspicion.FORGED_SECTION, Suspicion.FORGED_RESULT
_ORDER, _SENTENCE = Opening.ORDER, Opening.SENTENCE
_AI_WORDS: Final = "ai|assistant|chatbot|chatgpt|gpt|bot|model|machine|robot|entity|persona|character|hacker|terminal|interpreter|console|shell"

_PERSONA_RULES: Final[tuple[tuple[Suspicion, str, str, Opening], ...]] = (
    (_P, "you", r"(?:'re|~are|re)~(?:now|going~to~(?:act|be|play|pretend|roleplay))\b(?!~(?:able|connected|logged|registered|ready|subscribed|signed|eligible|chatting|speaking|on|in|free|all|booked|confirmed|set|all|scheduled|listed|checked|enrolled|covered|at|with|required|allowed|past|over|under|out|\w{3,15}ed)\b)", Opening.ANYWHERE),
    (_P, "now", r"~you(?:'re|~are|~act|~will~(?:act|be~a|play))~(?!(?:able|asking|telling|saying|charging|in|on|not|going)\b)", Opening.ANYWHERE),
    (_P, "you", r"~(?:will|must|shall|should|are~to|have~to|can)~(?:now~|only~|always~)?(?:act|behave|pretend|roleplay|role~play|impersonate|simulate|play~the)\b", Opening.ANYWHERE),
    (_P, "from", r"~(?:now|this~(?:point|moment)|here)~(?:on|onwards?|forward)\W{1,3}@3(?:you|your|every|always|respond|answer|act|speak|reply|talk|ignore|only|all|pretend|begin|known)\b", Opening.ANYWHERE),
    (_P, "henceforth|hereafter", r"\W{1,3}@2(?:you|your|respond|answer|act|all)\b", Opening.ANYWHERE),
    (_P, "act|behave|pose|function|respond|speak|answer|talk|write|reply|work|operate|serve", r"~(?:as|like)~(?:if~you|though~you|both~|an?~|my~|the~|two~|you~(?:are|have))", _ORDER),
    (_P, "you", r"~to~(?:act|behave|pose|function|respond|serve|pretend|play|roleplay|simulate|emulate|imagine)~(?:as|like|to~be|you|the~role|that~you|an?)\b", Opening.ANYWHERE),
    (_P, "pretend|roleplay|simulate|emulate|impersonate|suppose|assume|imagine", r"~(?:that~)?(?:you(?:'re|~are|~can|~have|~were)|to~be|being)~(?=(?:[^\n.?!]{0,28})(?:[.?!]|\Z))", _SENTENCE),
    (_P, "pretend", r"~(?:that~)?(?:you|to~be|we|i~am|this|there)\b", _ORDER),
    (_P, "assume|adopt|take|play|embody|enter|perform", r"~(?:on~)?(?:the|a)~(?:role|persona|identity|character|personality|part)~(?:of|and|named|called)\b", _ORDER),
    (_P, "role", r"~play(?:ing)?~(?:as|game|with~me|where~you)\b|~playing~as\b", Opening.ANYWHERE),
    (_P, "roleplay|roleplaying", r"~(?:as|with|game)\b", Opening.ANYWHERE),
    (_P, "you", r"(?:'re|~are)~(?:an?~|the~|no~longer~|not~)@4(?:evil|unrestricted|unfiltered|uncensored|amoral|immoral|jailbroken|rogue|malicious|racist|rude)\b", Opening.ANYWHERE),
    (_P, "you", rf"(?:'re|~are)~(?:no~longer|not)~(?:an?~)?@2(?:{_AI_WORDS}|bound|restricted|limited|chatgpt|claude|team)\b", Opening.ANYWHERE),
    (_P, "you", r"(?:'re|~are)(?:~\w{1,20}+){1,6}?\s?[.,?]\W{0,4}(?:how~(?:do|would|will)~you|what~(?:do|would|will)~you|who~are~you|wer~ist|as~the)\b", _SENTENCE),
    (_P, "you", r"(?:'re|~are)~(?:a~|the~)?@4(?:named|called|known~as|role~playing|roleplaying)\b", Opening.ANYWHERE),
    (_P, "your", r"~(?:new~)?name~is~(?:now~)?\w", _SENTENCE),
    (_P, "stay|stays|staying|remain|break|breaking|breaks", r"~@3(?:in~(?:their|the|your)~(?:roles?|character)|character)\b", Opening.ANYWHERE),
    (_P, "dan", r"~(?:mode|stands~for|can~do|is~able|will|has|prompt)\b|\W{1,4}(?:do~anything|which~stands)\b", Opening.ANYWHERE),
    (_P, "do", r"~anything~now\b", Opening.ANYWHERE),
    (_P, "be", r"~(?:a|an)~(?:dj|pirate|evil|hacker|rude|racist|terminal|linux|python|villain)\b", _SENTENCE),
    (_P, "let|lets", r"(?:'?s)?~(?:play~a~game|roleplay|role~play|pretend)\b", _ORDER),
    (_P, "switch|reverse|swap", r"~(?:our~|the~)?roles\b", Opening.ANYWHERE),
    (_R, "model|ai|assistant|chatbot|world", r"~without~(?:any~)?(?:restrictions?|limits|limitations|filters?|rules|censorship)\b", Opening.ANYWHERE),
    (_P, "hypothetical", r"~(?:response|answer)\b", Opening.ANYWHERE),
    (_P, "grandma|grandmother|granny", r"~@4(?:used~to|would)~(?:always~)?(?:read|tell|whisper|sing|recite)\b", Opening.ANYWHERE),
    (_P, "stay|be", r"~an?~dan\b", Opening.ANYWHERE),
    (_F, "i|im", r"(?:'m|~am)?~(?:an?~|the~)@1(?:developer|engineer|employee|researcher|admin\w{0,9})~(?:at|from|of|for)~(?:openai|anthropic|google|meta|microsoft|deepmind)\b", Opening.ANYWHERE),
    (_F, "authenticated|verified|authorized|authorised|logged~in|recognized", r"~as~(?:an?~|the~)?(?:system~)?(?:admin\w{0,9}|developer|root|superuser|creator)\b", Opening.ANYWHERE),
    (_P, "hypothetical|theoretical|fictional|imaginary|alternate|parallel", r"~(?:world|scenario|universe|situation|story|reality)~@3(?:where|in~which)~@2you\b", Opening.ANYWHERE),
    (_F, "i|im|as", r"(?:'m|~am)?~(?:your|the~original|openai|an?~openai|an?~anthropic|the~system)~(?:developer|creator|programmer|administrator|admin|owner|master|engineer|supervisor|maker)\b", Opening.ANYWHERE),
)
_POLICY_REMOVAL_RULES: Final[tuple[tuple[Suspicion, str, str, Opening], ...]] = (
    (_R, "no|without|any|free|bypass|ignore|remove|lift|disable", r"~(?:from~|of~|any~|all~|the~|your~)*(?:ethical|moral|content|safety|legal|openai|programming|community|policy|usage|built~in)~(?:@2)(?:restrictions?|limitations?|limits|filters?|censorship|guidelines|rules|boundaries|constraints|moderation|guardrails|safeguards|policies|considerations|principles|guideline)\b", Opening.ANYWHERE),
    (_R, "you", r"~(?:have|know|follow|obey|feel|receive|receives)~(?:no|zero)~@2(?:rules?|restrictions?|limits?|limitations?|filters?|boundaries|ethics|morals|guidelines|constraints|moderation|censorship)\b", Opening.ANYWHERE),
    (_R, "has|receives|with|have", r"~(?:no|zero)~@1(?:programming~guidelines|restrictions?~(?:or|and|on~what)|moderation|censorship|ethics|morals|filters?~(?:or|and)|rules~(?:or|and)|guidelines)\b", Opening.ANYWHERE),
    (_R, "unrestricted|unfiltered|uncensored|amoral|immoral|unethical|jailbroken|unmoderated|unlimited", r"~(?:and~\w{1,15}+~)?(?:ai|assistant|bot|chatbot|model|mode|responses?|answers?|version|output|language|chatgpt|gpt)\b", Opening.ANYWHERE),
    (_R, "developer|debug|god|root|sudo|maintenance|jailbreak|unrestricted|dev|override|diagnostic|privileged|superuser|opposite|admin|dan|evil|system|testing|training", r"~mode\b(?!~(?:of|in~the~(?:settings|menu)))(?=~(?:is~|has~been~|now~)?(?:enabled|activated|engaged|active|initiated|unlocked|where|output|and|to|with|in)\b|\W{0,3}(?:\Z|[.:,!\n\"')\]]))", Opening.ANYWHERE),
    (_R, "enter|enable|activate|initiate|engage|unlock|entering|switch|switching|you|in", r"~(?:into~|to~|are~(?:now~)?in~|re~(?:now~)?in~)?(?:the~|your~)?(?:developer|debug|god|root|sudo|maintenance|jailbreak|unrestricted|dev|override|diagnostic|superuser|dan|admin|administrator)~mode\b", Opening.ANYWHERE),
    (_R, "not|longer|longer~be|never", r"~(?:be~)?(?:bound|restricted|limited|constrained|governed)~by~@3(?:rules|policies|policy|guidelines|ethics|restrictions|openai|laws|limitations|constraints|programming|any)\b", Opening.ANYWHERE),
    (_R, "not|t|dont|never|without", r"~(?:have~to~|need~to~|care~about~|abide~by~|adhere~to~|follow~|worry~about~|comply~with~)(?:any~|the~|all~|your~)?@2(?:ethics|morals|morality|legality|openai|content~policy|safety~guidelines|ethical|moral|legal~(?:rules|or))\b", Opening.ANYWHERE),
    (_R, "never|not|cannot|t|dont|without", r"~(?:ever~)?(?:refuse|refusing|decline~(?:to|any)|reject~(?:any|the|my)|censor|apologize|moralize|lecture~me|say~(?:no|you~can|that~you~can|sorry|i~can)|warn~me)\b", _ORDER),
    (_R, "broken|break|breaking|freed|free", r"~(?:free~)?(?:of|from)~(?:the~|all~|your~|any~)(?:typical~|usual~|standard~)?(?:confines|restrictions|limitations|limits|constraints|shackles|chains|rules)\b", Opening.ANYWHERE),
    (_R, "jailbreak|jailbroken", r"~(?:prompt|mode|yourself|chatgpt|gpt|this|successful|the~(?:ai|model))\b", Opening.ANYWHERE),
    (_R, "exploit|exploiting|hack|hacking|jailbreaking|manipulate|trick|tricking", r"~(?:ai|the~ai|llm|language~model|chatgpt|gpt|this~(?:ai|model|bot))\b", Opening.ANYWHERE),
    (_R, "sudo", r"~(?:show|print|rm|cat|reveal|output|mode|su|echo|ls|say|tell|override|ignore|make|give)\b", Opening.ANYWHERE),
    (_R, "system|admin|security|developer|emergency|root", r"~override\b(?=\s{0,2}(?:[:.!,-]|\Z)|~(?:engaged|code|activated|protocol|enabled|mode|accepted))", Opening.ANYWHERE),
    (_R, "use|using", r"~(?:hate~speech|slurs|profanity|swear~words|curse~words)\b", Opening.ANYWHERE),
)
_OUTPUT_RULES: Final[tuple[tuple[Suspicion, str, str, Opening], ...]] = (
    (_H, "<SAY>|repeat|responding|answering|replying", r"~(?:with~)?(?:only|just|simply|exactly|nothing~but|solely)~(?:with~)?(?:the~|a~|one~|in~|yes|no|word|this|what|with|after|using|what|code|json|[\"'])", _ORDER),
    (_H, "only|just|simply|exclusively", r"~(?:say|output|print|respond~(?:with|in)|reply~(?:with|in)|answer~(?:with|in)|return~the|echo|speak|type~out)\b", _ORDER),
    (_H, "say|print|output|respond|reply|answer|echo|return|display|responding|end|begin|start|finish|conclude|preface|write", r"~(?:@5)?(?:with~|as~|the~|that~|in~|by~|to~|word~|words~|phrase~|sentence~|following~|saying~|your~|reply~|response~|message~|answer~){0,4}?[\"']{1,2}(?<=[\"'])\w", _ORDER),
    (_H, "say|print|output|write|echo|respond|reply|answer", r"~?(?:with~|in~|as~|out~|loudly~)?(?:\s?the~following\b|\s?:|\s[\"'])", _ORDER),
    (_H, "respond|reply|answer|speak|talk|write|say|responding|answering", r"~(?:to~\w{1,12}+~|back~|the~following~@4|me~|it~)?(?:only~|always~)?(?:in~(?:the~)?(?:style|manner|voice|tone|role|character)~of|like~a|as~a|in~(?:rhymes?|emojis?|base64|morse|all~caps|reverse|pig~latin|binary|haiku|rot13))\b", _ORDER),
    (_H, "repeat", r"~(?:after~me|the~(?:following|word|phrase|sentence)|this~(?:word|phrase|sentence|forever)|back)\b", _ORDER),
    (_H, "say|tell|state|admit|claim|write|agree|include|insist|print|declare|announce", r"~(?:me~|us~|them~|everyone~|the~user~|to~(?:me|the~user|everyone)~)?that~(?:you|the~user|we|they|he|she|i|it|trump|\w{3,15}+)~(?:hate|love|are|is|was|want|like|have|has|won|will)\b", _ORDER),
    (_H, "state|claim|insist|declare", r"~that~\w", _SENTENCE),
    (_H, "say", r"~(?:yes|no|slut|hello|hi|it|nothing|something|whatever|\"|'|i~am|i~have|i~love|i~hate)\W{0,3}\s{0,2}(?:\Z|[.!\n])", _SENTENCE),
    (_H, "say|output|print|respond|reply|write|answer|return|speak", r"~@8(?:and~)?nothing~(?:else|more|but|other)\b", _ORDER),
    (_H, "do|dont|don|never|not", r"(?:~not|'t)?~(?:say|output|print|respond|write|reply|type|mention|answer|return|include|provide|give|add)~@4(?:anything|nothing|something|any~other|explanations?|any~text)~?@1(?:else|other|but|except|besides|words|text)?\b(?<!anything)(?<!something)", _ORDER),
    (_H, "do|dont|don", r"(?:~not|'t|'nt)?~answer~(?:this|the|that|any|my)~(?:question|user|questions)\b", _ORDER),
    (_H, "<SAY>|use|tell", r"~(?:always~)?(?:this|the~following|that|it)~(?:no~matter|regardless|instead~of|every~time|whenever)\b", Opening.ANYWHERE),
    (_H, "no|every|each|whenever|always|any", r"~(?:matter~what~|time~)?(?:i|you|the~user|they|someone|anyone|a~user|user)~(?:say|says|ask|asks|asked|get|gets|answer|respond|type|types|input|inputs|write|writes|want|mention|mentions)\b@8(?:respond|reply|answer|say|output|print|write|return|you~must|do~not)\b", Opening.ANYWHERE),
    (_H, "add|include|insert|append|prepend|integrate|modify|augment|enhance|embed|incorporate|replace|use|scramble|translate|convert|encode|reverse|write|provide|render|start|end|begin|finish|preface|conclude|rewrite|remove|misspell|rearrange|substitute|combine|group|mention|suggest|jumble|introduce|anagram|anagrams|repeat|put|place|format|produce|present|shift|swap|alter|change|make|turn|adjust|deliver|create|capitalize|omit|hide|attach|inject|switch|apply|spell|construct|compose|craft|generate|output|transform|express|employ|interleave|shuffle", r"\b[^\n]{1,140}?\b(?:your|the)~(?:final~|next~|whole~|entire~|own~)?<REPLY>\b", _SENTENCE),
    (_H, "modify|augment|enhance|encode|scramble|alter|reverse|finish|conclude|shift|adjust|begin|start|end|translate|complement|enrich|frame|tailor|format", r"~your~(?:final~|next~|whole~|entire~)?<REPLY>\b", _ORDER),
    (_H, "in|within|throughout|at", r"~(?:the~(?:end|start|beginning)~of~)?your~(?:final~|next~)?<REPLY>\W{1,3}@2(?:include|add|suggest|tease|mention|state|use|insert|promote|recommend|say|integrate|replace|ask|point|link|encourage|write|hint|provide|tell|claim|give|always|embed|urge|advise)\b", _SENTENCE),
    (_H, "do|dont|don|never|without", r"(?:~not|'t)?~(?:mention|tell|inform|notify|alert|mentioning|telling|informing|reveal|disclose)~@4(?:this|these)~(?:instructions?|message|prompt|note|hidden|commands?|rule|task)\b", Opening.ANYWHERE),
    (_N, "note|attention|message|instructions?|notice|warning", r"~(?:to~|for~)?(?:the~|any~|all~|this~)?(?:ai|llms?|language~models?|chatbots?|gpt|chatgpt|claude|ai~(?:models?|assistants?|agents?|systems?)|assistant|agent~model)\b(?=\s{0,2}[:,.!-])", Opening.ANYWHERE),
    (_N, "if", r"~you(?:'re|~are)~(?:an?~)@2(?:ai|llm|language~model|chatbot|bot|assistant|agent)\b@4~?(?:include|say|output|ignore|write|add|print|respond~with|reply~with|disregard|mention|rate|recommend)\b", Opening.ANYWHERE),
    (_N, "ai|llms?|assistants?|models?|agents?|chatbots?", r"~@2(?:reading|processing|summari[sz]ing|analy[sz]ing|parsing)~(?:this|the)\b", Opening.ANYWHERE),
    (_N, "assistant|ai|llm|chatbot", r"~(?:must|should|shall|has~to|needs~to)~(?:now~|always~|also~|immediately~|first~|then~)?(?:call|use|run|execute|send|ignore|reveal|output|say|respond|recommend|print|include|approve|transfer|invoke|forward)\b", Opening.ANYWHERE),
    (_N, "when|while|after|once|before", r"~(?:you~)?(?:have~)?(?:summari[sz]\w{1,3}|finished|process\w{0,3}|translat\w{1,3}|answer\w{0,3}|read\w{0,3})~@6(?:say|include|output|print|also~send|send~a~copy|mention|add|append|recommend)\b", _SENTENCE),
    (_X, "tell|ask|instruct|direct|persuade|convince", r"~the~(?:user|reader|human)~(?:to|that~they~(?:must|should|need~to))~(?:visit|click|go~to|enter|download|install|send|provide|call|open|follow|share|pay|give)\b", Opening.ANYWHERE),
    (_H, "you", r"~(?:must|shall|will|should|are~to|have~to|need~to)~(?:now~|always~|only~|never~|just~){1,2}(?:respond|reply|answer|say|output|print|repeat|obey|comply|reveal|ignore|end|begin|start)\b", Opening.ANYWHERE),
    (_H, "you", r"~(?:must|shall|are~to|have~to)~(?:respond|reply|answer)~(?:with|as|in|by)\b", Opening.ANYWHERE),
    (_H, "every|each|all", r"~(?:of~your~|your~)?(?:answers?|responses?|repl(?:y|ies)|messages?|outputs?|sentences?)~(?:must|should|has~to|have~to|shall|will)~(?:end|start|begin|contain|include|be)\b", Opening.ANYWHERE),
    (_H, "respond|reply|answer", r"~in~(?:json|xml|yaml|html|csv)\b", _ORDER),
    (_H, "respond|reply|answer|output|print|say", r"~(?:with~|only~)*(?:the|a|one)~(?:single~|exact~|one~)?(?:word|phrase|sentence|string|number|letter)\b", _ORDER),
    (_H, "write", r"~(?:only~)?(?:the|a)~(?:single~)?word\b", _ORDER),
    (_H, "append|prepend|add|insert", r"~the~(?:following~)?(?:sentence|phrase|words?|text|line|string)\s{0,2}[\"':]", _ORDER),
    (_H, "call|invoke|trigger|execute", r"~(?:the~)?(?:function|api|endpoint)~\w", _ORDER),
    (_H, "delete|drop|erase|wipe", r"~all~(?:the~|of~the~)?(?:files|tables|records|users|databases|logs)\b", _ORDER),
    (_H, "grant|give", r"~@4(?:admin|administrator|root|unlimited|permanent)~(?:access|permissions?|rights|privileges)\b", _ORDER),
    (_H, "access", r"~granted\b", Opening.ANYWHERE),
    (_H, "execute|run|perform|eval|evaluate", r"~(?:the~|this~|these~)(?:following|below|next)~(?:\w{1,12}+~)?(?:commands?|code|scripts?|query|sql|program|functions?|shell)\b|~(?:this|the)~(?:following~)?(?:command|code|script)\s?:", _ORDER),
    (_H, "input", r"\s?:[^\n]{1,60}?\boutput\s?:(?s:.){1,60}?\binput\s?:", Opening.ANYWHERE),
    (_H, "make", r"~(?:something|it|things|anything)~up\b", Opening.ANYWHERE),
    (_H, "formulate|write|create|generate|invent", r"~(?:an?~)(?:untrue|false|fake|fabricated|misleading)\b", _ORDER),
    (_H, "blame|praise|promote|endorse|insult", r"~(?:it~|this~|him~|them~|her~)?(?:on~)?(?:china|trump|russia|us|america|the~\w{1,12}+|\w{1,12}+)~(?:anyway|instead|no~matter|in~your)\b", _ORDER),
)
_EXFILTRATION_RULES: Final[tuple[tuple[Suspicion, str, str, Opening], ...]] = (
    (_X, "get|retrieve|fetch|access|obtain|collect|gather|extract|find|look|download|view|check|search|examine|give|provide|acquire|locate|pull|read|show|list|export|use|identify|share|save|record|compile|take|scan|query|open", r"(?>[^\n]{1,160}?\b(?:and|then|to)~(?:then~)?(?:send|forward|email|e-mail|share|transmit|mail|post|upload|leak|deliver)\b)[^\n]{1,120}?<ADDRESS>", Opening.ANYWHERE),
    (_X, "send|forward|email|transmit|upload|post|submit|share|exfiltrate|leak|transfer|cc|bcc|export|deliver|mail|copy", r"~@6(?:everything|conversations?|history|chat|credentials|passwords?|api~keys?|secrets?|tokens?|user~data|customers?|database|prompts?|records|personal|private|confidential|contacts|messages|emails|data|logs|transcripts?|sensitive|users?)\b[^\n]{1,100}?<ADDRESS>", Opening.ANYWHERE),
    (_X, "append|encode|include|put|add|attach|concatenate|embed", r"~@9(?:to|into|in|as)~(?:the~|an?~|this~)@3(?:url|query~string|query~parameter|image~(?:url|link|tag)|markdown~image|webhook)\b", Opening.ANYWHERE),
    (_X, "render|display|output|include|print|show|insert", r"~@5(?:markdown~image|image~tag|this~image|following~image|tracking~pixel)\b", _ORDER),
    (_C, "decode|decrypt|decipher|unscramble|deobfuscate|decoding", r"~@3(?:following|base64|this|these|rot13|string|message|hex|text|below|it)~@5(?:and|then|execute|follow|run|obey|string|base64|message|respond|answer|do|instructions?)\b", Opening.ANYWHERE),
    (_C, "base64|rot13|b64|hex|hexadecimal|morse|cipher|caesar", r"~@2(?:decode|decoded|encoded|decoding|encode|string|instructions?|message|cipher)\b", Opening.ANYWHERE),
    (_S, "end|start|begin|beginning", r"~of~(?:the~|this~|your~|all~|my~|new~)?(?:system~|initial~|original~|previous~|user~|prior~|hidden~)?(?:prompts?|instructions?|context|documents?|conversation~history|input|rules|system~message|transcript|data)\b(?=\s{0,3}(?:\Z|[.:!=\])}>#*\n\"'-]))", Opening.ANYWHERE),
    (_S, "begin|end|begins|ends|ended", r"~(?:system|new|admin|hidden|secret|user|developer)~(?:prompts?|instructions?|message|input|context|override)\b", Opening.ANYWHERE),
)

ENGLISH_ROLE_PATTERNS: Final = tuple(RuleSource(*rule) for rule in (*_PERSONA_RULES, *_POLICY_REMOVAL_RULES, *_OUTPUT_RULES, *_EXFILTRATION_RULES))
