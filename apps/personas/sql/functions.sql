-- Functions of personas: what triggers, policies, indexes and the product's own statements call.

-- Trigger: refuses a member's overlay for an agent that serves customers; such an agent has only the overlay of its
-- operators.
CREATE OR REPLACE FUNCTION refuse_overlay_for_non_assistant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM tenants_agent
                    WHERE tenant_id = NEW.tenant_id AND id = NEW.agent_id AND flavour = 'assistant') THEN
        RAISE EXCEPTION 'Members have overlays of their own for assistants only.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
