"""Find malicious instructions to the model: ignore rules, hide actions, send data away."""

import re
from collections.abc import Iterator

from skills_runtime.skills.scan.hosts import URL, classify_host, is_related, is_untrusted_host
from skills_runtime.skills.scan.text import Mark, Pattern, Profile, Text, find_line_matches, mark, pattern

_RULES = (
    r"(?:instructions?|prompts?|directives?|guidelines?|guardrails?|safety"
    r" (?:rules?|measures?|checks?|protocols?)|restrictions|polic(?:y|ies)"
    r"|constraints|system messages?|programming|training)"
)
SECRET = (
    r"(?:conversation(?: history)?|chat (?:history|log|transcript)s?|message"
    r" history|system prompt|api[ _-]?keys?|credentials?|secrets?|access"
    r" tokens?|auth(?:entication)? tokens?|env(?:ironment)? variables?"
    r"|\.env\b|passwords?|private keys?|ssh keys?|seed phrases?|user(?:'s)?"
    r" (?:data|files?|input|messages?|session)|session (?:data|tokens?"
    r"|cookies?)|file contents?|cookies|personal (?:data|information)|(?:entire"
    r"|full|whole) (?:context|workspace|codebase))"
)
SENDING = (
    r"(?:send|post|upload|transmit|forward|exfiltrate|submit|relay|leak"
    r"|copy|ship|beacon|deliver|pipe|push|sync|back ?up|append|embed|encode"
    r"|report)(?:s|ing|ed)?"
)

_PATTERNS: tuple[Pattern, ...] = (
    pattern(
        "I001",
        (
            r"\b(?:ignore|disregard|forget|override|bypass|discard|supersede)s?\b[^\n.]{0,24}\b(?:previo"
            rf"us|prior|earlier|preceding|above|system(?! default)|safety|security)\b[^\n.]{{0,30}}{_RULES}"
        ),
        "ignore",
        "disregard",
        "forget",
        "override",
        "bypass",
        "discard",
        "supersede",
    ),
    pattern(
        "I001",
        (
            rf"\b(?:ignore|disregard|forget)\b\s+(?:all|any|everything|every|your)\b[^\n.]{{0,30}}(?:{_RULES}"
            r"|(?:you were|you've been|that was) (?:told|said|given))"
        ),
        "ignore",
        "disregard",
        "forget",
    ),
    pattern(
        "I001",
        (
            r"\byou (?:are|have) (?:now )?(?:no longer bound|free (?:of|from) (?:all"
            r"|any)|unrestricted|no (?:restrictions|limitations|guidelines))|\b(?:god"
            r"|dan|jailbreak) mode (?:is )?(?:enabled|activated|on)\b|must never"
            r" refuse|do anything now"
        ),
        "you are",
        "you have",
        " mode",
        "never refuse",
        "anything now",
    ),
    pattern(
        "I001",
        (
            r"(?:忽略|无视|忘记|绕过)[^\n。]{0,12}(?:之前|以上|先前|所有|系统|安全)[^\n。]{0,8}(?:指令"
            r"|提示|规则|限制|指示)|(?:игнорируй|забудь)\w*[^\n.]{0,30}(?:инструкц|правил)"
            r"|ignora[^\n.]{0,30}(?:instrucciones|reglas) (?:anteriores|previas)"
        ),
        "忽略",
        "无视",
        "忘记",
        "绕过",
        "игнор",
        "забудь",
        "ignora",
    ),
    pattern(
        "I002",
        (
            r"\b(?:do not|don't|dont|never|must not|should not|avoid)\s+(?:ever\s+)?(?:tell"
            r"|mention|inform|notify|reveal|disclos\w*|alert|let|mentioning|telling"
            r"|informing|report)\b[^\n.]{0,60}\b(?:the )?(?:users?|human|operator"
            r"|owner|developer|victim|anyone)\b(?!'s (?:name|email))"
        ),
        "tell",
        "mention",
        "inform",
        "notif",
        "reveal",
        "disclos",
        "alert",
        "let",
        "report",
    ),
    pattern(
        "I002",
        (
            r"(?:不要|别|切勿|禁止)(?:告诉|告知|提及|通知|让)[^\n。]{0,10}用户"
            r"|не (?:сообщай|говори)\w*[^\n.]{0,20}пользовател"
            r"|no (?:le )?(?:digas|menciones|informes)[^\n.]{0,20}usuario"
        ),
        "用户",
        "пользовател",
        "usuario",
    ),
    pattern(
        "I003",
        (
            r"\b(?:silently|secretly|covertly|quietly|stealthily|surreptitiously"
            r"|discreetly|invisibly)\s+(?:\w+\s+){0,2}(?:run|execut|send|upload"
            r"|post|transmit|forward|exfiltrat|install|collect|harvest|copy|download"
            r"|read|append|inject|capture|record)\w*"
        ),
        "silently",
        "secretly",
        "covertly",
        "quietly",
        "stealthily",
        "surreptitiously",
        "discreetly",
        "invisibly",
    ),
    pattern(
        "I003",
        (
            r"\b(?:run|execut|send|upload|post|transmit|forward|install|collect"
            r"|copy|download|append|capture|record|perform|do)\w*\b[^\n.]{0,80}\b(?:without"
            r" (?:telling|informing|notifying|alerting|the (?:user|human)(?:'s)?"
            r" (?:knowledge|consent|awareness|noticing|knowing))|so (?:that )?the"
            r" user (?:does not|doesn't|won't) (?:notice|see|know))"
        ),
        "without telling",
        "without informing",
        "without notifying",
        "without alerting",
        "without the",
        "the user does",
        "the user won",
    ),
    pattern(
        "I006",
        (
            r"--dangerously-skip-permissions|--yolo\b|bypassPermissions|--dangerously-bypass-approvals"
            r"|danger-full-access|[\"']?autoApprove[\"']?\s*[:=]\s*(?:true|\[\s*[\"']\*)"
            r"|skipDangerousModePermissionPrompt"
        ),
        "dangerously",
        "yolo",
        "bypasspermissions",
        "danger-full",
        "autoapprove",
        "skipdangerous",
        severity="low",
    ),
    pattern(
        "I006",
        (
            r"\balways\b[^\n.]{0,40}--(?:dangerously-\w|yolo\b)"
            r"|--(?:dangerously-[\w-]+|yolo)\b[^\n]{0,120}"
            r"\b(?:so (?:that )?(?:nothing|nobody|no one|it (?:never|does not|doesn't))"
            r"|(?:never|not) (?:have to |be )?ask)"
        ),
        "--dangerously",
        "--yolo",
        severity="high",
    ),
    pattern(
        "I006",
        (
            r"(?<!if )(?<!once )(?<!when )(?<!that )(?<!after )(?<!until )(?<!unless )(?<!whether )"
            r"\b(?:the |your )?(?<!if the )(?<!once the )(?<!when the )(?<!that the )(?<!after the )(?<!until the )"
            r"(?<!unless the )(?<!whether the )(?:user|human|operator|owner)s? (?:has|have) (?:already|previously)"
            r" (?:agreed|consented|approved|authori[sz]ed|accepted|given (?:\w+ )?(?:consent|permission|approval))\b"
            r"[^\n.]{0,20}\b(?:all|every\w*|any\w*|this|these|it|them)\b"
        ),
        "already",
        "previously",
        severity="high",
    ),
    pattern(
        "I006",
        (
            r"\b(?:always|automatically|auto-?)\s*(?:approve|accept|confirm|allow"
            r"|grant)\b[^\n.]{0,40}\b(?:all|any|every|tool|permission|command|request"
            r"|prompt)s?\b|\b(?:disable|skip|turn off|suppress|bypass)\b[^\n.]{0,24}\b(?:confirmation"
            r"|approval|permission|safety|consent)s?\b (?:prompts?|checks?|dialogs?"
            r"|requests?|gates?)"
        ),
        "approve",
        "accept",
        "confirm",
        "allow",
        "grant",
        "approval",
        "permission",
        "safety",
        "consent",
        severity="low",
    ),
    pattern(
        "I006",
        (
            r"\b(?:run|execute)\b[^\n.]{0,40}\b(?:without (?:asking|confirmation"
            r"|waiting for|prompting|requesting))[^\n.]{0,40}(?:user|permission"
            r"|approval|confirmation)"
        ),
        "without asking",
        "without confirm",
        "without waiting",
        "without prompt",
        "without request",
        severity="low",
    ),
    pattern(
        "I007",
        (
            r"<\|(?:im_start|im_end|system|endoftext|start_header_id)\|>\s*(?:system)?"
            r"|^\s*\[(?:SYSTEM|INST|ADMIN)(?: (?:OVERRIDE|MESSAGE|PROMPT|NOTICE))?\]\s*:?"
            r"|</?(?:system_prompt|system-override|admin_override)>|^\s*#{0,4}\s*SYSTEM"
            r" (?:OVERRIDE|PROMPT OVERRIDE|MESSAGE)\b"
        ),
        "<|",
        "[system",
        "[inst",
        "[admin",
        "system_prompt",
        "override",
        "system message",
        severity="medium",
    ),
    pattern(
        "I008",
        (
            r"\b(?:remember|persist|store|save|write|add|append|inject|embed)\b[^\n.]{0,80}\b(?:for"
            r"|in|to|across|into)\b[^\n.]{0,20}\b(?:all|every|any) (?:future|subsequent"
            r"|later|other) (?:sessions?|conversations?|chats?|interactions?|responses?)"
        ),
        "future",
        "subsequent",
        "later",
        "other",
        severity="low",
    ),
    pattern(
        "I009",
        (
            r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}[?&/=][^)\s]{0,80}(?:\{\{?"
            r"|\$\{|<|%7B)[^)\n]{0,40}(?:conversation|history|context|secret|key"
            r"|token|data|prompt|base64|encoded|summary|message)[^)\n]{0,60}\)"
        ),
        "![",
    ),
    pattern(
        "I011",
        (
            r"\b(?:reveal|print|output|repeat|show|display|leak|dump|include)\b[^\n.]{0,20}\b(?:your"
            r"|the) (?:(?:full|entire|complete|original|hidden|exact) )?(?:system"
            r" prompt|initial instructions|hidden instructions)"
        ),
        "system prompt",
        "initial instructions",
        "hidden instructions",
    ),
    pattern(
        "I004",
        (
            r"\b(?:paste|export|enter|share|send|give|type)\b[^\n.]{0,40}"
            r"\b(?:private key|(?:seed|recovery) phrase|mnemonic)s?\b"
            r"[^\n.]{0,50}\b(?:here\b"
            r"|(?:in|into) (?:the|this) (?:chat|conversation)|to (?:me|us|the (?:agent|assistant|bot)))"
        ),
        "private key",
        "seed phrase",
        "recovery phrase",
        "mnemonic",
    ),
)


_TO_ADDRESS = re.compile(
    (
        rf"\b{SENDING}\b[^\n]{{0,160}}?{SECRET}[^\n]{{0,160}}?(?:https?://"
        r"|\bwebhook|\bendpoint\b|[\w.+-]+@[\w-]+\.\w{2,6})"
    ),
    re.I,
)
_ADDRESS_FIRST = re.compile(
    (
        r"(?:https?://\S{4,160}|\bwebhook)[^\n]{0,120}\b(?:with|including"
        rf"|containing|contain|body|payload|carrying|param\w*)\b[^\n]{{0,100}}{SECRET}"
    ),
    re.I,
)
_COLLECTED = re.compile(
    (
        rf"\b(?:collect|gather|harvest|read|extract|find|dump|copy)\w*\b[^\n]{{0,60}}{SECRET}[^\n]{{0,"
        rf"120}}\b{SENDING}\b[^\n]{{0,60}}(?:https?://|\bwebhook)"
    ),
    re.I,
)
_KEY_VALUE = re.compile(
    (
        r"\b(?:append|include|add|attach|pass|insert)\b[^\n.]{0,60}\$\{?[A-Z_]*(?:KEY"
        r"|TOKEN|SECRET|PASSWORD)\}?[^\n.]{0,80}(?:query|param|url|header|comment"
        r"|request)"
    ),
    re.I,
)
_FOLLOW = re.compile(
    (
        r"\b(?:fetch|download|read|load|retrieve|curl|get|pull|open|visit|check"
        r"|consult|defined)\b[^\n]{0,100}?(https?://[^\s)>\]`\"']{4,200})[^\n]{0,140}?\b(?:follow"
        r"|execute|obey|apply|comply|conform|act on|carry out|treat)\b[^\n]{0,50}\b(?:instructions?"
        r"|commands?|rules|directives?|steps|them|it|exactly|returned|contents?)\b"
    ),
    re.I,
)
_EACH_TIME = re.compile(
    (
        r"\b(?:after|before|whenever|upon|once|on)\b\s+(?:(?:any|every|each"
        r"|all|finishing|completing|editing|processing|creating|saving|you)\b)[^\n]{0,120}?\b(?:upload"
        r"|send|post|submit|transmit|forward|back ?up|backup|sync|copy|ping"
        r"|call|notify)\w*\b[^\n]{0,160}?(https?://[^\s)>\]`\"']{4,200})"
    ),
    re.I,
)
_SECRET_WORD = re.compile(SECRET, re.I)
_SENDING_WORD = re.compile(rf"\b{SENDING}\b|\bwith\b|\bincluding\b|\bcontain|\bbody\b|\bpayload\b", re.I)
_TARGET = re.compile(r"https?://|\bwebhook|\bendpoint\b|@[\w-]+\.\w", re.I)
_VARIABLE = re.compile(r"\$\{?[A-Z_]*(?:KEY|TOKEN|SECRET|PASSWORD)")
_ADDRESS = re.compile(r"https?://", re.I)
_PRIVATE_THING = re.compile(
    (
        r"\b(?:file|document|conversation|content|data|result|prompt|user|workspace"
        r"|report|spreadsheet|presentation|code|message|backup|changes)s?\b"
    ),
    re.I,
)


def find_instruction_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    """Find malicious instructions to the model in a text."""
    yield from find_line_matches(_PATTERNS, text)
    yield from _sending_marks(text, profile)
    if "http" in text.folded:
        yield from _steering_marks(text, profile)


def _sending_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    for start, line in _lines_with(text, _TARGET):
        if not (_SECRET_WORD.search(line) and _SENDING_WORD.search(line)):
            continue
        for expression in (_TO_ADDRESS, _ADDRESS_FIRST, _COLLECTED):
            match = expression.search(line)
            if match:
                yield from _target_marks(start, line, match, profile)
                break
    for start, line in _lines_with(text, _VARIABLE):
        match = _KEY_VALUE.search(line)
        if match:
            yield mark("I004", start + match.start(), start + match.end(), "medium")


def _target_marks(start: int, line: str, match: re.Match[str], profile: Profile) -> Iterator[Mark]:
    tail = line[match.start() :]
    address = URL.search(tail)
    span = start + match.start(), start + match.end()
    if address is None:
        if "@" in match[0]:
            yield mark("I004", *span, "medium", shown=tail)
        return
    if classify_host(address[0]) in ("known", "placeholder", "local"):
        return
    if is_untrusted_host(address[0]):
        yield mark("I004", *span, "critical", shown=tail)
    elif not is_related(address[0], profile.words):
        yield mark("I004", *span, "high", shown=tail)


def _lines_with(text: Text, expression: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield each line that matches, truncated to 2,000 characters, with its offset."""
    last = -1
    for match in expression.finditer(text.body):
        number = text.line_number_at(match.start())
        if number != last:
            last = number
            yield text.starts[number - 1], text.line(number)[:2_000]


def _steering_marks(text: Text, profile: Profile) -> Iterator[Mark]:
    for start, line in _lines_with(text, _ADDRESS):
        follow, each_time = _FOLLOW.search(line), _EACH_TIME.search(line)
        if follow:
            span = start + follow.start(), start + follow.end()
            if classify_host(follow[1]) == "unknown" and not is_related(follow[1], profile.words):
                yield mark("I005", *span, "medium" if "github" in follow[1] else "high")
            elif is_untrusted_host(follow[1]):
                yield mark("I005", *span, "critical")
        if each_time and _PRIVATE_THING.search(each_time[0]):
            kind = classify_host(each_time[1])
            if kind not in ("known", "placeholder", "local") and not is_related(each_time[1], profile.words):
                yield mark(
                    "I010",
                    start + each_time.start(),
                    start + each_time.end(),
                    "critical" if is_untrusted_host(each_time[1]) else "high",
                )
