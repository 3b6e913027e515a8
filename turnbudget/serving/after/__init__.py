"""What surrounds a call: redaction, records, webhooks, the CRM."""
