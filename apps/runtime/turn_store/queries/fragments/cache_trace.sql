-- What a model call left in the prompt cache, how much of it was billed as cached, and in which conversation.
-- Included where there are rows `call` (runtime_modelcall) and `turn` (runtime_turn).
json_build_object(
    'requested_at', call.requested_at,
    'cache_entries', call.cache_entries,
    'conversation', turn.conversation_id,
    'cached_tokens', call.cache_read_tokens + call.cache_write_5m_tokens + call.cache_write_1h_tokens
)
