-- Whether a tool call gave the model an approved runbook, by either tool. Reading a draft is no use of it. Quotes within a value of
-- JSON are escaped, so no text of a skill reads like its status.
-- Included as a condition on a row `step` (runtime_toolstep).
step.name IN ('get_skill', 'skill_view')
AND NOT step.is_error
AND (step.name = 'get_skill' OR step.result LIKE '%"status":"approved"%')
