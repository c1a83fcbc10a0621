"""The names of all acts. The policy table says who may perform them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Act(StrEnum):
    """Every governed act, named `noun.verb`."""

    PERSONA_CREATE = "persona.create"
    PERSONA_AMEND = "persona.amend"
    PERSONA_ARCHIVE = "persona.archive"
    PERSONA_ACTIVATE = "persona.activate"
    PERSONA_PROPOSE = "persona.propose"
    OVERLAY_WRITE = "overlay.write"
    MEMBER_OVERLAY_WRITE = "member_overlay.write"
    IDENTITY_CARD_WRITE = "identity_card.write"
    RULE_ADD = "rule.add"
    RULE_AMEND = "rule.amend"
    RULE_RETIRE = "rule.retire"
    RULE_RESTORE = "rule.restore"
    RULE_PROPOSE = "rule.propose"
    SKILL_DRAFT = "skill.draft"
    SKILL_AMEND = "skill.amend"
    SKILL_APPROVE = "skill.approve"
    SKILL_DEPRECATE = "skill.deprecate"
    SKILL_REVISE = "skill.revise"
    SKILL_PROPOSE = "skill.propose"
    SKILL_DISCARD = "skill.discard"
    SKILL_UNDO = "skill.undo"
    SKILL_REDRAFT = "skill.redraft"
    SKILL_RETAIN = "skill.retain"
    SKILL_FETCH = "skill.fetch"
    SKILL_ATTACH = "skill.attach"
    SKILL_DETACH = "skill.detach"
    SKILL_ARRANGE = "skill.arrange"
    SKILL_QUARANTINE = "skill.quarantine"
    SKILL_RELEASE = "skill.release"
    MEMORY_AMEND = "memory.amend"
    MEMORY_APPROVE = "memory.approve"
    MEMORY_SET_LINE_DATES = "memory.set_line_dates"
    MEMORY_PROPOSE = "memory.propose"
    BLOCK_WRITE = "block.write"
    BLOCK_AMEND = "block.amend"
    BLOCK_APPROVE = "block.approve"
    BLOCK_SET_LINE_DATES = "block.set_line_dates"
    BLOCK_PROPOSE = "block.propose"
    TIER_DISTIL = "tier.distil"
    TIER_AMEND = "tier.amend"
    TIER_APPROVE = "tier.approve"
    TIER_CLEAR = "tier.clear"
    TIER_RUN = "tier.run"
    PROFILE_AMEND = "profile.amend"
    PROFILE_SET_LINE_DATES = "profile.set_line_dates"
    PROFILE_PROPOSE = "profile.propose"
    CONVERSATION_OPEN = "conversation.open"
    CONVERSATION_TALK = "conversation.talk"
    CONVERSATION_IMPORT = "conversation.import"
    CONVERSATION_RESOLVE = "conversation.resolve"
    CONVERSATION_ABANDON = "conversation.abandon"
    CONVERSATION_TAKE_OVER = "conversation.take_over"
    CONVERSATION_HAND_BACK = "conversation.hand_back"
    CONVERSATION_DELEGATE = "conversation.delegate"
    CONVERSATION_PROVE = "conversation.prove"
    CONVERSATION_ERASE = "conversation.erase"
    CONVERSATION_RATE = "conversation.rate"
    CONVERSATION_QUARANTINE = "conversation.quarantine"
    CONVERSATION_RELEASE = "conversation.release"
    MESSAGE_RECEIVE = "message.receive"
    MESSAGE_SEND = "message.send"
    SESSION_OPEN = "session.open"
    TURN_REPORT = "turn.report"
    TURN_RUN = "turn.run"
    DRAFT_CREATE = "draft.create"
    DRAFT_SUPERSEDE = "draft.supersede"
    DRAFT_SEND = "draft.send"
    DRAFT_SEND_EDITED = "draft.send_edited"
    DRAFT_DISCARD = "draft.discard"
    ESCALATION_OPEN = "escalation.open"
    ESCALATION_ANSWER = "escalation.answer"
    ESCALATION_DISMISS = "escalation.dismiss"
    SEND_RULE_WRITE = "send_rule.write"
    SEND_RULE_LIFT = "send_rule.lift"
    LEARNING_VERSION_PROPOSE = "learning_version.propose"
    LEARNING_VERSION_APPLY = "learning_version.apply"
    LEARNING_VERSION_ACTIVATE = "learning_version.activate"
    LEARNING_VERSION_REJECT = "learning_version.reject"
    LEARNING_VERSION_RETIRE = "learning_version.retire"
    LEARNING_VERSION_RESTORE = "learning_version.restore"
    LEARNING_VERSION_WITHDRAW = "learning_version.withdraw"
    LEARNING_VERSION_PRUNE = "learning_version.prune"
    EDIT_CLUSTER_FIND = "edit_cluster.find"
    EDIT_CLUSTER_PROPOSE = "edit_cluster.propose"
    EDIT_CLUSTER_DISMISS = "edit_cluster.dismiss"
    EDIT_CLUSTER_REOPEN = "edit_cluster.reopen"
    EXAMPLE_ADD = "example.add"
    EXAMPLE_RETIRE = "example.retire"
    SCHEDULE_DRAFT = "schedule.draft"
    SCHEDULE_AMEND = "schedule.amend"
    SCHEDULE_APPROVE = "schedule.approve"
    SCHEDULE_PAUSE = "schedule.pause"
    SCHEDULE_RESUME = "schedule.resume"
    SCHEDULE_DEPRECATE = "schedule.deprecate"
    SCHEDULE_RUN = "schedule.run"
    NOTE_WRITE = "note.write"
    NOTE_AMEND = "note.amend"
    NOTE_FINISH = "note.finish"
    NOTE_DROP = "note.drop"
    CONTRADICTION_SCAN = "contradiction.scan"
    CONTRADICTION_FIND = "contradiction.find"
    CONTRADICTION_RECUR = "contradiction.recur"
    CONTRADICTION_CLEAR = "contradiction.clear"
    CONTRADICTION_DISMISS = "contradiction.dismiss"
    CONTRADICTION_REOPEN = "contradiction.reopen"
    REPORT_CREATE = "report.create"
    REPORT_WITHDRAW = "report.withdraw"
    REPORT_RESOLVE = "report.resolve"
    COMMENT_ADD = "comment.add"
    COMMENT_WITHDRAW = "comment.withdraw"
    PROPOSAL_SUBMIT = "proposal.submit"
    PROPOSAL_APPROVE = "proposal.approve"
    PROPOSAL_APPLY = "proposal.apply"
    PROPOSAL_UNDO = "proposal.undo"
    PROPOSAL_REJECT = "proposal.reject"
    PROPOSAL_REOPEN = "proposal.reopen"
    PROPOSAL_SNOOZE = "proposal.snooze"
    PROPOSAL_CLAIM = "proposal.claim"
    PROPOSAL_REQUEST_REVISION = "proposal.request_revision"
    PROPOSAL_REBASE = "proposal.rebase"
    PROPOSAL_QUARANTINE = "proposal.quarantine"
    PROPOSAL_RELEASE = "proposal.release"
    PROPOSAL_WITHDRAW = "proposal.withdraw"
    PROPOSAL_EXPIRE = "proposal.expire"
    TENANT_CREATE = "tenant.create"
    TENANT_ENTER = "tenant.enter"
    TENANT_LEAVE = "tenant.leave"
    SETTINGS_AMEND = "settings.amend"
    SETTINGS_ROTATE_PROOF_KEY = "settings.rotate_proof_key"
    AGENT_CREATE = "agent.create"
    AGENT_AMEND = "agent.amend"
    AGENT_END_SESSIONS = "agent.end_sessions"
    ENDPOINT_CREATE = "endpoint.create"
    ENDPOINT_AMEND = "endpoint.amend"
    ENDPOINT_ROTATE_KEY = "endpoint.rotate_key"
    ENDPOINT_TEST = "endpoint.test"
    ENDPOINT_REMOVE = "endpoint.remove"
    WEBHOOK_CREATE = "webhook.create"
    WEBHOOK_AMEND = "webhook.amend"
    WEBHOOK_ROTATE_SECRET = "webhook.rotate_secret"
    WEBHOOK_REPLAY = "webhook.replay"
    PRICE_SET = "price.set"
    PRICE_WITHDRAW = "price.withdraw"
    TOOL_SERVER_CREATE = "tool_server.create"
    TOOL_SERVER_AMEND = "tool_server.amend"
    TOOL_SERVER_ROTATE_HEADERS = "tool_server.rotate_headers"
    TOOL_SERVER_REFRESH = "tool_server.refresh"
    AGENT_TOOL_ALLOW = "agent_tool.allow"
    AGENT_TOOL_AMEND = "agent_tool.amend"
    AGENT_TOOL_WITHDRAW = "agent_tool.withdraw"
    TOOL_APPROVAL_REQUEST = "tool_approval.request"
    TOOL_APPROVAL_APPROVE = "tool_approval.approve"
    TOOL_APPROVAL_REFUSE = "tool_approval.refuse"
    TOOL_APPROVAL_CONSUME = "tool_approval.consume"
    INVOKABLE_ALLOW = "invokable.allow"
    INVOKABLE_AMEND = "invokable.amend"
    INVOKABLE_WITHDRAW = "invokable.withdraw"
    TOKEN_ISSUE = "token.issue"
    TOKEN_REVOKE = "token.revoke"
    TOKEN_ROTATE = "token.rotate"
    MEMBER_ADD = "member.add"
    MEMBER_INVITE = "member.invite"
    MEMBER_ACCEPT = "member.accept"
    MEMBER_DEACTIVATE = "member.deactivate"
    MEMBER_REACTIVATE = "member.reactivate"
    MEMBER_CHANGE_ROLE = "member.change_role"
    MEMBER_RESET = "member.reset"
    LIMIT_WRITE = "limit.write"
    LIMIT_LIFT = "limit.lift"
    ROLE_GRANT_WRITE = "role_grant.write"
    ROLE_GRANT_WITHDRAW = "role_grant.withdraw"
    GRANT_WRITE = "grant.write"
    GRANT_WITHDRAW = "grant.withdraw"
    GRANT_SYNC = "grant.sync"
    KILL_SWITCH_ACTIVATE = "kill_switch.activate"
    KILL_SWITCH_DEACTIVATE = "kill_switch.deactivate"
    CHECKPOINT_CREATE = "checkpoint.create"

    @property
    def noun(self) -> str:
        """The part before the dot, which the governed model declares as its `noun`."""
        return self.value.partition(".")[0]

    @property
    def verb(self) -> str:
        """The part after the dot."""
        return self.value.partition(".")[2]

    @property
    def past_participle(self) -> str:
        """The verb as a sentence about a past act names it, such as "approved"."""
        return _PAST_PARTICIPLES[self.verb]


# The verbs of all acts; a test fails if one is missing here.
_PAST_PARTICIPLES: Final[Mapping[str, str]] = {
    "abandon": "abandoned",
    "accept": "accepted",
    "activate": "activated",
    "add": "added",
    "allow": "allowed",
    "amend": "changed",
    "answer": "answered",
    "apply": "applied",
    "approve": "approved",
    "archive": "archived",
    "arrange": "arranged",
    "attach": "attached",
    "change_role": "given another role",
    "claim": "claimed",
    "clear": "cleared",
    "consume": "consumed",
    "create": "created",
    "deactivate": "deactivated",
    "delegate": "delegated",
    "deprecate": "retired",
    "detach": "detached",
    "discard": "discarded",
    "dismiss": "dismissed",
    "distil": "distilled",
    "draft": "drafted",
    "drop": "dropped",
    "enter": "entered",
    "end_sessions": "given new sessions",
    "erase": "erased",
    "expire": "expired",
    "fetch": "fetched",
    "find": "found",
    "finish": "finished",
    "hand_back": "handed back",
    "import": "imported",
    "invite": "invited",
    "issue": "issued",
    "leave": "left",
    "lift": "lifted",
    "open": "opened",
    "pause": "paused",
    "propose": "proposed",
    "prove": "proven",
    "prune": "pruned",
    "quarantine": "put in quarantine",
    "rate": "rated",
    "reactivate": "reactivated",
    "rebase": "rebased",
    "receive": "received",
    "recur": "seen again",
    "redraft": "made a draft again",
    "refresh": "refreshed",
    "refuse": "refused",
    "reject": "rejected",
    "release": "released",
    "remove": "removed",
    "reopen": "reopened",
    "replay": "replayed",
    "report": "reported",
    "request": "requested",
    "request_revision": "sent back for revision",
    "reset": "reset",
    "resolve": "resolved",
    "restore": "restored",
    "resume": "resumed",
    "retain": "retained",
    "retire": "retired",
    "revise": "revised",
    "revoke": "revoked",
    "rotate": "rotated",
    "rotate_headers": "given new headers",
    "rotate_key": "given a new key",
    "rotate_proof_key": "given a new proof key",
    "rotate_secret": "given a new secret",
    "run": "run",
    "scan": "scanned",
    "send": "sent",
    "send_edited": "sent as edited",
    "set": "set",
    "set_line_dates": "given other line dates",
    "snooze": "snoozed",
    "submit": "submitted",
    "supersede": "superseded",
    "sync": "synchronized",
    "take_over": "taken over",
    "talk": "talked to",
    "test": "tested",
    "undo": "taken back",
    "withdraw": "withdrawn",
    "write": "written",
}
