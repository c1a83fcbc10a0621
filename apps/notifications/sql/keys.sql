-- Keys, checks and indexes of notices that Django's models cannot state.

-- Unique keys: Tenant and id together are a key, so that other tables can refer to a row together with its tenant.
ALTER TABLE notifications_notificationpreferences ADD CONSTRAINT notifications_notificationpreferences_tenant_row
    UNIQUE (tenant_id, id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE notifications_emailnotification ADD CONSTRAINT notifications_emailnotification_preferences_id_in_tenant
    FOREIGN KEY (tenant_id, preferences_id) REFERENCES notifications_notificationpreferences (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
