"""Notifications to a chat: what is worth telling, the outbox, the webhook."""
