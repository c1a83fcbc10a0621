"""Who an agent is and what it must never say: operator-written personas and the patches agents propose; not what it remembers."""
