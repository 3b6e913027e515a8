"""What surrounds a call: records, webhooks, the CRM."""
