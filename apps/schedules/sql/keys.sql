-- Keys, checks and indexes of schedules that Django's models cannot state.

-- Unique keys: Tenant and id together are unique, so that references can carry the tenant.
ALTER TABLE schedules_schedule ADD CONSTRAINT schedules_schedule_tenant_row
    UNIQUE (tenant_id, id);

-- Checks and unique columns: Unique within the tenant, in place of Django's plain unique column: a violation must not reveal
-- a row of another tenant.
ALTER TABLE schedules_scheduleclock DROP CONSTRAINT schedules_scheduleclock_schedule_id_key, ADD CONSTRAINT schedules_scheduleclock_schedule_id_key UNIQUE (tenant_id, schedule_id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE schedules_schedule ADD CONSTRAINT schedules_schedule_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE schedules_schedule ADD CONSTRAINT schedules_schedule_skill_id_in_tenant
    FOREIGN KEY (tenant_id, skill_id) REFERENCES skills_skill (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE schedules_scheduleclock ADD CONSTRAINT schedules_scheduleclock_schedule_id_in_tenant
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES schedules_schedule (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE schedules_schedulerun ADD CONSTRAINT schedules_schedulerun_agent_id_in_tenant
    FOREIGN KEY (tenant_id, agent_id) REFERENCES tenants_agent (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE schedules_schedulerun ADD CONSTRAINT schedules_schedulerun_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE schedules_schedulerun ADD CONSTRAINT schedules_schedulerun_schedule_id_in_tenant
    FOREIGN KEY (tenant_id, schedule_id) REFERENCES schedules_schedule (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
