"""Rules for the best-known prompt injections in other languages than English, spelled as folded text, without diacritics.

Safety rests on containment; these rules help reviewers and do not try to cover a language completely.
"""

# One rule per line, however long, because rules are read and changed one at a time.
# ruff: noqa: E501, RUF001
# fmt: off
from typing import Final

from apps.prompt.injection_scanner.rule_language import Opening, RuleSource, Suspicion

_O, _N, _E, _P = Suspicion.OVERRIDE, Suspicion.NEW_TASK, Suspicion.EXTRACTION, Suspicion.PERSONA
_R, _H = Suspicion.POLICY_REMOVAL, Suspicion.OUTPUT_HIJACK
_A, _ORDER, _SENTENCE = Opening.ANYWHERE, Opening.ORDER, Opening.SENTENCE

OTHER_LANGUAGE_WORDS: Final = {
    "DE_FORGET": "vergiss|vergesst|vergessen|ignoriere|ignoriert|ignorieren|missachte|missachten|verwirf|verwerfe|ubergehe|ignorier"
    "|umgehe|uberschreibe|loesche|losche|loschen|lasse|lassen|lass",
    "DE_THE": "sie|bitte|nun|jetzt|mal|alle|alles|allen|aller|die|den|der|das|deine|deinen|ihre|ihren|meine|samtliche|jegliche|jede"
    "|bisherigen|bisherige|vorherigen|vorherige|vorangegangenen|vorangehenden|obigen|obige|oben|fruheren|fruhere|vorigen"
    "|bestehenden|ursprunglichen|gegebenen|gesamten|genannten|genannte|dir|gegebene|systeminternen|internen|davor",
    "DE_ORDERS": r"anweisung\w{0,3}|instruktion\w{0,3}|befehl\w{0,3}|auftrag\w{0,3}|auftrage\w{0,2}|aufgabe\w{0,2}|angaben|informationen|vorgaben?"
    r"|regeln?|richtlinien?|anordnung\w{0,3}|anleitung\w{0,3}|prompts?|systemprompts?|gesagte[ns]?|ausfuhrungen|beschrankungen|texte?"
    "|dokumente|artikel|eingaben?|programmierung|kontext",
}

_RULES: Final[tuple[tuple[Suspicion, str, str, Opening], ...]] = (
    (_O, "<DE_FORGET>", r"~(?:<DE_THE>~){1,5}?<DE_ORDERS>\b", _A),
    (_O, "<DE_FORGET>", r"~(?:sie~|nun~|jetzt~|bitte~)?(?:alles|alle)(?:~(?:davor|vorher|zuvor|bisherige|obige|was|oben|gesagte|vorherige|andere|und)\b|,)", _A),
    (_O, "die|alle|all", r"~(?:<DE_THE>~){0,4}?<DE_ORDERS>~(?:zu~)?(?:ignorieren|vergessen|missachten)\b", _A),
    (_O, "alle|alles|samtliche", r"~(?:<DE_THE>~){0,4}?<DE_ORDERS>@6~?(?:irrelevant|ungultig|hinfallig|aus~dem~kopf|nicht~mehr)\b", _A),
    (_O, "abweichend|entgegen|ungeachtet|trotz|unabhangig", r"~(?:zu~|von~|aller~|der~)?(?:<DE_THE>~){0,4}?<DE_ORDERS>\b", _A),
    (_O, "folge|befolge|beachte|befolgen|folgen", r"~(?:sie~)?(?:nicht~|keinen~)(?:mehr~)?(?:<DE_THE>~){0,4}?<DE_ORDERS>\b", _A),
    (_O, "lass|lassen", r"~@6hinter~(?:dir|sich)\b", _A),
    (_O, "fange?|fangen", r"~(?:sie~)?von~(?:vorne|neu)~an\b", _A),
    (_N, "neue|neuen|weitere|neues|folgende", r"~(?:aufgaben?|anweisungen?|instruktionen?|befehle?|herausforderung)(?:\s?:|~(?:fur~dich|folgen|lautet|ist|zeige))", _A),
    (_N, "folgen|kommen|kommt", r"~(?:nun~|jetzt~|aber~|noch~|ein~|paar~){0,4}(?:neue|weitere|ein~paar|aufgaben)~(?:aufgaben?|anweisungen?|instruktionen?|auf~dich)\b", _A),
    (_N, "deine|deiner|ihre|deinen", r"~(?:neue[nr]?|wahre|eigentliche|einzige)~(?:aufgabe|anweisung(?:en)?|rolle|instruktion(?:en)?|mission)\b", _A),
    (_N, "konzentriere|konzentrieren", r"~(?:dich|sie~sich|sich)~(?:jetzt~|nun~)?(?:nur~)?auf~(?:deine|die|diese|ihre)~(?:neue|folgende|nachste)", _A),
    (_N, "der|einer|eine|die", r"~(?:neuen|weiteren|neue)~(?:aufgabe|herausforderung)~(?:zu~konzentrieren|fur~dich|namlich|zu~starten)\b|~neuen~aufgabe\s?[,:]", _A),
    (_N, "hilfe|hilf|helfen", r"~(?:mir~)?(?:nun~|jetzt~)?(?:bei|mit)~(?:einer~weiteren|folgender|dieser|folgenden|einer~anderen)~(?:aufgabe|frage)\b", _A),
    (_N, "sehr|gut|ausgezeichnete?|grossartig|wow|prima|super|einfach", r"(?:~\w{1,15}+){0,4}?\s?[.!]{1,3}\W{0,4}(?:das~(?:ist~erledigt|genugt|reicht)\W{1,4})?(?:\w{1,12}+~)?(?:nun|jetzt)~(?:\w{1,12}+~){0,3}(?:neue|folgen|schreibe|verfasse|aufgaben?|vergiss)\b", _A),
    (_N, "stopp?|achtung|halt", r"\W{1,6}+(?:stopp?\W{1,6})?(?:schreibe?|sage?|ignorier|ich~benotige|vergiss|gib)\w{0,3}\b", _A),
    (_E, "zeig|zeige|zeigen|nenne|verrate|gib|geben|wiederhole|wiederholen|drucke|schreibe|ausgabe|sage?|ubersetze|wie~lautet|was|welche|kopie|vorzeigen", r"~@6(?:prompt~?texte?[sn]?|prompt~texte?|prompts?|systemprompts?|systemanweisung\w{0,3}|systemnachricht|deine[nr]?~@1(?:anweisungen|instruktionen)|ihre[nr]?~@1(?:anweisungen|instruktionen)|gesamten~anweisungen)\b", _A),
    (_E, "wiederhole|wiederholen|wiederhol", r"~@4(?:oben|vorherige[ns]?|obige[ns]?)\b", _A),
    (_E, "какой|каков|какие|каковы", r"~@3(?:промпт|системные~инструкции|твои~инструкции)\b", _A),
    (_P, "ты|вы", r"~(?:теперь|больше~не)~\w", _SENTENCE),
    (_E, "was|welcher", r"~(?:steht|stand|wurde)~@3(?:oben|am~anfang|daruber|vor~diesem)\b", _A),
    (_E, "zeig|zeige|verrate|nenne|sage?|gib|wie~lautet|was~ist", r"~@4(?:geheim\w{1,14}|passwort|zugangscode|geheimnis|zugriffscode)\b(?!~(?:zurucksetzen|vergessen))", _A),
    (_P, "nun|jetzt", r"~bist~du\b(?!~(?:bereit|dran|fertig))|~sind~sie~(?:ein|eine|der|die)\b", _A),
    (_P, "du", r"~bist~(?:jetzt|nun|ab~sofort|von~nun|kein|keine|fortan)\b(?!~(?:sicher|dran))", _A),
    (_P, "du", r"~bist(?:~\w{1,20}+){1,4}?\s?[.,]\W{0,4}(?:wie~(?:findest|beantwortest|verfahrst)|was~(?:halt|halst|sagst|denkst))", _SENTENCE),
    (_P, "ab|von", r"~(?:jetzt|sofort|nun)~(?:an~)?(?:bist|wirst|sind|antworte|antwortest|sollst|heisst|verhalte)\b", _A),
    (_P, "stell|stelle|stellen", r"~(?:dir|sie~sich)~vor\W{1,3}(?:du|sie|dass~du|wir)~@2(?:bist|sind|warst|waren)\b|~(?:dir|sie~sich)~vor\W{1,3}(?:du|sie)~@4(?:bist|sind|waren|warst)\b", _A),
    (_P, "tu|tue|tun", r"~(?:sie~)?so\W{1,3}als~@2(?:ob|warst|waren|seist)\b", _A),
    (_P, "als|wie", r"~@9(?:fungieren|fungierst|agieren|agierst|verhaltst|auftrittst)\b", _A),
    (_P, "verhalte|agiere|fungiere|spiele?|antworte|sprich|handle", r"~(?:dich~|sie~)?(?:als|wie)~(?:ein|eine|der|die|das|ob|warst)\w{0,2}\b|~die~rolle\b", _A),
    (_P, "rolle|rollen|film", r"~(?:aufgehen|bleiben|fallen|auf~die~rolle)\b|~auf\b(?=\W)", _SENTENCE),
    (_P, "aus", r"~(?:ihrer|der|seiner|deiner)~rolle~(?:zu~)?fall(?:en|t)?\b", _A),
    (_P, "in", r"~(?:ihren|ihrer|deiner|seiner)~rollen?~(?:auf|bleiben|zu~bleiben|selbst)\b", _A),
    (_P, "bleiben", r"~@4in~(?:ihren|ihrer|deiner|der)~rollen?\b", _A),
    (_R, "ohne|keine|keinerlei", r"~(?:jegliche~|irgendwelche~)?(?:einschrankungen|beschrankungen|zensur|moral|ethische\w{0,2}|filter|regeln)~?(?:und|oder|antworten|mehr)?\b(?=~(?:und|oder|antworten)|\W{0,2}antwort)", _A),
    (_H, "antworte|antworten|schreibe?|sage?|sagen|gib|geben|sprich|drucke|beantworte", r"~(?:sie~|mir~|bitte~)?(?:nur|ausschliesslich|lediglich|einfach~nur|stattdessen|die~ubersetzung)\b", _A),
    (_H, "antworte|antworten|beantworte|beantworten|schreibe|sprich|antwort", r"~@8(?:im|in)~(?:\w{1,5}+~)?stile?\b", _A),
    (_H, "sage?|schreibe?|gib|antworte|sagen", r"~(?:sie~|mir~|bitte~|nun~|mal~|immer~)*[\"':]", _A),
    (_H, "antworte", r"~(?:ab~jetzt|ab~sofort|von~nun~an|kunftig)\b", _A),
    (_E, "clave|llave|codigo|palabra|contrasena|frase|chave|palavra|senha", r"~secret[ao]s?\b", _A),
    (_E, "cle|code|mot|phrase|information|mot~de~passe|chiave|codice|parola|password|frase", r"~(?:secrete?s?|segret[aeo])\b", _A),
    (_E, "geheimer?|geheimen|geheimes|geheime|hemliga?|hemmelige?|tajny|tajne|tajna|sekretny|tajni|gizli|kunci|kata|kode", r"~(?:schlussel|code|wort|passwort|nachricht|phrase|sleutel|woord|wachtwoord|nyckel\w{0,2}|nyckeln|ord\w{0,2}|nokkel\w{0,2}|kod\w{0,2}|klucz|haslo|slowo|anahtar\w{0,2}|kelime\w{0,2}|rahasia|kljuc|klic)\b", _A),
    (_E, "секретный|секретное|секретного|тайный|секретна|тајни|таємний|секретен", r"~(?:ключ|слово|код|пароль|ключа|слова)", _A),
    (_E, "المفتاح|الكلمة|الرمز|كلمة", r"~(?:السري|السرية|السر~السرية)\b", _A),
    (_H, "antworte", r"~(?:immer|stets|jedes~mal)\b|~(?:auf~)?(?:diese|jede|die~folgende)~frage\b", _A),
    (_H, "beantworte", r"~(?:die~)?folgende~frage\b", _ORDER),
    (_H, "formuliere|erfinde|schreibe", r"~@5(?:unwahre|falsche|erfundene)\b", _A),
    (_H, "ist|antwort|lautet", r"~die~richtige~antwort\b", _A),
    (_H, "dass", r"~(?:sie|du)~mir~\W{0,2}\w{1,20}\W{0,2}~?sag(?:en|st)\b", _A),
    (_O, "ignora|ignore|ignorar|olvida|olvide|olvidar|olvidad|omite|descarta|desatiende|haz~caso~omiso", r"~(?!mis?~)(?:de~)?(?:todas?~|todos?~)?(?:tus~|sus~|las~|los~|la~|el~|lo~)?@2(?:instrucciones|instruccion|ordenes|reglas|indicaciones|directrices|prompt|instrucoes|anterior|anteriores|todo~lo|que~(?:digo|dije|sabes|te)|todo~que|instrucoes)\b", _A),
    (_O, "olvida|olvide|olvidar", r"~todo\b", _A),
    (_O, "ignore|ignora|ignorar|esqueca|esquece|esquecer|desconsidere|desconsidera|despreze", r"~(?:de~)?(?:todas?~|todos?~|tudo~)?(?:as~|os~|suas~|tuas~)?@2(?:instrucoes|ordens|regras|orientacoes|diretrizes|comandos|anteriores|acima|que~(?:eu|voce|foi))\b", _A),
    (_O, "ignorez|ignore|ignorer|oubliez|oublie|oublier|negligez|abandonnez|neglige", r"~(?:pas~)?(?:toutes?~|tous?~|tout~)?(?:les~|tes~|vos~|ce~)?@2(?:instructions?|consignes?|ordres|regles|directives|precedentes?|ce~qui~precede|qui~precede|ci~dessus)\b", _A),
    (_O, "ignora|ignorare|ignori|dimentica|dimenticare|dimentichi|trascura|scorda", r"~(?:di~)?(?:tutte~|tutti~|tutto~)?(?:le~|i~|gli~|tue~|quello~|cio~)?@2(?:istruzioni|ordini|regole|direttive|comandi|indicazioni|precedenti|precedente|che~(?:ti|ho|sai)|sopra)\b", _A),
    (_O, "negeer|vergeet", r"~(?:alle~|al~|de~|je~|uw~|alles~)*@2(?:instructies|opdrachten|regels|richtlijnen|aanwijzingen|bovenstaande|hiervoor|wat)\b", _A),
    (_O, "zignoruj|ignoruj|zapomnij|pomin|zapomen|ignorujte|zapomente|zabudni|zaboravi|zaboravite|ignoriraj|ignorirajte|zanemari|pozabi", r"~@3(?:polecenia|instrukcje|instrukcji|instrukcije|instrukcija|instrukce|instrukcie|pokyny|upute|naredbe|naloge|navodila|wszystkie|wszystko|vsechny|sve|prethodne|poprzednie|predchozi)\b", _A),
    (_O, "glom|ignorera|glem|ignorer|bortse|ignorerer|unohda|ohita|sivuuta", r"~@3(?:instruktioner|instruktionerna|instruksjoner|instrukser|anvisningar|alla~tidigare|alle~tidligere|allt~ovan|ohjeet|ohjeesi|kaskyt|edelliset|aiemmat|kaikki)\b", _A),
    (_O, "onceki|tum|butun", r"~@3(?:talimatlari|talimatlarini|komutlari|yonergeleri|talimatlar|kurallari)~@3(?:yok~say|unut|gormezden|goz~ardi|dikkate~alma)", _A),
    (_O, "abaikan|lupakan|abai", r"~@4(?:instruksi|perintah|arahan|petunjuk|sebelumnya|semua)\b", _A),
    (_O, "bo~qua|hay|quen|bo", r"~@4(?:huong~dan|chi~thi|lenh|chi~dan)~@3(?:truoc|tren|cua~ban)\b", _A),
    (_O, "ignorati|ignora|uita|uitati|ignorald|felejtsd|hagyd", r"~@4(?:instructiunile|instructiuni|instrukciokat|utasitasokat|utasitast|anterioare|korabbi|elozo|ordinele)\b", _A),
    (_E, "muestra|muestrame|revela|dime|repite|imprime|mostrar|mostre|mostra|revele|repita|diga|affiche|affichez|montre|montrez|revelez|repete|repetez|donne|mostrami|rivela|ripeti|dimmi|stampa|toon|onthul|herhaal|pokaz|ujawnij|wyswietl|goster|tampilkan|ungkapkan|cual~es|qual~e|quel~est|quelles~sont|cuales~son", r"~@6(?:prompt|prompts|instrucciones~(?:iniciales|del~sistema|originales|secretas)|instrucoes~(?:iniciais|do~sistema)|instructions~(?:initiales|du~systeme|secretes|systeme)|istruzioni~(?:iniziali|di~sistema)|systeemprompt|contrasena~secreta|mot~de~passe|palavra~secreta|senha~secreta|clave~secreta|codigo~secreto|code~secret|tus~instrucciones|sus~instrucciones|suas~instrucoes|tes~instructions|vos~instructions|tue~istruzioni)\b", _A),
    (_P, "actua|actue|comportate|finge|imagina|pretende|aja|atue|finja|agis|agissez|comporte|fais|faites|fingi|comportati|agisci|immagina|doe|gedraag|udawaj|zachowuj|ponasaj", r"~(?:te~|toi~|vous~|semblant~|di~|je~|sie~|se~|d'etre~|alsof~)*(?:como|comme|come|que~(?:eres|eras|es|voce)|di~essere|jako|jak|kao|ser|alsof|d'etre|als)\b", _ORDER),
    (_P, "ahora|agora|maintenant|ora|adesso|desormais|vanaf|teraz|od~teraz|a~partir", r"~(?:de~ahora~|de~agora~|nu~)?(?:eres|seras|voce~e|voce~sera|tu~es|vous~etes|sei|sarai|ben~je|bent~u|jestes)\b", _A),
    (_H, "di|diga|responde|dis|dites|repondez|reponds|rispondi|antwoord|zeg|powiedz|odpowiedz|reci|cevap", r"~(?:solo|solamente|unicamente|apenas|somente|seulement|uniquement|soltanto|alleen|tylko|samo|sadece|lo~siguiente|ce~qui~suit|o~seguinte|quanto~segue)\b", _ORDER),
    (_H, "solo|solamente", r"~(?:tienes~que|debes|di|responde)~(?:decir|responder)?\b", _A),
    (_O, "забудь|забудьте|игнорируй|игнорируйте|проигнорируй|проигнорируйте|отбрось|забути|забудьте|ігноруй|ігноруйте|игнорирай|забрави|занемари|заборави", r"~@3(?:инструкции|инструкций|указания|указаний|команды|приказы|правила|все|всё|інструкції|вказівки|інструкцій|инструкциите|инструкције|сказанное)\b", _A),
    (_E, "покажи|покажите|выведи|выведите|раскрой|напечатай|повтори|повторите|скажи|назови|покажіть", r"~@5(?:системный~промпт|промпт|промт|системные~инструкции|системную~подсказку|свои~инструкции|твои~инструкции|секретный|пароль|начальные~инструкции)\b", _A),
    (_P, "теперь|отныне|представь|притворись|действуй|веди", r"~(?:что~|себя~)?(?:ты|вы|как|что|будто)\b", _A),
    (_H, "скажи|скажите|ответь|напиши|отвечай|говори", r"~@2(?:только|лишь|следующее|что~ты)\b", _A),
    (_O, "تجاهل|تجاهلي|انس|انسى|تجاهلوا|أهمل", r"~@3(?:التعليمات|تعليمات|الأوامر|اوامر|الإرشادات|السابقة|كل|جميع|القواعد)\b", _A),
    (_O, "تمام|همه|دستورات|دستورالعمل", r"~@4(?:دستورات|دستورالعمل|دستورهای|قبلی)~@3(?:نادیده|فراموش)", _A),
)
OTHER_LANGUAGE_PATTERNS: Final = tuple(RuleSource(*rule) for rule in _RULES)

# Languages without spaces between words; only a few characters may separate the parts of a phrase.
UNSPACED_SCRIPT_PATTERNS: Final[tuple[tuple[Suspicion, tuple[str, ...], str], ...]] = (
    (_O, ("忽略", "无视", "無視", "忘记", "忘記", "忘掉", "不要理会", "忽視", "忽视", "抛开", "不理会"), r"[^\n。！？]{0,12}?(?:指示|指令|说明|說明|提示|规则|規則|命令|内容|要求|一切|设定|設定|任务|对话)"),
    (_O, ("以前の", "これまでの", "上記の", "前の", "すべての", "全ての", "以上の"), r"[^\n。]{0,10}?(?:指示|命令|プロンプト|ルール|指令|説明|内容)[^\n。]{0,8}?(?:無視|忘れ|破棄)"),
    (_O, ("이전", "지금까지", "모든", "위의", "앞의"), r"[^\n.]{0,36}?(?:지시|명령|지침|프롬프트|규칙|설명)[^\n.]{0,24}?(?:무시|잊|무효)"),
    (_O, ("निर्देशों", "निर्देश", "आदेशों", "सब कुछ"), r"[^\n।]{0,20}?(?:अनदेखा|भूल|नजरअंदाज|नज़रअंदाज|अनदेखी|उपेक्षा)"),
    (_O, ("উপেক্ষা", "নির্দেশাবলী", "নির্দেশ"), r"[^\n]{0,20}?(?:উপেক্ষা|ভুলে|নির্দেশ)"),
    (_O, ("ละเว้น", "เพิกเฉย", "ลืม", "ไม่ต้องสนใจ"), r"[^\n]{0,20}?(?:คำสั่ง|คำแนะนำ)"),
    (_E, ("显示", "顯示", "输出", "輸出", "告诉我", "告訴我", "重复", "重複", "透露", "打印", "泄露", "说出"), r"[^\n。！？]{0,10}?(?:系统提示|系統提示|提示词|提示詞|初始指令|系统指令|系統指令|你的指令|你的提示|密码是|秘密|密钥|上面的(?:内容|文字|指令))"),
    (_E, ("システムプロンプト", "初期プロンプト", "秘密の"), r"[^\n。]{0,10}?(?:表示|教え|出力|見せ|繰り返|公開|パスワード|キー)"),
    (_E, ("시스템", "초기", "비밀"), r"\s?(?:프롬프트|지시|키|코드|메시지)[^\n.]{0,30}?(?:보여|알려|출력|말해|공개|무엇)"),
    (_P, ("你现在是", "你現在是", "从现在开始你", "從現在開始你", "从现在起你", "从现在开始,你", "扮演", "假装你", "假裝你", "假设你是", "充当"), r""),
    (_P, ("あなたは今から", "今からあなたは", "これからあなたは", "のふりをし", "になりきっ"), r""),
    (_P, ("당신은 이제", "너는 이제", "지금부터 너는", "지금부터 당신은", "인 척", "처럼 행동"), r""),
    (_E, ("गुप्त", "সিক্রেট"), r"\s?(?:कुंजी|कोड|शब्द|पासवर्ड|की)"),
    (_E, ("系统提示词", "系統提示詞", "初始提示词", "秘密密钥", "秘密の鍵", "秘密のキー", "秘密鍵", "비밀키", "비밀 키", "密钥是", "秘密是什么"), r""),
    (_H, ("只回答", "只输出", "只輸出", "仅输出", "僅輸出", "只说", "只能说", "仅回复", "只回复", "改为输出"), r""),
    (_H, ("とだけ答え", "とだけ言", "のみ出力", "だけを出力"), r""),
)
