"""Procedures as a person or a model would write them, for what compares procedures."""

from apps.text_analysis.procedure_similarity import ProcedureText

# Two procedures that are easy to mistake for one another, in three wordings each.
ProcedureCouple = tuple[
    tuple[ProcedureText, ProcedureText, ProcedureText], tuple[ProcedureText, ProcedureText, ProcedureText]
]


def make_procedure(title: str, description: str, steps: str, tools: str = "") -> ProcedureText:
    numbered = "\n".join(f"{number}. {step}." for number, step in enumerate(steps.split("; "), 1))
    body = (
        f"## When to Use\n{description}\n\n## Procedure\n{numbered}\n\n## Pitfalls\n- Never guess what is missing.\n\n"
        "## Verification\n- Ask the customer whether this settles it."
    )
    return ProcedureText("", title, description, body, frozenset(tools.split()))
