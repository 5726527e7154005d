"""Who calls, what they may do, and what is noted of it: keys, tenants, the audit log."""
