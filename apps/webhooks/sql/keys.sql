-- Keys, checks and indexes of webhooks that Django's models cannot state.

-- Unique keys: Tenant and id together are unique, so that references can carry the tenant.
ALTER TABLE webhooks_webhook ADD CONSTRAINT webhooks_webhook_tenant_row
    UNIQUE (tenant_id, id);

-- Checks and unique columns: Unique within the tenant, in place of Django's plain unique column: a violation must not reveal
-- a row of another tenant.
ALTER TABLE webhooks_webhookhealth DROP CONSTRAINT webhooks_webhookhealth_webhook_id_key, ADD CONSTRAINT webhooks_webhookhealth_webhook_id_key UNIQUE (tenant_id, webhook_id);

-- References that cannot leave the tenant: References carry the tenant, so no row can point into another tenant.
ALTER TABLE webhooks_delivery ADD CONSTRAINT webhooks_delivery_conversation_id_in_tenant
    FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations_conversation (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_delivery ADD CONSTRAINT webhooks_delivery_webhook_id_in_tenant
    FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks_webhook (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_webhook ADD CONSTRAINT webhooks_webhook_former_secret_id_in_tenant
    FOREIGN KEY (tenant_id, former_secret_id) REFERENCES tenants_sealedsecret (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_webhook ADD CONSTRAINT webhooks_webhook_secret_id_in_tenant
    FOREIGN KEY (tenant_id, secret_id) REFERENCES tenants_sealedsecret (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE webhooks_webhookhealth ADD CONSTRAINT webhooks_webhookhealth_webhook_id_in_tenant
    FOREIGN KEY (tenant_id, webhook_id) REFERENCES webhooks_webhook (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;
