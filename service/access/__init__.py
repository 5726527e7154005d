"""Callers, their permissions and the record of their actions: keys, tenants, the audit log."""
