"""The operators' admin site: pages declare their columns, filters and actions; domain rules are in the apps below."""
